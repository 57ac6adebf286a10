// SPDX-License-Identifier: MIT

//go:build !race

// With the race detector most of the time would go into compiling ten plugins; the other tests
// with plugins run with it.

package plugins

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/tests/hosts"
)

// said is what a chat completion says, and how many tokens it took.
type said struct {
	text           string
	prompt, tokens int
}

func say(t *testing.T, h *host.Host, fields string) said {
	t.Helper()
	s, _ := ask(t, h, `{`+hosts.Frog+`,"max_tokens":80,"seed":5`+fields+`}`)
	return s
}

// ask also returns the whole answer.
func ask(t *testing.T, h *host.Host, request string) (said, string) {
	t.Helper()
	status, body := hosts.Post(t, h.URL()+"/v1/chat/completions", request)
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
		Usage   struct {
			Prompt int `json:"prompt_tokens"`
			Tokens int `json:"completion_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 200 || len(answer.Choices) != 1 {
		t.Fatalf("%.400s: %d %s", request, status, body)
	}
	return said{answer.Choices[0].Message.Content, answer.Usage.Prompt, answer.Usage.Tokens}, body
}

// The built-in model does what each example says it does. json-schema, banned-phrases and
// transcript have tests of their own.
func TestExamples_BuiltInModel_ObeysThem(t *testing.T) {
	h := hosts.SharedWithExamples(t, "min-p", "min-p-rust", "dynamic-temperature", "multiple-choice", "regex-stop", "repetition-stop", "answer-length",
		"watermark", "chatml", "llama3")
	greedy, hot := say(t, h, `,"temperature":0`), say(t, h, `,"temperature":1.5`)
	if greedy.text == hot.text || greedy.tokens < 40 {
		t.Fatalf("nothing to tell apart: %+v and %+v", greedy, hot)
	}
	choices := []string{"green", "brown", "it depends"}
	sentence, _, _ := strings.Cut(greedy.text, ".")
	for fields, obeys := range map[string]func(said) bool{
		`,"temperature":1.5,"samplers":["plugin:min-p","temperature"],"plugins":[{"name":"min-p","config":{"min_p":1}}]`:                                                    func(r said) bool { return r == greedy },
		`,"temperature":1.5,"samplers":["plugin:min-p-rust","temperature"],"plugins":[{"name":"min-p-rust","config":{"min_p":1}}]`:                                          func(r said) bool { return r == greedy },
		`,"samplers":["plugin:dynamic-temperature"],"plugins":[{"name":"dynamic-temperature","config":{"min":0.01,"max":0.01}}]`:                                            func(r said) bool { return r == greedy },
		`,"plugins":[{"name":"multiple-choice","config":{"choices":["green","brown","it depends"]}}]`:                                                                       func(r said) bool { return slices.Contains(choices, r.text) },
		`,"temperature":0,"plugins":[{"name":"regex-stop","config":{"pattern":"\\."}}]`:                                                                                     func(r said) bool { return r.text == sentence },
		`,"temperature":0,"plugins":[{"name":"repetition-stop","config":{"tokens":1,"times":2}}],"logit_bias":{"300":100}`:                                                  func(r said) bool { return r.tokens == 2 },
		`,"temperature":0,"plugins":[{"name":"answer-length","config":{"tokens":12}}]`:                                                                                      func(r said) bool { return r.tokens >= 6 && r.tokens <= 24 },
		`,"temperature":0,"plugins":[{"name":"watermark","config":{"key":"5f1d7a84db00d2fce00b31a7fc73224f5f1d7a84db00d2fce00b31a7fc73224f","scheme":"green","delta":20}}]`: func(r said) bool { return r.text != greedy.text },
		`,"temperature":0,"plugins":["chatml"]`: func(r said) bool { return r == greedy },
		`,"temperature":0,"plugins":["llama3"]`: func(r said) bool { return r.prompt > 2*greedy.prompt },
	} {
		if r := say(t, h, fields); !obeys(r) {
			t.Errorf("%s: %+v", fields, r)
		}
	}
}
