// SPDX-License-Identifier: MIT

package programs

import (
	"encoding/json"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tests/hosts"
)

// written is the answer of a program.
type written struct {
	Content string
	Tokens  []int32
	Outputs []struct {
		Plugin string
		Value  json.RawMessage
	} `json:"plugin_outputs"`
}

// writes asks a host for an answer by a program, or by none: fields are those of a request to
// /completion. It may be called from any goroutine.
func writes(t *testing.T, h *host.Host, fields map[string]any, name string, config any) (w written) {
	t.Helper()
	request := map[string]any{"return_tokens": true}
	if name != "" {
		request["plugins"] = []any{map[string]any{"name": name, "config": config}}
	}
	for k, v := range fields {
		request[k] = v
	}
	body, err := json.Marshal(request)
	if err != nil {
		t.Error(err)
		return w
	}
	status, text := hosts.Post(t, h.URL()+"/completion", string(body))
	if err := json.Unmarshal([]byte(text), &w); err != nil || status != 200 {
		t.Errorf("%s: %d %s: %v", name, status, text, err)
	}
	return w
}

// output reads what the program has given its client.
func (w written) output(t *testing.T, to any) {
	t.Helper()
	if len(w.Outputs) != 1 {
		t.Fatalf("it gave %d values", len(w.Outputs))
	}
	if err := json.Unmarshal(w.Outputs[0].Value, to); err != nil {
		t.Fatalf("%s: %v", w.Outputs[0].Value, err)
	}
}

// openings are what prompts of tests begin with.
var openings = []string{
	"Once upon a time there was a little frog who", "The mouse and the cat", "One day Ivy wanted", "In the garden, the old", "The frog said:",
	"Tom had a red ball. He", "It was a sunny day and", "Long ago, Omar lived by",
}

// What a program gives its client comes also where it shows nothing.
func TestProgram_GivesValuesWithoutTokens(t *testing.T) {
	g := asm.New(`{"name":"silent","branches":1}`).On(abi.ExportOpen, asm.I32(0))
	g.Put(1024, `{"seen":3}`)
	g.On(abi.ExportRun, asm.I32(1024), asm.I32(10), g.Call(abi.ImportOutput))
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"silent.wasm": g.Wasm()})
	w := writes(t, h, map[string]any{"prompt": "Once upon a time"}, "silent", nil)
	var got struct{ Seen int }
	if w.output(t, &got); got.Seen != 3 || w.Content != "" {
		t.Errorf("it gives %v and shows %q", got, w.Content)
	}
}
