// SPDX-License-Identifier: MIT

package engine

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// toolInUse is a function as people offer it, and what its arguments must be.
type toolInUse struct {
	name string
	raw  json.RawMessage
	fits *jsonschema.Schema
}

// toolsInUse reads a list of functions, one a line.
func toolsInUse(t *testing.T, file string) (tools []toolInUse) {
	t.Helper()
	list, err := os.Open(file)
	if err != nil {
		t.Fatalf("scripts/tools-in-use.sh makes the list of tools: %v", err)
	}
	defer list.Close()
	lines := bufio.NewScanner(list)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		var says struct {
			Name       string
			Parameters json.RawMessage
		}
		must.Do(t, json.Unmarshal(lines.Bytes(), &says))
		tools = append(tools, toolInUse{says.Name, json.RawMessage(`{"type":"function","function":` + lines.Text() + `}`), validatorOf(t, string(says.Parameters))})
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return tools
}

// Tools as people use them are all taken, alone and many at once, and whatever the grammar of their
// calls allows is read back as arguments that fit. Few schemas contradict themselves, so that
// something of them is left out.
func TestEngine_Render_ToolsInUse(t *testing.T) {
	if !steadytest.Long() {
		t.Skip("make test-long fetches the tools")
	}
	r, tools := steadytest.Rand(t), toolsInUse(t, "../../build/tools-in-use.jsonl")
	if len(tools) < 3500 {
		t.Errorf("only %d tools", len(tools))
	}
	for _, name := range []string{"Qwen-Qwen3-0.6B", "Qwen3-Coder", "meta-llama-Llama-3.1-8B-Instruct", "GLM-4.6", "openai-gpt-oss-120b", "unsloth-mistral-Devstral-Small-2507"} {
		t.Run(name, func(t *testing.T) {
			e, relaxed := withTemplate(t, name+".jinja"), 0
			for i, tool := range tools {
				p, err := e.Render(t.Context(), offering(t, tool.raw))
				if err != nil {
					t.Errorf("refused: %v: %s", err, tool.raw)
					continue
				}
				kept, err := e.ofFormat(t.Context(), p.Rules)
				if err != nil {
					t.Errorf("refused: %v: %s", err, tool.raw)
					continue
				}
				kept.release()
				g, start := grammarOf(t, e, p)
				text := wander(t, r, g, start, r.IntN(200))
				calls, _, err := callsOf(t, p, text)
				if err != nil || len(calls) != 1 || calls[0].name != tool.name {
					t.Errorf("%v, %v of %q: %s", calls, err, text, tool.raw)
					continue
				}
				value, err := jsonschema.UnmarshalJSON(strings.NewReader(calls[0].arguments))
				if len(kept.relaxed) > 0 {
					relaxed++
				} else if err == nil {
					err = tool.fits.Validate(value)
				}
				if err != nil {
					t.Errorf("%v of %q: %s", err, text, tool.raw)
				}
				if i%100 == 99 { // as many at once as an agent has
					if _, err := e.Render(t.Context(), offering(t, rawOf(tools[i-99:i+1])...)); err != nil {
						t.Errorf("100 tools at once: %v", err)
					}
				}
			}
			if relaxed > len(tools)/100 {
				t.Errorf("of %d tools' schemas something is left out", relaxed)
			}
		})
	}
}

// offering is a conversation in which one of some functions has to be called.
func offering(t *testing.T, functions ...json.RawMessage) chat.Conversation {
	t.Helper()
	tools, _ := must.Both(chat.ParseTools(functions, true))(t)
	return chat.Conversation{Messages: hello, ToolChoice: chat.ToolChoice{Mode: "required"}, EnableThinking: new(bool), ParallelToolCalls: new(bool), Tools: tools}
}

func rawOf(tools []toolInUse) (all []json.RawMessage) {
	for _, t := range tools {
		all = append(all, t.raw)
	}
	return all
}
