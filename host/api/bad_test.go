// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

const hello = `"messages":[{"role":"user","content":"hi"}]`

// badChats are bodies of a chat completion that must be refused, with code and param of the
// refusal.
var badChats = []struct{ name, body, code, param string }{
	{"empty body", ``, "invalid_json", ""},
	{"cut off", `{"messages":[`, "invalid_json", ""},
	{"not JSON", `hello`, "invalid_json", ""},
	{"trailing text", `{` + hello + `} x`, "invalid_json", ""},
	{"NaN", `{` + hello + `,"temperature":NaN}`, "invalid_json", ""},
	{"a list", `[]`, "invalid_json", ""},
	{"null", `null`, "invalid_json", ""},
	{"no messages", `{}`, "invalid_value", "messages"},
	{"empty messages", `{"messages":[]}`, "invalid_value", "messages"},
	{"messages is a text", `{"messages":"hi"}`, "invalid_type", "messages"},
	{"unknown role", `{"messages":[{"role":"king","content":"hi"}]}`, "invalid_value", "messages[0].role"},
	{"no content", `{"messages":[{"role":"user"}]}`, "invalid_value", "messages[0].content"},
	{"an image", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]}`, "unsupported", "messages[0].content[0]"},
	{"template fault", `{"messages":[{"role":"user","content":"unrenderable"}]}`, "invalid_value", "messages"},
	{"text that the model refuses", `{"messages":[{"role":"user","content":"untokenizable"}]}`, "invalid_value", "messages"},
	{"temperature is a text", `{` + hello + `,"temperature":"hot"}`, "invalid_type", "temperature"},
	{"temperature below 0", `{` + hello + `,"temperature":-1}`, "invalid_value", "temperature"},
	{"temperature beyond float", `{` + hello + `,"temperature":1e999}`, "invalid_type", "temperature"},
	{"top_p over 1", `{` + hello + `,"top_p":1.5}`, "invalid_value", "top_p"},
	{"top_k is a fraction", `{` + hello + `,"top_k":1.5}`, "invalid_type", "top_k"},
	{"max_tokens 0", `{` + hello + `,"max_tokens":0}`, "invalid_value", "max_tokens"},
	{"max_tokens below 0", `{` + hello + `,"max_tokens":-7}`, "invalid_value", "max_tokens"},
	{"max_completion_tokens", `{` + hello + `,"max_completion_tokens":0}`, "invalid_value", "max_completion_tokens"},
	{"n 0", `{` + hello + `,"n":0}`, "invalid_value", "n"},
	{"n too many", `{` + hello + `,"n":1000}`, "invalid_value", "n"},
	{"stream is a number", `{` + hello + `,"stream":1}`, "invalid_type", "stream"},
	{"stream_options", `{` + hello + `,"stream_options":{"include_usage":1}}`, "invalid_type", "stream_options.include_usage"},
	{"stop is a number", `{` + hello + `,"stop":1}`, "invalid_value", "stop"},
	{"stop is empty", `{` + hello + `,"stop":["a",""]}`, "invalid_value", "stop[1]"},
	{"logit_bias out of vocabulary", `{` + hello + `,"logit_bias":{"256":1}}`, "invalid_value", "logit_bias"},
	{"top_logprobs alone", `{` + hello + `,"top_logprobs":2}`, "invalid_value", "top_logprobs"},
	{"top_logprobs too many", `{` + hello + `,"logprobs":true,"top_logprobs":21}`, "invalid_value", "top_logprobs"},
	{"seed is a text", `{` + hello + `,"seed":"x"}`, "invalid_type", "seed"},
	{"priority", `{` + hello + `,"priority":1000}`, "invalid_value", "priority"},
	{"timeout", `{` + hello + `,"timeout_ms":0}`, "invalid_value", "timeout_ms"},
	{"samplers", `{` + hello + `,"samplers":["magic"]}`, "invalid_value", "samplers"},
	{"spoken answer", `{` + hello + `,"modalities":["text","audio"]}`, "unsupported", "modalities[1]"},
	{"voice", `{` + hello + `,"audio":{"voice":"x"}}`, "unsupported", "audio"},
	{"search", `{` + hello + `,"web_search_options":{"search_context_size":"low"}}`, "unsupported", "web_search_options"},
	{"grammar is a list", `{` + hello + `,"grammar":[]}`, "invalid_type", "grammar"},
	{"a message is a text", `{"messages":["hi"]}`, "invalid_value", "messages[0]"},
	{"lora with a text", `{` + hello + `,"lora":["a"]}`, "invalid_value", "lora[0]"},
	{"grammar", `{` + hello + `,"grammar":"bad"}`, "invalid_value", "grammar"},
	{"too long", `{"messages":[{"role":"user","content":"` + strings.Repeat("x", contextSize) + `"}]}`, "context_length_exceeded", "messages"},
}

func TestAPI_Chat_Bad(t *testing.T) {
	r := newRig(t, nil)
	for _, tc := range badChats {
		t.Run(tc.name, func(t *testing.T) {
			r.t = t
			r.refused("/v1/chat/completions", tc.body, http.StatusBadRequest, tc.code, tc.param)
		})
	}
}

// refused checks status, shape, code and param of a refusal.
func (r *rig) refused(path, body string, status int, code, param string) {
	r.t.Helper()
	got, header, text := r.call(http.MethodPost, path, body)
	var answer struct {
		Error map[string]any `json:"error"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		r.t.Fatalf("%v: %s", err, text)
	}
	var want any
	if param != "" {
		want = param
	}
	word := answer.Error["code"]
	if reason, ok := answer.Error["reason"]; ok && word == float64(status) { // as llama-server has it
		word = reason
	}
	if got != status || word != code || answer.Error["param"] != want {
		r.t.Errorf("got %d %s, want %d %s %s", got, text, status, code, param)
	}
	if strings.Contains(text, "Go value") || strings.Contains(text, "Go struct") {
		r.t.Errorf("the message tells of Go: %s", text)
	}
	if answer.Error["message"] == "" || answer.Error["type"] == "" {
		r.t.Errorf("no message or type: %s", text)
	}
	if !strings.HasPrefix(header.Get("Content-Type"), "application/json") {
		r.t.Errorf("content type %q", header.Get("Content-Type"))
	}
}

func TestAPI_OtherRoutes_Bad(t *testing.T) {
	r := newRig(t, nil)
	for _, tc := range []struct {
		name, path, body string
		status           int
		code, param      string
	}{
		{"a tool without function", "/v1/chat/completions", `{` + hello + `,"tools":[{"type":"function"}]}`, 400, "invalid_value", "tools[0].function"},
		{"a tool without a type", "/v1/chat/completions", `{` + hello + `,"tools":[{"name":"f"}]}`, 400, "invalid_value", "tools[0].type"},
		{"tools are no list", "/v1/chat/completions", `{` + hello + `,"tools":{}}`, 400, "invalid_type", "tools"},
		{"tool_choice", "/v1/chat/completions", `{` + hello + `,"tool_choice":"maybe"}`, 400, "invalid_value", "tool_choice"},
		{"tool_choice without tools", "/v1/chat/completions", `{` + hello + `,"tool_choice":"required"}`, 400, "invalid_value", "tool_choice"},
		{"tool_choice of none", "/v1/chat/completions", `{` + hello + `,"tool_choice":{"type":"function","function":{"name":"f"}}}`, 400, "invalid_value", "tool_choice.function.name"},
		{"a call that the template knows no tools for", "/v1/chat/completions", `{` + hello + `,"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"required"}`, 400, "invalid_value", "tool_choice"},
		{"functions", "/v1/chat/completions", `{` + hello + `,"functions":[{"name":"f"}]}`, 400, "unsupported", "functions"},
		{"function_call", "/v1/chat/completions", `{` + hello + `,"function_call":"auto"}`, 400, "unsupported", "function_call"},
		{"reasoning_format", "/v1/chat/completions", `{` + hello + `,"reasoning_format":"x"}`, 400, "invalid_value", "reasoning_format"},
		{"continue_final_message", "/v1/chat/completions", `{` + hello + `,"continue_final_message":"x"}`, 400, "invalid_value", "continue_final_message"},
		{"trace is no number", "/v1/chat/completions", `{` + hello + `,"trace":3}`, 400, "invalid_type", "trace"},
		{"plugins", "/v1/chat/completions", `{` + hello + `,"plugins":["x"]}`, 400, "unsupported", "plugins"},
		{"plugin in the chain", "/v1/chat/completions", `{` + hello + `,"samplers":["plugin:x"]}`, 400, "unsupported", "samplers"},
		{"response_format", "/v1/chat/completions", `{` + hello + `,"response_format":{"type":"xml"}}`, 400, "invalid_value", "response_format.type"},
		{"no prompt", "/v1/completions", `{}`, 400, "invalid_value", "prompt"},
		{"empty prompt", "/v1/completions", `{"prompt":""}`, 400, "invalid_value", "prompt"},
		{"response_format is a text", "/v1/chat/completions", `{` + hello + `,"response_format":"json"}`, 400, "invalid_value", "response_format"},
		{"prompt is an object", "/v1/completions", `{"prompt":{}}`, 400, "invalid_value", "prompt"},
		{"no prompts", "/v1/completions", `{"prompt":[]}`, 400, "invalid_value", "prompt"},
		{"token out of vocabulary", "/v1/completions", `{"prompt":[1,256]}`, 400, "invalid_value", "prompt[1]"},
		{"token below 0", "/v1/completions", `{"prompt":[-1]}`, 400, "invalid_value", "prompt[0]"},
		{"nested", "/v1/completions", `{"prompt":[[1,[2]]]}`, 400, "invalid_value", "prompt[0][1]"},
		{"prompt of null", "/v1/completions", `{"prompt":[null]}`, 400, "invalid_value", "prompt[0]"},
		{"suffix", "/v1/completions", `{"prompt":"a","suffix":"b"}`, 400, "unsupported", "suffix"},
		{"best_of below n", "/v1/completions", `{"prompt":"a","n":3,"best_of":2}`, 400, "invalid_value", "best_of"},
		{"best_of too large", "/v1/completions", `{"prompt":"a","best_of":129}`, 400, "invalid_value", "best_of"},
		{"best_of streamed", "/v1/completions", `{"prompt":"a","best_of":3,"stream":true}`, 400, "invalid_value", "best_of"},
		{"echo with logprobs of a gap", "/v1/completions", `{"prompt":"a","suffix":"b","echo":true,"logprobs":1}`, 400, "unsupported", "suffix"},
		{"neither prompt nor answer", "/v1/completions", `{"prompt":"a","max_tokens":0}`, 400, "invalid_value", "max_tokens"},
		{"too many logprobs", "/v1/completions", `{"prompt":"` + strings.Repeat("x", 1000) + `","echo":true,"logprobs":20,"n":128}`, 400, "invalid_value", "logprobs"},
		{"logprobs", "/v1/completions", `{"prompt":"a","logprobs":-1}`, 400, "invalid_value", "logprobs"},
		{"second prompt too long", "/v1/completions", `{"prompt":["a","` + strings.Repeat("x", contextSize) + `"]}`, 400, "context_length_exceeded", "prompt"},
		{"n natively", "/completion", `{"prompt":"a","n":5}`, 400, "invalid_value", "n"},
		{"n_cmpl", "/completion", `{"prompt":"a","n_cmpl":0}`, 400, "invalid_value", "n_cmpl"},
		{"no prompts natively", "/completion", `{"prompt":[]}`, 400, "invalid_value", "prompt"},
		{"a prompt natively", "/completion", `{"prompt":["a",{"prompt_string":[true]}]}`, 400, "invalid_value", "prompt[1].prompt_string[0]"},
		{"media", "/completion", `{"prompt":{"prompt_string":"a","multimodal_data":["eA=="]}}`, 400, "unsupported", "prompt.multimodal_data[0]"},
		{"n_probs", "/completion", `{"prompt":"a","n_probs":1001}`, 400, "invalid_value", "n_probs"},
		{"n_probs after sampling", "/completion", `{"prompt":"a","n_probs":101,"post_sampling_probs":true}`, 400, "invalid_value", "n_probs"},
		{"id_slot", "/completion", `{"prompt":"a","id_slot":4}`, 400, "invalid_value", "id_slot"},
		{"n_keep", "/completion", `{"prompt":"a","n_keep":-2}`, 400, "invalid_value", "n_keep"},
		{"reasoning_format natively", "/completion", `{"prompt":"a","reasoning_format":"x"}`, 400, "invalid_value", "reasoning_format"},
		{"response_fields", "/completion", `{"prompt":"a","response_fields":"x"}`, 400, "invalid_type", "response_fields"},
		{"infill", "/infill", `{"input_prefix":"a","input_suffix":"b"}`, 501, "not_supported", ""},
		{"set props", "/props", `{}`, 501, "not_supported", ""},
		{"n_predict", "/completion", `{"prompt":"a","n_predict":-2}`, 400, "invalid_value", "n_predict"},
		{"content is a number", "/tokenize", `{"content":1}`, 400, "invalid_value", "content"},
		{"content with a number", "/tokenize", `{"content":["a",256]}`, 400, "invalid_value", "content[1]"},
		{"not a token", "/detokenize", `{"tokens":["a"]}`, 400, "invalid_value", "tokens[0]"},
		{"token beyond", "/detokenize", `{"tokens":[999]}`, 400, "invalid_value", "tokens[0]"},
		{"template", "/apply-template", `{"messages":[]}`, 400, "invalid_value", "messages"},
		{"no model for embeddings", "/v1/embeddings", `{"input":"a"}`, 501, "unsupported", ""},
		{"no model for scores", "/v1/rerank", `{"query":"a","documents":["b"]}`, 501, "unsupported", ""},
		{"too large", "/v1/chat/completions", `{"messages":[{"role":"user","content":"` + strings.Repeat("x", 65<<10) + `"}]}`, 413, "body_too_large", ""},
		{"no such route", "/v1/nothing", `{}`, 404, "not_found", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r.t = t
			r.refused(tc.path, tc.body, tc.status, tc.code, tc.param)
		})
	}
}

func TestAPI_UnknownFields_AreIgnored(t *testing.T) {
	r := newRig(t, nil)
	var a chatAnswer
	r.post("/v1/chat/completions", `{`+hello+`,"max_tokens":1,"user":"u","metadata":{"a":1},"service_tier":"auto","store":false,
		"tools":[],"tool_choice":"none","response_format":{"type":"text"},"model":"toy","parallel_tool_calls":true,"made_up":[1]}`, &a)
	if len(a.Choices) != 1 {
		t.Errorf("got %+v", a)
	}
}

// The one model answers to any name, with its true name; --strict-model refuses other names.
func TestAPI_UnknownModel(t *testing.T) {
	body := `{"model":"gpt-9",` + hello + `,"max_tokens":1}`
	var a chatAnswer
	newRig(t, nil).post("/v1/chat/completions", body, &a)
	if a.Model != "toy" {
		t.Errorf("the answer names %q", a.Model)
	}
	strict := newRig(t, func(s *setup) { s.strict = true })
	strict.refused("/v1/chat/completions", body, 404, "model_not_found", "model")
	strict.post("/v1/chat/completions", `{"model":"toy",`+hello+`,"max_tokens":1}`, &a)
}
