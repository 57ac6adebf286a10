// SPDX-License-Identifier: MIT

package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

// The shortest ways to ask for JSON are any object, or any value, in every dialect that has them.
func TestHost_Schemas_OfAnything(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	eachDialect(t, h, `{}`, "", func(name string, _ schemaDialect, status int, _ http.Header, text string) {
		if status != 200 || !strings.HasPrefix(text, "{") {
			t.Errorf("%s, {}: %d %s", name, status, text)
		}
	})
	eachDialect(t, h, `true`, "", func(name string, d schemaDialect, status int, _ http.Header, text string) {
		objectsOnly := strings.Contains(d.path, "/api/") || d.path == "/v1/messages" // by their own APIs
		if want := map[bool]int{true: 400, false: 200}[objectsOnly]; status != want {
			t.Errorf("%s, true: %d %s, want %d", name, status, text, want)
		}
	})
	for name, d := range map[string]schemaDialect{
		"json_object":           {"/v1/chat/completions", `{` + schemaHello + `,"response_format":{"type":"json_object"}%.0s%s}`, "", "choices 0 message content"},
		"json_object of a text": {"/v1/completions", `{"prompt":"Hi","temperature":0,"max_tokens":8,"response_format":{"type":"json_object"}%.0s%s}`, "", "choices 0 text"},
		"text.format":           {"/v1/responses", `{"input":"Hi","temperature":0,"max_output_tokens":16,"text":{"format":{"type":"json_object"}}%.0s%s}`, "", "output 0 content 0 text"},
		"Ollama's json":         {"/api/chat", `{"messages":[{"role":"user","content":"Hi"}],"stream":false,"options":{"temperature":0,"num_predict":8},"format":"json"%.0s%s}`, "", "message content"},
	} {
		if status, _, text := d.ask(t, h, "", `,"white_space":"compact"`); status != 200 || !strings.HasPrefix(text, `{`) || strings.ContainsAny(text[:2], " \n") {
			t.Errorf("%s: %d %q", name, status, text)
		}
	}
}
