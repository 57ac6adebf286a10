// SPDX-License-Identifier: MIT

package engine

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// callSchema is the arguments of the tool that the tests call.
const callSchema = `{"type":"object","required":["text","count"],"additionalProperties":false,"minProperties":3,"properties":{
	"text":{"type":"string","pattern":"^[a-z <]*$","maxLength":6},
	"count":{"type":"integer","minimum":-3,"maximum":12},
	"color":{"type":"string","enum":["red","dark green"]},
	` + either + `
	"list":{"type":"array","items":{"type":"boolean"},"maxItems":2},
	"nested":{"type":"object","properties":{"a":{"type":"number"}},"required":["a"],"additionalProperties":false}},
	"dependentRequired":{"color":["list"]}}`

const either = `"either":{"anyOf":[{"type":"integer"},{"type":"string"}],"minimum":5,"maxLength":3},`

func validatorOf(t *testing.T, schema string) *jsonschema.Schema {
	t.Helper()
	doc := must.Get(jsonschema.UnmarshalJSON(strings.NewReader(schema)))(t)
	c := jsonschema.NewCompiler()
	must.Do(t, c.AddResource("schema.json", doc))
	return c.MustCompile("schema.json")
}

// eachTemplate opens an engine with each of llama.cpp's templates that knows tools, or with some.
func eachTemplate(t *testing.T, test func(t *testing.T, e *Engine, name string)) {
	t.Helper()
	files, err := filepath.Glob("../../build/llama.cpp/source-*/models/templates/*.jinja")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d templates, %v; llama.cpp's tree has more than 60", len(files), err)
	}
	for _, file := range steadytest.Some(t, files, 12) {
		name := strings.TrimSuffix(filepath.Base(file), ".jinja")
		t.Run(name, func(t *testing.T) {
			source := must.Get(os.ReadFile(file))(t)
			e := must.Get(Open(t.Context(), Options{Path: "../model/penstock-tiny.gguf", Slots: 1, ContextSize: 512, Threads: 1, Template: TemplateOptions{Source: string(source)}}))(t)
			defer e.Close()
			test(t, e, name)
		})
	}
}

// grammarOf is the grammar of the answers to a prompt, and its state where they begin.
func grammarOf(t *testing.T, e *Engine, p chat.Prompt) (*grammar.Grammar, grammar.State) {
	t.Helper()
	g := must.Get(e.ofFormat(t.Context(), p.Rules))(t)
	t.Cleanup(g.release)
	start, fits, err := g.is.Advance(g.is.Start(), []byte(p.GenerationPrompt))
	if err != nil || !fits {
		t.Fatalf("the generation prompt %q: %v", p.GenerationPrompt, err)
	}
	return g.is, start
}

// wander writes a random text of a grammar, which goes on from a state, and then the shortest end.
func wander(t *testing.T, r *rand.Rand, g *grammar.Grammar, s grammar.State, most int) string {
	t.Helper()
	var text []byte
	for {
		rest := must.Get(g.Shortest(s))(t)
		if rest == 0 && (len(text) > most || r.IntN(3) == 0) {
			return string(text)
		}
		random := len(text) < most && r.IntN(4) > 0
		var may []byte
		var to []grammar.State
		for b := range 256 {
			next, fits := must.Both(g.Advance(s, []byte{byte(b)}))(t)
			if !fits {
				continue
			}
			if after, err := g.Shortest(next); err != nil {
				t.Fatal(err)
			} else if after < rest || random && b < 127 {
				may, to = append(may, byte(b)), append(to, next)
			}
		}
		if len(may) == 0 {
			return string(text)
		}
		i := r.IntN(len(may))
		text, s = append(text, may[i]), to[i]
	}
}

type call struct{ name, arguments string }

// callsOf is the calls of an answer, and whether it has reasoning.
func callsOf(t *testing.T, p chat.Prompt, text string) (calls []call, reasons bool, err error) {
	t.Helper()
	parser, err := p.NewParser()
	if err != nil {
		t.Fatal(err)
	}
	defer parser.Close()
	deltas, err := parser.Add(text, true)
	for _, d := range deltas {
		reasons = reasons || d.Reasoning != ""
		if d.Call == nil {
			continue
		}
		if d.Call.Index == len(calls) {
			calls = append(calls, call{})
		}
		calls[d.Call.Index].name += d.Call.Name
		calls[d.Call.Index].arguments += d.Call.Arguments
	}
	return calls, reasons, err
}

func callingF(parallel bool, schema string) chat.Conversation {
	return chat.Conversation{Messages: hello, ToolChoice: chat.ToolChoice{Mode: "required"}, EnableThinking: new(bool), ParallelToolCalls: &parallel,
		Tools: []chat.Tool{tool(schema), {Name: "g", JSON: json.RawMessage(`{"type":"function","function":{"name":"g","description":"","parameters":{"type":"object","properties":{},"required":[]}}}`)}}}
}

// unrendered is the template that llama.cpp cannot render with tools: it calls what a function of
// Jinja does not have.
const unrendered = "CohereForAI-c4ai-command-r-plus-tool_use"

// Whatever a template's grammar allows, llama.cpp's parser reads as calls whose arguments fit
// their schema, and only one of them where one may come.
func TestEngine_Render_WhatIsAllowedFits(t *testing.T) {
	r, v := steadytest.Rand(t), validatorOf(t, callSchema)
	called := 0
	eachTemplate(t, func(t *testing.T, e *Engine, name string) {
		for _, parallel := range []bool{false, true} {
			p, err := e.Render(t.Context(), callingF(parallel, callSchema))
			if err != nil { // a few templates want each argument to have a type
				p, err = e.Render(t.Context(), callingF(parallel, strings.Replace(callSchema, either, "", 1)))
			}
			if err != nil {
				if name != unrendered {
					t.Fatal(err)
				}
				return
			}
			if p.Rules == nil {
				return // it knows no tools
			}
			g, start := grammarOf(t, e, p)
			for range 6 {
				text := wander(t, r, g, start, r.IntN(120))
				if strings.HasPrefix(name, "meetkai-functionary") && strings.HasPrefix(text, "all\n") {
					continue // llama.cpp's parser wants >>> between content and a call, and does not read it
				}
				calls, reasons, err := callsOf(t, p, text)
				if err == nil && len(calls) == 0 && reasons {
					continue // the model has not ended the reasoning that the prompt has begun
				}
				if strings.HasPrefix(name, "google-gemma-4") {
					continue // its values are of any kind: a notation of their own
				}
				if err != nil || len(calls) == 0 || !parallel && len(calls) > 1 {
					t.Errorf("parallel %v: %d calls, %v, of %q", parallel, len(calls), err, text)
					continue
				}
				for _, c := range calls {
					called++
					if c.name != "f" {
						continue
					}
					value, err := jsonschema.UnmarshalJSON(strings.NewReader(c.arguments))
					if err == nil {
						err = v.Validate(value)
					}
					if err != nil {
						t.Errorf("%s\n%v\nof %q", c.arguments, err, text)
					}
				}
			}
		}
	})
	if called < steadytest.InLongTest(500, 1) {
		t.Errorf("only %d calls were looked at", called)
	}
}
