// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/grammar/grammartest"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

const completeSchema = `{"type":"object","additionalProperties":false,"required":["name","colours"],"properties":{
	"name":{"type":"string","minLength":3},"colours":{"type":"array","items":{"type":"string"},"minItems":2},"notes":{"type":"string"}}}`

// completeAsked are requests of all dialects for an answer that fits the schema, with so many
// tokens, and where their answers stand.
var completeAsked = map[string]struct {
	body   func(tokens int) string
	answer func(t *testing.T, body string) string
}{
	"/v1/chat/completions": {func(n int) string {
		return fmt.Sprintf(`{"messages":[{"role":"user","content":"A cat"}],"max_tokens":%d,"complete":true,"seed":%d,
			"response_format":{"type":"json_schema","json_schema":{"name":"cat","schema":%s}}}`, n, n, completeSchema)
	}, func(t *testing.T, body string) string {
		var a struct {
			Choices []struct {
				Message      struct{ Content string }
				FinishReason string `json:"finish_reason"`
			}
		}
		read(t, body, &a)
		if a.Choices[0].FinishReason != "stop" {
			t.Errorf("it ends with %s", a.Choices[0].FinishReason)
		}
		return a.Choices[0].Message.Content
	}},
	"/v1/completions": {func(n int) string {
		return fmt.Sprintf(`{"prompt":"A cat","max_tokens":%d,"complete":true,"json_schema":%s}`, n, completeSchema)
	}, func(t *testing.T, body string) string {
		var a struct{ Choices []struct{ Text string } }
		read(t, body, &a)
		return a.Choices[0].Text
	}},
	"/completion": {func(n int) string {
		return fmt.Sprintf(`{"prompt":"A cat","n_predict":%d,"complete":true,"json_schema":%s}`, n, completeSchema)
	}, func(t *testing.T, body string) string {
		var a struct{ Content string }
		read(t, body, &a)
		return a.Content
	}},
	"/v1/responses": {func(n int) string {
		return fmt.Sprintf(`{"input":"A cat","max_output_tokens":%d,"complete":true,"text":{"format":{"type":"json_schema","name":"cat","schema":%s}}}`, n, completeSchema)
	}, func(t *testing.T, body string) string {
		var a struct {
			Output []struct{ Content []struct{ Text string } }
		}
		read(t, body, &a)
		return a.Output[0].Content[0].Text
	}},
	"/v1/messages": {func(n int) string {
		return fmt.Sprintf(`{"messages":[{"role":"user","content":"A cat"}],"max_tokens":%d,"complete":true,"json_schema":%s}`, n, completeSchema)
	}, func(t *testing.T, body string) string {
		var a struct{ Content []struct{ Text string } }
		read(t, body, &a)
		return a.Content[0].Text
	}},
	"/api/chat": {func(n int) string {
		return fmt.Sprintf(`{"messages":[{"role":"user","content":"A cat"}],"stream":false,"complete":true,"options":{"num_predict":%d},"format":%s}`, n, completeSchema)
	}, func(t *testing.T, body string) string {
		var a struct{ Message struct{ Content string } }
		read(t, body, &a)
		return a.Message.Content
	}},
}

func read(t *testing.T, body string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), into); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
}

// In every dialect an answer that is to be complete is, with any number of tokens from the one on
// that the refusal of fewer tells.
func TestHost_Complete_EveryDialect(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	for path, asked := range completeAsked {
		status, text := hosts.Post(t, h.URL()+path, asked.body(2))
		at := strings.Index(text, "takes up to ")
		if status != 400 || at < 0 || !strings.Contains(text, "complete") {
			t.Errorf("%s: %d %s, want 400", path, status, text)
			continue
		}
		least := 0
		must.Get(fmt.Sscanf(text[at:], "takes up to %d tokens", &least))(t)
		for _, tokens := range []int{least, least + 1, least + 7, least + 40} {
			status, text := hosts.Post(t, h.URL()+path, asked.body(tokens))
			if status != 200 {
				t.Errorf("%s, %d tokens: %d %s", path, tokens, status, text)
				continue
			}
			if err := grammartest.Fits([]byte(completeSchema), asked.answer(t, text)); err != nil {
				t.Errorf("%s, %d tokens: %v", path, tokens, err)
			}
		}
	}
}

// Over the WebSocket, at the context's end and with several choices too.
func TestSocket_Complete(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	c := hosts.Dial(t, h)
	for id, more := range map[string]string{"plain": `"max_tokens":60`, "no limit but the context": `"ignore_eos":true`} {
		c.Send(fmt.Sprintf(`{"type":"generate","id":%q,"parts":true,"request":{"messages":[{"role":"user","content":"A cat"}],"complete":true,%s,"json_schema":%s}}`, id, more, completeSchema))
		var text strings.Builder
		for ended := false; !ended; {
			_, data := must.Both(c.Conn.Read(c.T.Context()))(t)
			var f struct {
				Type, Content string
				Reset         bool
			}
			read(t, string(data), &f)
			switch f.Type {
			case "parts": // the model may put its JSON into a fence, which is no part of the content
				if f.Reset {
					text.Reset()
				}
				text.WriteString(f.Content)
			case "error":
				t.Fatalf("%s: %s", id, data)
			case "end":
				ended = true
			}
		}
		if err := grammartest.Fits([]byte(completeSchema), text.String()); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	status, body := hosts.Post(t, h.URL()+"/v1/chat/completions", strings.Replace(completeAsked["/v1/chat/completions"].body(50), `"seed"`, `"n":3,"seed"`, 1))
	var a struct {
		Choices []struct{ Message struct{ Content string } }
	}
	read(t, body, &a)
	if status != 200 || len(a.Choices) != 3 {
		t.Fatalf("%d %s", status, body)
	}
	for _, choice := range a.Choices {
		if err := grammartest.Fits([]byte(completeSchema), choice.Message.Content); err != nil {
			t.Error(err)
		}
	}
}
