// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAPI_Text_PromptsTimesChoices(t *testing.T) {
	r := newRig(t, nil)
	var a textAnswer
	r.post("/v1/completions", `{"prompt":["abc","de",[70,71,"h"]],"n":2,"max_tokens":3,"logprobs":1}`, &a)
	if len(a.Choices) != 6 || a.Usage.Prompt != 8 || a.Usage.Completion != 18 {
		t.Fatalf("got %+v", a)
	}
	if a.Choices[0].Text != a.Choices[1].Text || a.Choices[0].Text == a.Choices[2].Text {
		t.Error("the order of choices is not prompt by prompt")
	}
	p := a.Choices[5].Logprobs // of a text like " 84 199 50"
	if diff := cmp.Diff([]int{0, 3, 7}, p.Offsets); diff != "" || len(p.Tokens) != 3 || len(p.Top[0]) != 1 {
		t.Errorf("%s %+v", diff, p)
	}
	var one textAnswer
	if r.post("/v1/completions", `{"prompt":[70,71,104],"max_tokens":3}`, &one); one.Choices[0].Text != a.Choices[4].Text {
		t.Error("the same tokens gave another answer")
	}
}

func TestAPI_Text_Stream(t *testing.T) {
	r := newRig(t, nil)
	_, _, text := r.call(http.MethodPost, "/v1/completions", `{"prompt":"abc","max_tokens":3,"stream":true,"logprobs":0}`)
	events := frames(t, text)
	if len(events) != 5 || events[4] != "[DONE]" || !strings.Contains(events[3], `"finish_reason":"length"`) {
		t.Errorf("got %q", events)
	}
}

func TestAPI_Native_Shape(t *testing.T) {
	r := newRig(t, func(s *setup) { s.end = 12 })
	var a nativeAnswer
	r.post("/completion", `{"prompt":"abcdef","n_predict":4,"return_tokens":true,"n_probs":2}`, &a)
	if !a.Stop || a.StopType != "limit" || len(a.Tokens) != 4 || a.Predicted != 4 || a.Evaluated != 6 || len(a.Probs) != 4 || a.Model != "toy" {
		t.Errorf("got %+v", a)
	}
	if r.post("/completion", `{"prompt":"abcdef"}`, &a); a.StopType != "eos" {
		t.Errorf("stop type %q", a.StopType)
	}
	word := strings.Fields(a.Content)[1]
	if r.post("/completion", `{"prompt":"abcdef","stop":["`+word+`"]}`, &a); a.StopType != "word" || a.StoppingWord != word {
		t.Errorf("stop type %q at %q", a.StopType, a.StoppingWord)
	}
	_, _, text := r.call(http.MethodPost, "/completion", `{"prompt":"abcdef","n_predict":2,"stream":true}`)
	events := frames(t, text)
	var last nativeAnswer
	if err := json.Unmarshal([]byte(events[len(events)-1]), &last); err != nil || !last.Stop || last.Predicted != 2 || len(events) != 3 {
		t.Errorf("got %q, %v", events, err)
	}
}

func TestAPI_Tokens(t *testing.T) {
	r := newRig(t, nil)
	for _, tc := range []struct{ path, body, want string }{
		{"/tokenize", `{"content":"ab"}`, `{"tokens":[97,98]}`},
		{"/tokenize", `{"content":""}`, `{"tokens":[]}`},
		{"/tokenize", `{"content":"é","with_pieces":true}`, `{"tokens":[{"id":195,"piece":[195]},{"id":169,"piece":[169]}]}`},
		{"/detokenize", `{"tokens":[97,98]}`, `{"content":"ab"}`},
		{"/detokenize", `{}`, `{"content":""}`},
		{"/apply-template", `{` + hello + `}`, `{"prompt":"user:hi\n"}`},
		{"/apply-template", `{"messages":[{"role":"user","content":""}],"return_tokens":true}`, `{"prompt":"user:\n","tokens":[` +
			`{"id":117,"piece":"u","special":false},{"id":115,"piece":"s","special":false},{"id":101,"piece":"e","special":false},` +
			`{"id":114,"piece":"r","special":false},{"id":58,"piece":":","special":false},{"id":10,"piece":"\n","special":false}]}`},
	} {
		if status, _, got := r.call(http.MethodPost, tc.path, tc.body); status != 200 || strings.TrimSpace(got) != tc.want {
			t.Errorf("%s %s: %d %s", tc.path, tc.body, status, got)
		}
	}
}

// echo begins an answer with its prompt, whichever way that was given.
func TestAPI_Text_Echo(t *testing.T) {
	r := newRig(t, nil)
	var plain, a textAnswer
	r.post("/v1/completions", `{"prompt":["abc",[70,71]],"max_tokens":3,"n":2}`, &plain)
	r.post("/v1/completions", `{"prompt":["abc",[70,71]],"max_tokens":3,"n":2,"echo":true}`, &a)
	for i, prompt := range []string{"abc", "abc", "FG", "FG"} {
		if want := prompt + plain.Choices[i].Text; a.Choices[i].Text != want {
			t.Errorf("choice %d is %q, want %q", i, a.Choices[i].Text, want)
		}
	}
	var one textAnswer
	if r.post("/v1/completions", `{"prompt":[70,71],"max_tokens":3,"echo":true}`, &one); len(one.Choices) != 1 || !strings.HasPrefix(one.Choices[0].Text, "FG") {
		t.Errorf("a prompt of tokens alone: %+v", one)
	}
	_, _, text := r.call(http.MethodPost, "/v1/completions", `{"prompt":"abc","max_tokens":3,"echo":true,"stream":true}`)
	var streamed strings.Builder
	for _, f := range frames(t, text) {
		var part textAnswer
		if f != "[DONE]" && json.Unmarshal([]byte(f), &part) == nil {
			streamed.WriteString(part.Choices[0].Text)
		}
	}
	if streamed.String() != a.Choices[0].Text {
		t.Errorf("streamed %q, want %q", streamed.String(), a.Choices[0].Text)
	}
}

// best_of generates more answers than it shows; all count.
func TestAPI_Text_BestOf(t *testing.T) {
	r := newRig(t, nil)
	var a textAnswer
	r.post("/v1/completions", `{"prompt":["abc","de"],"max_tokens":3,"n":2,"best_of":3}`, &a)
	if len(a.Choices) != 4 || a.Choices[3].Index != 3 || a.Usage.Completion != 18 || a.Choices[0].Logprobs != nil {
		t.Errorf("got %+v", a)
	}
}
