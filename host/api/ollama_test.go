// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
)

func TestAPI_Ollama_Answers(t *testing.T) {
	r := newRig(t, nil)
	end := `"done":true,"done_reason":"length",%s"total_duration":"…","load_duration":"…","prompt_eval_count":8,"prompt_eval_duration":"…","eval_count":2,"eval_duration":"…"}` + "\n"
	plain := strings.Replace(end, "%s", "", 1)
	context := strings.Replace(end, "%s", `"context":[117,115,101,114,58,104,105,10,48,253],`, 1)
	head := `{"model":"toy","created_at":"…",`
	for _, c := range []struct{ name, path, body, kind, want string }{
		{"chat", "/api/chat", `{"stream":false,"options":{"num_predict":2},` + hello + `}`, "application/json",
			head + `"message":{"role":"assistant","content":" 48 253"},` + plain},
		{"chat as lines", "/api/chat", `{"model":"toy:latest","options":{"num_predict":2},` + hello + `}`, "application/x-ndjson",
			head + `"message":{"role":"assistant","content":" 48"},"done":false}` + "\n" +
				head + `"message":{"role":"assistant","content":" 253"},"done":false}` + "\n" +
				head + `"message":{"role":"assistant","content":""},` + plain},
		{"generation", "/api/generate", `{"stream":false,"options":{"num_predict":2},"prompt":"hi"}`, "application/json",
			head + `"response":" 48 253",` + context},
		{"generation as lines", "/api/generate", `{"options":{"num_predict":2},"prompt":"hi"}`, "application/x-ndjson",
			head + `"response":" 48","done":false}` + "\n" +
				head + `"response":" 253","done":false}` + "\n" +
				head + `"response":"",` + context},
		{"raw", "/api/generate", `{"stream":false,"raw":true,"options":{"num_predict":2},"prompt":"user:hi\n"}`, "application/json",
			head + `"response":" 48 253",` + plain},
		{"chat that only loads", "/api/chat", `{"keep_alive":"5m"}`, "application/json",
			head + `"message":{"role":"assistant","content":""},"done":true,"done_reason":"load"}` + "\n"},
		{"generation that only loads", "/api/generate", `{"keep_alive":-1}`, "application/json",
			head + `"response":"","done":true,"done_reason":"load"}` + "\n"},
	} {
		status, header, text := r.call(http.MethodPost, c.path, c.body)
		if diff := cmp.Diff(c.want, steady(text)); status != http.StatusOK || diff != "" {
			t.Errorf("%s: %d %s", c.name, status, diff)
		}
		if !strings.HasPrefix(header.Get("Content-Type"), c.kind) {
			t.Errorf("%s: headers %v", c.name, header)
		}
	}
}

// The context of an answer goes before the prompt that follows it.
func TestAPI_Ollama_Generate_Context(t *testing.T) {
	r := newRig(t, nil)
	var got struct{ Context []int }
	r.post("/api/generate", `{"stream":false,"options":{"num_predict":1},"context":[65,66],"system":"s","prompt":"hi"}`, &got)
	prompt := "ABsystem:s\nuser:hi\n"
	if len(got.Context) != len(prompt)+1 {
		t.Fatalf("context %v", got.Context)
	}
	for i := range prompt {
		if got.Context[i] != int(prompt[i]) {
			t.Fatalf("context %v, want one that begins with %q", got.Context, prompt)
		}
	}
}

// Options stand above the same parameters beside them, and those about loading a model are ignored.
func TestAPI_Ollama_Options(t *testing.T) {
	r := newRig(t, func(s *setup) { s.end = 20 })
	var got struct {
		Count int `json:"eval_count"`
	}
	r.post("/api/chat", `{"stream":false,"ignore_eos":false,"options":{"ignore_eos":true,"num_predict":40,"num_ctx":1000000,"num_gpu":99,"num_thread":4,"tfs_z":1},`+hello+`}`, &got)
	if got.Count != 40 {
		t.Errorf("%d tokens", got.Count)
	}
	for _, limit := range []string{"0", "-1", "-2"} {
		if r.post("/api/chat", `{"stream":false,"options":{"num_predict":`+limit+`},`+hello+`}`, &got); got.Count < 5 {
			t.Errorf("num_predict %s: %d tokens", limit, got.Count)
		}
	}
}

func TestAPI_Ollama_Bad(t *testing.T) {
	r := newRig(t, func(s *setup) { s.strict = true })
	for _, tc := range []struct {
		path, body string
		status     int
		says       string
	}{
		{"/api/chat", `[`, 400, "the request body is not valid JSON"},
		{"/api/chat", `{"messages":[{"role":"king","content":"hi"}]}`, 400, `messages[0].role is "king"; it must be one of`},
		{"/api/chat", `{"messages":[{"role":"user","content":"hi","images":["aGk="]}]}`, 400, "messages[0].images[0] is a picture, and the model toy reads text only"},
		{"/api/chat", `{"options":[],"model":7}`, 400, "model is a number; it must be a text"},
		{"/api/chat", `{"options":7,` + hello + `}`, 400, "options is a number; it must be an object"},
		{"/api/chat", `{"options":{"temperature":"hot"},` + hello + `}`, 400, "options.temperature is a string; it must be a number"},
		{"/api/chat", `{"options":{"temperature":-1},` + hello + `}`, 400, "options.temperature is -1; it must be a number from 0 to 100"},
		{"/api/chat", `{"temperature":-1,` + hello + `}`, 400, "temperature is -1; it must be"},
		{"/api/chat", `{"options":{"num_predict":"x"},` + hello + `}`, 400, "options.num_predict is a string; it must be an integer"},
		{"/api/chat", `{"options":{"stop":7},` + hello + `}`, 400, "options.stop must be a text or a list of texts"},
		{"/api/chat", `{"options":{"stop":["a",""]},` + hello + `}`, 400, "options.stop[1] is empty"},
		{"/api/chat", `{"keep_alive":true,` + hello + `}`, 400, `keep_alive is true; it must be a number of seconds or a duration such as "5m"`},
		{"/api/chat", `{"think":"hard",` + hello + `}`, 400, `think is "hard"; it must be true, false, or one of low, medium, high, max`},
		{"/api/chat", `{"format":"yaml",` + hello + `}`, 400, `format is "yaml"; it must be "json" or a JSON schema`},
		{"/api/chat", `{"tools":[{}],` + hello + `}`, 400, `tools[0].type is missing`},
		{"/api/chat", `{"tool_choice":"required",` + hello + `}`, 400, "tool_choice is required, but there are no tools"},
		{"/api/chat", `{"messages":[{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f"}}]}]}`, 400, "messages end with tool_calls"},
		{"/api/chat", `{"top_logprobs":21,` + hello + `}`, 400, "top_logprobs is 21; it must be from 0 to 20"},
		{"/api/chat", `{"plugins":["x"],` + hello + `}`, 400, "plugins is not supported"},
		{"/api/chat", `{"model":"llama3",` + hello + `}`, 404, `there is no model "llama3" here`},
		{"/api/chat", `{"messages":[{"role":"user","content":"unrenderable"}]}`, 400, "messages do not fit the model's chat template"},
		{"/api/chat", `{"messages":[{"role":"user","content":"` + strings.Repeat("x", contextSize) + `"}]}`, 400, "messages: request (2054 tokens) exceeds the available context size"},
		{"/api/generate", `{"prompt":7}`, 400, "prompt is a number; it must be a text"},
		{"/api/generate", `{"prompt":"a","images":["aGk="]}`, 400, "images[0] is a picture, and the model toy reads text only"},
		{"/api/generate", `{"prompt":"a","template":"{{ .Prompt }}"}`, 400, "template is not supported"},
		{"/api/generate", `{"prompt":"a","raw":true,"system":"b"}`, 400, "raw is true"},
		{"/api/generate", `{"prompt":"a","context":[1,256]}`, 400, "context[1] is 256; it must be a token from 0 to 255"},
		{"/api/generate", `{"prompt":"untokenizable","raw":true}`, 400, "prompt: "},
		{"/api/generate", `{"prompt":"untokenizable"}`, 400, "prompt: "},
		{"/api/generate", `{"model":"llama3"}`, 404, `there is no model "llama3" here`},
		{"/api/show", `{"model":"llama3"}`, 404, `there is no model "llama3" here`},
		{"/api/embed", `{"input":7}`, 501, "This server does not support embeddings"},
		{"/api/embed", `{"input":7,"dimensions":-1}`, 400, "dimensions is -1; it must be at least 1, or 0 for all"}, // before the model is asked
		{"/api/generate", `{"prompt":"a","suffix":"b"}`, 400, "suffix is set, but this model cannot fill in the middle"},
		{"/api/chat", `{"think":true,` + hello + `}`, 400, `think is true; the model "toy" does not think`},
		{"/api/pull", `{"model":"llama3"}`, 404, "this server has no POST /api/pull"},
	} {
		status, _, text := r.call(http.MethodPost, tc.path, tc.body)
		var got struct{ Error string }
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(tc.body, err, text)
		}
		if status != tc.status || !strings.HasPrefix(got.Error, tc.says) {
			t.Errorf("%s %.80s: %d %s, want %d %s", tc.path, tc.body, status, text, tc.status, tc.says)
		}
	}
}

func TestAPI_Ollama_Models(t *testing.T) {
	r := newRig(t, nil)
	for path, want := range map[string]string{
		"/api/tags":    `{"models":[{"name":"toy:latest","model":"toy:latest","modified_at":"`,
		"/api/ps":      `"context_length":2048`,
		"/api/version": `"penstock":"test"`,
	} {
		status, _, text := r.call(http.MethodGet, path, "")
		if status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", path, status, text)
		}
		if status, _, text := r.call(http.MethodHead, path, ""); status != http.StatusOK || text != "" {
			t.Errorf("HEAD %s: %d %s", path, status, text)
		}
	}
	if status, _, text := r.call(http.MethodHead, "/", ""); status != http.StatusOK || text != "" {
		t.Errorf("HEAD /: %d %s", status, text)
	}
	var shown struct{ Capabilities []string }
	if r.post("/api/show", `{"name":"toy:latest"}`, &shown); len(shown.Capabilities) == 0 {
		t.Errorf("got %+v", shown)
	}
}

// unloading are models that count how often one is to be unloaded.
type unloading struct {
	servingtest.OneModel
	unloaded *atomic.Int32
}

func (u unloading) Unload(string) error {
	u.unloaded.Add(1)
	return nil
}

// TestAPI_Ollama_KeepAlive_UnloadsForTheAdmin: a model serves all clients, so where keys tell the
// admin from others only that one unloads it.
func TestAPI_Ollama_KeepAlive_UnloadsForTheAdmin(t *testing.T) {
	for _, tc := range []struct {
		name, admin, key string
		clients          []string
		may              bool
	}{
		{"no keys", "", "", nil, true}, {"an admin key alone", "root", "", nil, false}, {"the admin of an open server", "root", "root", nil, true},
		{"a client", "root", "one", []string{"one"}, false}, {"a client without an admin", "", "one", []string{"one"}, false}, {"the admin", "root", "root", []string{"one"}, true},
	} {
		var unloaded atomic.Int32
		r := newRig(t, func(s *setup) {
			s.Keys = keys(tc.admin, nil, tc.clients...)
			s.wrap = func(one servingtest.OneModel) serving.Models { return unloading{one, &unloaded} }
		})
		for _, ask := range []struct {
			path, body string
			only       bool // unloading is all that is asked for
		}{
			{"/api/generate", `{"model":"toy","keep_alive":0}`, true}, {"/api/chat", `{"model":"toy","keep_alive":"0s"}`, true},
			{"/api/generate", `{"model":"toy","prompt":"a","raw":true,"stream":false,"options":{"num_predict":1},"keep_alive":0}`, false},
		} {
			before := unloaded.Load()
			status, _, body := r.call(http.MethodPost, ask.path, ask.body, "Authorization", "Bearer "+tc.key)
			want := http.StatusOK
			if ask.only && !tc.may {
				want = http.StatusForbidden
			}
			if status != want || strings.Contains(body, "only the admin's does that") != (want == http.StatusForbidden) {
				t.Errorf("%s: %s: %d %s", tc.name, ask.body, status, body)
			}
			if n := unloaded.Load() - before; (n > 0) != tc.may {
				t.Errorf("%s: %s: unloaded %d times", tc.name, ask.body, n)
			}
		}
	}
}
