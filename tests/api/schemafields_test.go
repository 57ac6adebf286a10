// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// schemaDialect is a way to ask for JSON that fits a schema.
type schemaDialect struct {
	path, body string // with %s in the place of the schema and, at its end, of other fields
	field      string // that has the schema, as errors name it
	text       string // where the answer stands in the response, as names and indices
}

const schemaHello = `"messages":[{"role":"user","content":"Hi"}],"max_tokens":64,"temperature":0`

var schemaDialects = map[string]schemaDialect{
	"OpenAI's response_format": {"/v1/chat/completions", `{` + schemaHello + `,"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":%s}}%s}`,
		"response_format.json_schema.schema", "choices 0 message content"},
	"vLLM's structured_outputs": {"/v1/chat/completions", `{` + schemaHello + `,"structured_outputs":{"json":%s}%s}`, "structured_outputs.json", "choices 0 message content"},
	"llama-server's json_object with a schema": {"/v1/chat/completions", `{` + schemaHello + `,"response_format":{"type":"json_object","schema":%s}%s}`,
		"response_format.schema", "choices 0 message content"},
	"json_schema of a chat":         {"/v1/chat/completions", `{` + schemaHello + `,"json_schema":%s%s}`, "json_schema", "choices 0 message content"},
	"json_schema of /completion":    {"/completion", `{"prompt":"Hi","n_predict":64,"temperature":0,"json_schema":%s%s}`, "json_schema", "content"},
	"response_format of a text":     {"/v1/completions", `{"prompt":"Hi","max_tokens":64,"temperature":0,"response_format":{"type":"json_schema","json_schema":{"schema":%s}}%s}`, "response_format.json_schema.schema", "choices 0 text"},
	"the Responses API's format":    {"/v1/responses", `{"input":"Hi","max_output_tokens":64,"temperature":0,"text":{"format":{"type":"json_schema","name":"a","schema":%s}}%s}`, "text.format.schema", "output 0 content 0 text"},
	"Anthropic's output format":     {"/v1/messages", `{` + schemaHello + `,"output_config":{"format":{"type":"json_schema","schema":%s}}%s}`, "output_config.format.schema", "content 0 text"},
	"Ollama's format of a chat":     {"/api/chat", `{"messages":[{"role":"user","content":"Hi"}],"stream":false,"options":{"temperature":0,"num_predict":64},"format":%s%s}`, "format", "message content"},
	"Ollama's format of a generate": {"/api/generate", `{"prompt":"Hi","stream":false,"options":{"temperature":0,"num_predict":64},"format":%s%s}`, "format", "response"},
}

// ask returns the status, the headers, and the answer's text or the body of an error.
func (d schemaDialect) ask(t *testing.T, h *host.Host, schema, more string) (int, http.Header, string) {
	t.Helper()
	body := fmt.Sprintf(d.body, schema, more)
	status, header, answer := hosts.Send(t, http.DefaultClient, hosts.NewRequest(t, http.MethodPost, h.URL()+d.path, []byte(body), "Content-Type", "application/json"))
	if status != http.StatusOK {
		return status, header, answer
	}
	var at any
	must.Do(t, json.Unmarshal([]byte(answer), &at))
	for _, step := range strings.Fields(d.text) {
		switch v := at.(type) {
		case map[string]any:
			at = v[step]
		case []any:
			at = v[0]
		}
	}
	text, _ := at.(string)
	return status, header, text
}

// eachDialect asks in all dialects, one after the other.
func eachDialect(t *testing.T, h *host.Host, schema, more string, check func(name string, d schemaDialect, status int, header http.Header, text string)) {
	t.Helper()
	for name, d := range schemaDialects {
		status, header, text := d.ask(t, h, schema, more)
		check(name, d, status, header, text)
	}
}

// members is a schema of which one text fits, if its members come in its order, others do not, and
// white space neither.
const members = `{"type":"object","properties":{"b":{"const":1},"a":{"const":"x"},"c":{"const":[null]}},"required":["a","b","c"]}`

// The fields that say how a schema is read count in every dialect.
func TestHost_SchemaFields_CountInEveryDialect(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	eachDialect(t, h, members, `,"additional_properties":false,"white_space":"compact"`, func(name string, _ schemaDialect, status int, _ http.Header, text string) {
		if want := `{"b":1,"a":"x","c":[null]}`; status != 200 || text != want {
			t.Errorf("%s: %d %s, want %s", name, status, text, want)
		}
	})
	backwards := `{"type":"object","properties":{"b":{"const":1}},"required":["a","b"],"patternProperties":{"^a$":{"const":2}},"additionalProperties":false}`
	eachDialect(t, h, backwards, `,"property_order":"schema","white_space":"compact"`, func(name string, _ schemaDialect, status int, _ http.Header, text string) {
		if want := `{"b":1,"a":2}`; status != 200 || text != want {
			t.Errorf("%s: %d %s, want %s", name, status, text, want)
		}
	})
	eachDialect(t, h, members, `,"property_order":"sideways"`, func(name string, _ schemaDialect, status int, _ http.Header, text string) {
		if status != 400 || !strings.Contains(text, "auto, schema or any") {
			t.Errorf("%s: %d %s, want 400 about property_order", name, status, text)
		}
	})
}

// The server's keys count where a request says nothing, and only there.
func TestHost_SchemaKeys_CountForRequestsThatSayNothing(t *testing.T) {
	h := hosts.Open(t, map[string]any{"schema.additional_properties": "false", "schema.white_space": "compact"})
	hosts.Run(t, h)
	d := schemaDialects["json_schema of a chat"]
	if status, _, text := d.ask(t, h, members, ""); status != 200 || text != `{"b":1,"a":"x","c":[null]}` {
		t.Errorf("%d %s, want the keys to count", status, text)
	}
	empty := `{"type":"object","properties":{"b":{"const":1}},"minProperties":3}`
	if status, _, text := d.ask(t, h, empty, ""); status != 400 || !strings.Contains(text, "nothing fits") {
		t.Errorf("%d %s, want 400, because no other members may come", status, text)
	}
	if status, _, text := d.ask(t, h, empty, `,"additional_properties":true`); status != 200 {
		t.Errorf("%d %s, want an answer with other members", status, text)
	}
}

// uniqueLists is a schema that cannot be enforced whole.
const uniqueLists = `{"type":"object","properties":{"é":{"type":"array","items":{"type":"object"},"uniqueItems":true,"maxItems":3}},"required":["é"],"additionalProperties":false}`

// What cannot be enforced is refused with the field, the place and a remedy, which helps: then a
// header names the place.
func TestHost_Strict_RefusesOrTells(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	eachDialect(t, h, uniqueLists, "", func(name string, d schemaDialect, status int, _ http.Header, text string) {
		for _, part := range []string{d.field + " cannot", "#/properties/é/uniqueItems", `\"strict\": false`} {
			if status != 400 || !strings.Contains(text, part) {
				t.Errorf("%s: %d %s, want 400 with %s", name, status, text, part)
			}
		}
	})
	eachDialect(t, h, uniqueLists, `,"strict":false`, func(name string, d schemaDialect, status int, header http.Header, text string) {
		told := header.Values("Penstock-Schema-Relaxed")
		if status != 200 || len(told) != 1 || !strings.HasPrefix(told[0], d.field+"#/properties/%C3%A9/uniqueItems: ") {
			t.Errorf("%s: %d %s, header %q", name, status, text, told)
		}
	})
	eachDialect(t, h, members, `,"strict":false`, func(name string, _ schemaDialect, status int, header http.Header, text string) {
		if told := header.Values("Penstock-Schema-Relaxed"); status != 200 || told != nil {
			t.Errorf("%s: %d %s, header %q, want none", name, status, text, told)
		}
	})
}

// OpenAI's own strict stands beside the schema, and counts more than ours.
func TestHost_Strict_OfOpenAI(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	ask := func(path, body string) (int, http.Header) {
		status, header, _ := hosts.Send(t, http.DefaultClient, hosts.NewRequest(t, http.MethodPost, h.URL()+path, []byte(body), "Content-Type", "application/json"))
		return status, header
	}
	for strict, want := range map[string]int{"true": 400, "null": 400, "false": 200} {
		chat := `{` + schemaHello + `,"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":` + strict + `,"schema":` + uniqueLists + `}}}`
		if status, header := ask("/v1/chat/completions", chat); status != want || (len(header["Penstock-Schema-Relaxed"]) == 1) != (want == 200) {
			t.Errorf("strict %s of a chat: %d %q", strict, status, header)
		}
		if status, header := ask("/v1/chat/completions", strings.Replace(chat, "{", `{"stream":true,`, 1)); status != want || (len(header["Penstock-Schema-Relaxed"]) == 1) != (want == 200) {
			t.Errorf("strict %s of a stream: %d %q", strict, status, header)
		}
		if status, _ := ask("/v1/responses", `{"input":"Hi","max_output_tokens":64,"text":{"format":{"type":"json_schema","name":"a","strict":`+strict+`,"schema":`+uniqueLists+`}}}`); status != want {
			t.Errorf("strict %s of a response: %d", strict, status)
		}
	}
	body := `{` + schemaHello + `,"strict":false,"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":` + uniqueLists + `}}}`
	if status, _ := ask("/v1/chat/completions", body); status != 400 {
		t.Errorf("strict beside the schema, and the other value at the top: %d", status)
	}
}

// Over the WebSocket the first frame tells what is not enforced.
func TestHost_Strict_OverTheSocket(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	c := hosts.Dial(t, h)
	c.Send(`{"type":"generate","id":"a","request":{"prompt":"Hi","max_tokens":8,"strict":false,"json_schema":` + uniqueLists + `}}`)
	_, data, err := c.Conn.Read(t.Context())
	var frame struct {
		Relaxed []string `json:"schema_relaxed"`
	}
	if err != nil || json.Unmarshal(data, &frame) != nil {
		t.Fatal(err, string(data))
	}
	if len(frame.Relaxed) != 1 || !strings.HasPrefix(frame.Relaxed[0], "json_schema#/properties/é/uniqueItems: ") {
		t.Errorf("%s, want the place of uniqueItems", data)
	}
}
