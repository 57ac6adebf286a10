// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
)

// Every route shows a trace of every token where it is asked for, and has no such field where not.
func TestTrace_EveryRoute(t *testing.T) {
	r := newRig(t, nil)
	for _, route := range []struct{ path, body string }{
		{"/v1/chat/completions", hello + `,"max_tokens":3`},
		{"/v1/completions", `"prompt":"x","max_tokens":3`},
		{"/completion", `"prompt":"x","n_predict":3`},
	} {
		for _, stream := range []string{"", `,"stream":true`} {
			name := route.path + stream
			status, _, text := r.call(http.MethodPost, route.path, `{`+route.body+stream+`,"trace":true}`)
			if status != 200 {
				t.Fatalf("%s: %d %s", name, status, text)
			}
			traces := tracesIn(t, text, stream != "")
			if len(traces) != 3 {
				t.Errorf("%s: %d traces for 3 tokens: %s", name, len(traces), text)
			}
			for _, tr := range traces {
				if tr.Before.N != vocabularySize || len(tr.Before.Best) != completion.MaxTraced || len(tr.Stages) != 1 || tr.Stages[0].After.Best[0].ID != tr.ID {
					t.Errorf("%s: %+v", name, tr)
				}
			}
			if _, _, plain := r.call(http.MethodPost, route.path, `{`+route.body+stream+`}`); strings.Contains(plain, `"trace"`) {
				t.Errorf("%s: a trace nobody asked for: %s", name, plain)
			}
		}
	}
}

// tracesIn collects the traces of an answer of any shape.
func tracesIn(t *testing.T, text string, stream bool) []wire.TokenTrace {
	t.Helper()
	parts := []string{text}
	if stream {
		parts = frames(t, text)
	}
	var all []wire.TokenTrace
	for _, part := range parts {
		if part == "[DONE]" {
			continue
		}
		var a struct {
			Trace   []wire.TokenTrace
			Choices []struct{ Trace []wire.TokenTrace }
		}
		if err := json.Unmarshal([]byte(part), &a); err != nil {
			t.Fatal(err, part)
		}
		all = append(all, a.Trace...)
		for _, c := range a.Choices {
			all = append(all, c.Trace...)
		}
	}
	return all
}

func TestTrace_Socket(t *testing.T) {
	r := newRig(t, nil)
	p := r.dial()
	p.send(`{"type":"generate","id":"a","request":{"prompt":"x","max_tokens":2,"trace":true}}`)
	for range 2 {
		if f := p.until("token"); f.Trace == nil || len(f.Trace.Stages) == 0 || f.Trace.Token == "" {
			t.Errorf("got %+v", f)
		}
	}
	p.until("end")
	p.send(`{"type":"generate","id":"a","request":{"prompt":"x","max_tokens":1}}`)
	if f := p.until("token"); f.Trace != nil {
		t.Errorf("a trace nobody asked for: %+v", f.Trace)
	}
}
