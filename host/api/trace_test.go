// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/scheduler/chain"
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
				if tr.Before.N != vocabularySize || len(tr.Before.Best) != maxTraced || len(tr.Stages) != 1 || tr.Stages[0].After.Best[0].ID != tr.ID {
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
func tracesIn(t *testing.T, text string, stream bool) []tokenTrace {
	t.Helper()
	parts := []string{text}
	if stream {
		parts = frames(t, text)
	}
	var all []tokenTrace
	for _, part := range parts {
		if part == "[DONE]" {
			continue
		}
		var a struct {
			Trace   []tokenTrace
			Choices []struct{ Trace []tokenTrace }
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

// A stage may choose what was banned; JSON has no infinity.
func TestTrace_Infinity_IsWritten(t *testing.T) {
	s := &service{Options: Options{Engine: toy{}}}
	inf := float32(math.Inf(1))
	got := s.survey(chain.Survey{Count: 3, Best: []chain.Score{{Token: 'a', Logit: inf}, {Token: 'b', Logit: -inf}, {Token: 'c', Logit: 2, P: 1}}})
	if _, err := json.Marshal(got); err != nil {
		t.Error(err)
	}
	want := []candidate{{'a', "a", leastLogprob, 0}, {'b', "b", leastLogprob, 0}, {'c', "c", 2, 1}}
	if diff := cmp.Diff(want, got.Best); diff != "" {
		t.Error(diff)
	}
}
