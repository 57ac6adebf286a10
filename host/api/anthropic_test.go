// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// steady replaces what differs from answer to answer.
func steady(text string) string {
	for pattern, with := range map[string]string{
		`"id":"msg_[A-Z2-7]+"`:         `"id":"msg_…"`,
		`"created_at":"[-0-9T:.]+Z"`:   `"created_at":"…"`,
		`"(\w+_duration)":[1-9][0-9]*`: `"$1":"…"`,
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, with)
	}
	return text
}

func TestAPI_Anthropic_Whole(t *testing.T) {
	r := newRig(t, nil)
	status, header, text := r.call(http.MethodPost, "/v1/messages", `{"model":"claude","max_tokens":3,`+hello+`}`, "X-Request-Id", "mine")
	want := `{"id":"msg_…","type":"message","role":"assistant","model":"toy","content":[{"type":"text","text":" 48 253 165"}],` +
		`"stop_reason":"max_tokens","stop_sequence":null,` +
		`"usage":{"input_tokens":8,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":3,"output_tokens_details":null}}` + "\n"
	if diff := cmp.Diff(want, steady(text)); status != http.StatusOK || diff != "" {
		t.Error(status, diff)
	}
	if header.Get("Request-Id") != "mine" {
		t.Errorf("headers %v", header)
	}
}

func TestAPI_Anthropic_Stream(t *testing.T) {
	r := newRig(t, nil)
	_, header, text := r.call(http.MethodPost, "/v1/messages", `{"max_tokens":9,"stop_sequences":[" 253"],"stream":true,`+hello+`}`)
	want := `event: message_start
data: {"type":"message_start","message":{"id":"msg_…","type":"message","role":"assistant","model":"toy","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":8,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0,"output_tokens_details":null}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" 48"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":" 253"},"usage":{"input_tokens":8,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":2,"output_tokens_details":null}}

event: message_stop
data: {"type":"message_stop"}

`
	if diff := cmp.Diff(want, steady(text)); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") {
		t.Errorf("headers %v", header)
	}
}

// A message that the context cuts off is told from one that max_tokens does, and one that the
// model ended from both.
func TestAPI_Anthropic_StopReasons(t *testing.T) {
	for _, c := range []struct {
		body, want string
		end        int
	}{
		{`"max_tokens":3`, "max_tokens", 0},
		{`"max_tokens":100000`, "model_context_window_exceeded", 0},
		{`"max_tokens":100`, "end_turn", 20},
	} {
		r := newRig(t, func(s *setup) { s.end = c.end })
		var got struct {
			StopReason string `json:"stop_reason"`
		}
		if r.post("/v1/messages", `{`+c.body+`,`+hello+`}`, &got); got.StopReason != c.want {
			t.Errorf("%s: %q", c.body, got.StopReason)
		}
	}
}

func TestAPI_Anthropic_CountTokens(t *testing.T) {
	r := newRig(t, nil)
	var got struct {
		Input int `json:"input_tokens"`
	}
	r.post("/v1/messages/count_tokens", `{"system":"be brief",`+hello+`}`, &got)
	if want := len("system:be brief\nuser:hi\n"); got.Input != want {
		t.Errorf("got %d, want %d", got.Input, want)
	}
}

func TestAPI_Anthropic_Bad(t *testing.T) {
	r := newRig(t, func(s *setup) { s.strict = true })
	for _, tc := range []struct {
		body   string
		status int
		kind   string
		says   string
	}{
		{`{`, 400, "invalid_request_error", "the request body is not valid JSON at byte 1"},
		{`{` + hello + `}`, 400, "invalid_request_error", "max_tokens is missing"},
		{`{"max_tokens":0,` + hello + `}`, 400, "invalid_request_error", "max_tokens is 0; it must be at least 1"},
		{`{"max_tokens":"3",` + hello + `}`, 400, "invalid_request_error", "max_tokens is a string; it must be an integer"},
		{`{"max_tokens":3}`, 400, "invalid_request_error", "messages is empty"},
		{`{"max_tokens":3,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"aGk="}}]}]}`, 400, "invalid_request_error", `messages[0].content[0] is a picture, and the model toy reads text only`},
		{`{"max_tokens":3,"system":[{"type":"image"}],` + hello + `}`, 400, "invalid_request_error", `system[0] has type "image"`},
		{`{"max_tokens":3,"temperature":1.5,` + hello + `}`, 400, "invalid_request_error", "temperature is 1.5; it must be a number from 0 to 1"},
		{`{"max_tokens":3,"top_p":2,` + hello + `}`, 400, "invalid_request_error", "top_p is 2; it must be a number from 0 to 1"},
		{`{"max_tokens":3,"stop_sequences":["a"," \n"],` + hello + `}`, 400, "invalid_request_error", `stop_sequences[1] is " \n"; it must have more than white space`},
		{`{"max_tokens":3,"stop_sequences":"a",` + hello + `}`, 400, "invalid_request_error", "stop_sequences is a string; it must be a list"},
		{`{"max_tokens":3,"tools":[{"name":"f"}],` + hello + `}`, 400, "invalid_request_error", "tools[0].input_schema must be a JSON schema"},
		{`{"max_tokens":3,"tool_choice":{"type":"any"},` + hello + `}`, 400, "invalid_request_error", "tool_choice has type any, but there are no tools"},
		{`{"max_tokens":3,"thinking":{"type":"enabled"},` + hello + `}`, 400, "invalid_request_error", "thinking.budget_tokens must be at least 1"},
		{`{"max_tokens":3,"output_config":{"format":{"type":"json"}},` + hello + `}`, 400, "invalid_request_error", `output_config.format.type is "json"; it must be json_schema`},
		{`{"max_tokens":3,"output_config":{"format":{"type":"json_schema"}},` + hello + `}`, 400, "invalid_request_error", "output_config.format.schema must be a JSON schema"},
		{`{"max_tokens":3,"output_config":{"effort":1},` + hello + `}`, 400, "invalid_request_error", "output_config.effort is a number; it must be a text"},
		{`{"max_tokens":3,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}]}`, 400, "invalid_request_error", "messages end with a tool_use block"},
		{`{"max_tokens":3,"container":"c",` + hello + `}`, 400, "invalid_request_error", "container is not supported"},
		{`{"max_tokens":3,"mcp_servers":[{}],` + hello + `}`, 400, "invalid_request_error", "mcp_servers is not supported"},
		{`{"max_tokens":3,"plugins":["x"],` + hello + `}`, 400, "invalid_request_error", "plugins is not supported"},
		{`{"max_tokens":3,"model":"claude",` + hello + `}`, 404, "not_found_error", `there is no model "claude" here`},
		{`{"max_tokens":3,"messages":[{"role":"user","content":"` + strings.Repeat("x", contextSize) + `"}]}`, 400, "invalid_request_error", "prompt is too long: 2054 tokens"},
		{`{"max_tokens":3,"messages":[{"role":"user","content":"` + strings.Repeat("x", 65<<10) + `"}]}`, 413, "request_too_large", "the request body is larger"},
		{`{"max_tokens":3,"messages":[{"role":"user","content":"unrenderable"}]}`, 400, "invalid_request_error", "messages do not fit the model's chat template"},
	} {
		status, _, text := r.call(http.MethodPost, "/v1/messages", tc.body)
		var got struct {
			Type  string
			Error struct{ Type, Message string }
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err, text)
		}
		if status != tc.status || got.Type != "error" || got.Error.Type != tc.kind || !strings.HasPrefix(got.Error.Message, tc.says) {
			t.Errorf("%.80s: %d %s, want %d %s %s", tc.body, status, text, tc.status, tc.kind, tc.says)
		}
	}
}

// A key may come as Anthropic's clients send it, and a refusal has their shape.
func TestAPI_Anthropic_Key(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Keys = keys("", nil, "secret") })
	body := `{` + hello + `}`
	if status, _, text := r.call(http.MethodPost, "/v1/messages/count_tokens", body, "X-Api-Key", "secret", "Anthropic-Version", "2023-06-01"); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
	if status, _, text := r.call(http.MethodPost, "/v1/messages/count_tokens", body, "X-Api-Key", "guess"); status != http.StatusUnauthorized ||
		!strings.Contains(text, `{"type":"error","error":{"type":"authentication_error","message":"this server needs a key`) {
		t.Errorf("%d %s", status, text)
	}
}
