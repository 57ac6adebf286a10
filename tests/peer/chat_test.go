// SPDX-License-Identifier: MIT

package peer

import (
	"encoding/json"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/tools/steadytest"
)

// The answers are forced, by a grammar of constants or by a bias: what two servers compute for a
// token differs by 0.1 and more with how a prompt is cut into passes, so that they need not agree
// on the likelier of two. White space that a grammar only allows is biased away; of the constant
// list's it allows more than llama-server's does.
const (
	forced = `"logit_bias":[[" and",100]],`
	plain  = `"logit_bias":[[" ",-100],["\n",-100],["\n   ",-100],[" \"",-100],["et",10]],`
	bonn   = `{"type":"function","function":{"name":"get_weather","description":"The weather.","parameters":{"type":"object",
		"properties":{"city":{"const":"Bonn"},"unit":{"const":"C"}},"required":["city","unit"],"additionalProperties":false}}}`
	noon = `{"type":"function","function":{"name":"set_alarm","description":"Sets an alarm.","parameters":{"type":"object",
		"properties":{"at":{"const":12},"days":{"const":["Mon","Tue"]}},"required":["at","days"],"additionalProperties":false}}}`
)

// The answers to conversations with tools and reasoning are taken apart as llama-server does it,
// whole and streamed. The model is too small to call a tool of its own accord, so an answer has
// begun to. `make test` tries two of the templates.
func TestChat_AnswersAsLlamaServer(t *testing.T) {
	templates := map[string]string{
		"Qwen-Qwen3-0.6B":                          `<tool_call>\n{\"name\": \"`,
		"meta-llama-Llama-3.1-8B-Instruct":         `{\"name\": \"`,
		"mistralai-Mistral-Nemo-Instruct-2407":     `[TOOL_CALLS][{\"name\": \"`,
		"deepseek-ai-DeepSeek-R1-Distill-Llama-8B": "", // it reasons, and knows no tools
	}
	names := slices.Sorted(maps.Keys(templates))
	if !running() {
		names = steadytest.Some(t, names, 2)
	}
	for _, name := range names {
		begun := templates[name]
		files, err := filepath.Glob(inRepository(t, "build/llama.cpp/source-*/models/templates/"+name+".jinja"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		t.Run(name, func(t *testing.T) {
			peer := LlamaServer(t, BuiltIn, "--chat-template-file", files[0])
			ours := Penstock(t, BuiltIn, map[string]any{"chat.template_file": files[0]})
			for _, c := range []struct{ name, begun, body string }{
				{"a call", begun, plain + `"max_tokens":100,"tools":[` + bonn + `],"tool_choice":"required","parallel_tool_calls":false`},
				{"one of two", begun, plain + `"max_tokens":100,"tools":[` + bonn + `,` + noon + `],"tool_choice":"required","parallel_tool_calls":false`},
				{"a call that is cut off", begun, plain + `"max_tokens":12,"tools":[` + bonn + `],"tool_choice":"required"`},
				{"a call that may be made", "", forced + `"max_tokens":3,"tools":[` + bonn + `,` + noon + `],"parallel_tool_calls":true`},
				{"no call", "", forced + `"max_tokens":5,"tools":[` + bonn + `],"tool_choice":"none"`},
				{"a schema", "", `"max_tokens":80,"json_schema":{"type":"object","properties":{"b":{"const":true},"a":{"const":"x"}},"required":["b","a"],"additionalProperties":false}`},
				{"a prefill", "One, two,", forced + `"max_tokens":3`},
				{"a message that is continued", "One, two,", forced + `"max_tokens":3,"continue_final_message":true,"add_generation_prompt":false`},
				{"reasoning in the content", "", forced + `"max_tokens":3,"reasoning_format":"none"`},
				{"no thinking", "", forced + `"max_tokens":5,"chat_template_kwargs":{"enable_thinking":false}`},
			} {
				if begun == "" && strings.Contains(c.body, "required") {
					continue
				}
				messages := `{"role":"user","content":"Weather?"}`
				if c.begun != "" {
					messages += `,{"role":"assistant","content":"` + c.begun + `"}`
				}
				body := `{"messages":[` + messages + `],"temperature":0,"cache_prompt":false,` + c.body
				for _, stream := range []string{`}`, `,"stream":true}`} {
					want := answerOf(t, peer.Call(t, http.MethodPost, "/v1/chat/completions", body+stream))
					got := answerOf(t, ours.Call(t, http.MethodPost, "/v1/chat/completions", body+stream))
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s%s (-llama-server +ours):\n%s", c.name, stream, diff)
					}
				}
			}
		})
	}
}

// With verbose, both say alike what the template has made of the request.
func TestChat_Verbose_AsLlamaServer(t *testing.T) {
	found, err := filepath.Glob(inRepository(t, "build/llama.cpp/source-*/models/templates/Qwen-Qwen3-0.6B.jinja"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	peer := LlamaServer(t, BuiltIn, "--chat-template-file", found[0], "--log-verbosity", "10")
	ours := Penstock(t, BuiltIn, map[string]any{"chat.template_file": found[0]})
	for _, more := range []string{``, `,"tools":[` + bonn + `]`, `,"reasoning_format":"none","chat_template_kwargs":{"enable_thinking":false}`} {
		body := `{"messages":[{"role":"user","content":"Hi"}],"max_tokens":2,"temperature":0,"verbose":true` + more + `}`
		want, got := settingsOf(t, peer.Call(t, http.MethodPost, "/v1/chat/completions", body)), settingsOf(t, ours.Call(t, http.MethodPost, "/v1/chat/completions", body))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-llama-server +ours):\n%s", more, diff)
		}
	}
}

// formatSettings are the generation_settings that come from a template.
type formatSettings struct {
	Format           string `json:"chat_format"`
	Reasoning        string `json:"reasoning_format"`
	InContent        bool   `json:"reasoning_in_content"`
	GenerationPrompt string `json:"generation_prompt"`
	Lazy             bool   `json:"grammar_lazy"`
}

func settingsOf(t *testing.T, a Response) formatSettings {
	t.Helper()
	var answer struct {
		Verbose struct {
			Settings *formatSettings `json:"generation_settings"`
		} `json:"__verbose"`
	}
	if err := json.Unmarshal([]byte(a.Body), &answer); err != nil || answer.Verbose.Settings == nil {
		t.Fatalf("%v %d %s", err, a.Status, a.Body)
	}
	return *answer.Verbose.Settings
}

type call struct{ ID, Name, Arguments string }

// message is an answer's message, its deltas added up.
type message struct {
	Content, Reasoning, Finish string
	Calls                      []call
}

type rawMessage struct {
	Content   string
	Reasoning string `json:"reasoning_content"`
	ToolCalls []struct {
		Index    int
		ID, Type string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

func answerOf(t *testing.T, a Response) (m message) {
	t.Helper()
	if a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	for d := range strings.SplitSeq(a.Body, "\n\n") {
		d = strings.TrimPrefix(d, "data: ")
		if d == "[DONE]" || d == "" || d[0] == ':' { // a comment, while the machine is busy
			continue
		}
		var answer struct {
			Choices []struct {
				Message, Delta rawMessage
				Finish         string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal([]byte(d), &answer); err != nil {
			t.Fatal(err, d)
		}
		for _, c := range answer.Choices {
			m.Finish += c.Finish
			m.add(c.Message)
			m.add(c.Delta)
		}
	}
	for i := range m.Calls {
		if m.Calls[i].ID == "" {
			t.Errorf("call %d has no id", i)
		}
		m.Calls[i].ID = ""
	}
	return m
}

func (m *message) add(r rawMessage) {
	m.Content += r.Content
	m.Reasoning += r.Reasoning
	for i, c := range r.ToolCalls {
		if i = max(i, c.Index); i == len(m.Calls) {
			m.Calls = append(m.Calls, call{})
		}
		at := &m.Calls[i]
		at.ID += c.ID
		at.Name += c.Function.Name
		at.Arguments += c.Function.Arguments
	}
}
