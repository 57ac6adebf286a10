// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// response is an answer of the Responses API as a client reads it.
type response struct {
	ID, Object, Status, Model string
	Incomplete                *struct{ Reason string } `json:"incomplete_details"`
	Output                    []struct {
		ID, Type, Status, Role string
		Content                []struct{ Type, Text string }
	}
	Usage struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
		Total  int `json:"total_tokens"`
	}
}

func TestResponses_Whole(t *testing.T) {
	r := newRig(t, nil)
	var a response
	r.post("/v1/responses", `{"instructions":"be kind","input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]},
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"yes?"}]},{"role":"user","content":"go on"}],"max_output_tokens":4,"model":"x"}`, &a)
	prompt := "system:be kind\nuser:hi\nassistant:yes?\nuser:go on\n"
	if a.Object != "response" || !strings.HasPrefix(a.ID, "resp_") || a.Status != "incomplete" || a.Incomplete.Reason != "max_output_tokens" || a.Model != "toy" ||
		a.Usage.Input != len(prompt) || a.Usage.Output != 4 || a.Usage.Total != len(prompt)+4 {
		t.Errorf("got %+v", a)
	}
	if len(a.Output) != 1 || a.Output[0].Type != "message" || a.Output[0].Role != "assistant" || len(a.Output[0].Content) != 1 || a.Output[0].Content[0].Type != "output_text" {
		t.Fatalf("got %+v", a.Output)
	}
	var chat chatAnswer
	r.post("/v1/chat/completions", `{"messages":[{"role":"system","content":"be kind"},{"role":"user","content":"hi"},{"role":"assistant","content":"yes?"},
		{"role":"user","content":"go on"}],"max_tokens":4}`, &chat)
	if chat.Choices[0].Message.Content != a.Output[0].Content[0].Text {
		t.Error("a chat completion answers otherwise")
	}
}

// An empty input loads the model and no more, as LM Studio's clients ask for.
func TestResponses_EmptyInputLoads(t *testing.T) {
	r := newRig(t, nil)
	var a response
	r.post("/v1/responses", `{"model":"x","input":"","max_output_tokens":1}`, &a)
	if a.Object != "response" || a.Status != "completed" || a.Model != "toy" || len(a.Output) > 0 || a.Usage.Total != 0 {
		t.Errorf("got %+v", a)
	}
}

func TestResponses_Stream(t *testing.T) {
	r := newRig(t, nil)
	var whole response
	r.post("/v1/responses", `{"input":"hi","max_output_tokens":3}`, &whole)
	_, _, text := r.call(http.MethodPost, "/v1/responses", `{"input":"hi","max_output_tokens":3,"stream":true}`)
	var names []string
	var written strings.Builder
	for i, e := range strings.Split(strings.TrimSpace(text), "\n\n") {
		name, data, _ := strings.Cut(strings.TrimPrefix(e, "event: "), "\ndata: ")
		var f struct {
			Type, Delta, Text string
			Number            int `json:"sequence_number"`
			Response          response
		}
		if err := json.Unmarshal([]byte(data), &f); err != nil || f.Type != name || f.Number != i {
			t.Fatalf("%v %q", err, e)
		}
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
		written.WriteString(f.Delta)
		if name == "response.output_text.done" && f.Text != written.String() {
			t.Errorf("done says %q after %q", f.Text, written.String())
		}
		if name == "response.incomplete" && (f.Response.Output[0].Content[0].Text != whole.Output[0].Content[0].Text || f.Response.Usage.Output != 3) {
			t.Errorf("got %+v", f.Response)
		}
	}
	want := []string{"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added", "response.output_text.delta",
		"response.output_text.done", "response.content_part.done", "response.output_item.done", "response.incomplete"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

func TestResponses_Bad(t *testing.T) {
	r := newRig(t, nil)
	for body, param := range map[string]string{
		`{}`:                        "input",
		`{"input":5}`:               "input",
		`{"input":[5]}`:             "input[0]",
		`{"input":[{"role":"ki"}]}`: "input[0].role",
		`{"input":[{"role":"user","content":[{"type":"input_image","image_url":"x"}]}]}`: "input[0].content[0]",
		`{"input":[{"type":"item_reference","id":"x"}]}`:                                 "input[0].type",
		`{"input":[{"type":"function_call","name":"f"}]}`:                                "input[0]",
		`{"input":[{"type":"function_call_output","output":"x"}]}`:                       "input[0].call_id",
		`{"input":"a","previous_response_id":"resp_1"}`:                                  "previous_response_id",
		`{"input":"a","background":true}`:                                                "background",
		`{"input":"a","tools":[{"name":"f"}]}`:                                           "tools[0].type",
		`{"input":"a","text":{"format":{"type":"json_schema"}}}`:                         "text.format.schema",
		`{"input":"a","text":{"format":{"type":"xml"}}}`:                                 "text.format.type",
		`{"input":"a","tools":[{"type":"function"}]}`:                                    "tools[0].name",
		`{"input":"a","temperature":-1}`:                                                 "temperature",
		`{"input":"a","max_output_tokens":0}`:                                            "max_output_tokens",
	} {
		status, _, answer := r.call(http.MethodPost, "/v1/responses", body)
		if status != 400 || !strings.Contains(answer, `"param":"`+param+`"`) || strings.Contains(answer, "Go value") {
			t.Errorf("%s: %d %s, want 400 for %s", body, status, answer, param)
		}
	}
}

// The clients that obey the header do not repeat what would be refused again.
func TestAPI_RefusedForGood_SaysSo(t *testing.T) {
	r := newRig(t, nil)
	for path, want := range map[string]string{"/v1/chat/completions": "false", "/v1/completions": "false", "/v1/models": ""} {
		method := http.MethodPost
		if want == "" {
			method = http.MethodGet
		}
		if _, header, text := r.call(method, path, `{"n":-1}`); header.Get("X-Should-Retry") != want {
			t.Errorf("%s: %q, of %s", path, header.Get("X-Should-Retry"), text)
		}
	}
}
