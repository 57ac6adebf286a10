// SPDX-License-Identifier: MIT

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// description is docs/openapi.yaml, to which requests and answers are held.
type description struct {
	*testing.T
	doc    *openapi3.T
	router routers.Router
	called map[*openapi3.Operation]bool
}

func newDescription(t *testing.T, url string) *description {
	t.Helper()
	doc := must.Get(openapi3.NewLoader().LoadFromFile("../../docs/openapi.yaml"))(t)
	doc.Servers = openapi3.Servers{{URL: url}}
	router := must.Get(legacy.NewRouter(doc))(t)
	return &description{t, doc, router, map[*openapi3.Operation]bool{}}
}

// call makes a request and checks that it, if it is answered, and its answer are as described. It
// returns the answer's body.
func (d *description) call(want int, r *http.Request) string {
	d.Helper()
	route, params, err := d.router.FindRoute(r)
	if err != nil {
		d.Fatalf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	d.called[route.Operation] = true
	body, err := io.ReadAll(r.Body)
	if err != nil {
		d.Fatal(err)
	}
	options := &openapi3filter.Options{IncludeResponseStatus: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}
	input := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route, Options: options}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if err := openapi3filter.ValidateRequest(context.Background(), input); err != nil && want < 300 && len(body) < 1<<16 && r.Header.Get("Content-Type") == "application/json" {
		d.Errorf("%s %s %s: the request is not as described: %v", r.Method, r.URL.Path, body, err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		d.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		d.Fatal(err)
	}
	if answer.StatusCode != want {
		d.Errorf("%s %s %s: %s %s, want %d", r.Method, r.URL.Path, body, answer.Status, text, want)
	}
	output := &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: answer.StatusCode, Header: answer.Header, Options: options}
	output.SetBodyBytes(text)
	if err := openapi3filter.ValidateResponse(context.Background(), output); err != nil && !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		d.Errorf("%s %s %s: the answer is not as described: %v\n%s", r.Method, r.URL.Path, body, err, text)
	}
	return string(text)
}

// frames checks each frame of a stream against a schema.
func (d *description) frames(schema, stream string) {
	d.Helper()
	n := 0
	for line := range strings.Lines(stream) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || strings.HasPrefix(data, "[DONE]") {
			continue
		}
		n++
		var value any
		if err := json.Unmarshal([]byte(data), &value); err != nil {
			d.Fatal(err)
		}
		if err := d.doc.Components.Schemas[schema].Value.VisitJSON(value, openapi3.EnableJSONSchema2020()); err != nil {
			d.Errorf("%s: %v\n%s", schema, err, data)
		}
	}
	if n < 3 {
		d.Errorf("%d frames in %s", n, stream)
	}
}

const shortAsk = `{` + hosts.Frog + `,"max_tokens":5`

const watermarkKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

// calls are representative: each route with a body, as clients send it, and wrong in one way at
// least.
var calls = []struct {
	method, path, body string
	want               int
}{
	{"POST", "/v1/chat/completions", shortAsk + `,"logprobs":true,"top_logprobs":2,"n":2,"seed":1,"stop":["x"],"logit_bias":{"5":-1},"user":"me"}`, 200},
	{"POST", "/chat/completions", shortAsk + `,"grammar":"root ::= \"yes\"","temperature":null}`, 200},
	{"POST", "/v1/chat/completions", `{"messages":[]}`, 400},
	{"POST", "/v1/chat/completions", shortAsk + `,"temperature":-1}`, 400},
	{"POST", "/v1/chat/completions", `{`, 400},
	{"POST", "/v1/completions", `{"prompt":["Once","Long"],"max_tokens":3,"logprobs":2}`, 200},
	{"POST", "/v1/completions", `{"prompt":"Once","max_tokens":3,"echo":true,"record":true}`, 200},
	{"GET", "/.well-known/penstock-receipts", "", 404}, {"GET", "/v1/recordings", "", 200}, {"GET", "/v1/recordings/none", "", 404}, {"DELETE", "/v1/recordings/none", "", 404},
	{"POST", "/v1/chat/completions", shortAsk + `,"response_format":{"type":"json_object"}}`, 200},
	{"POST", "/v1/completions", `{}`, 400},
	{"POST", "/v1/embeddings", `{"input":["a","b c"]}`, 200}, {"POST", "/v1/embeddings", `{"input":"a","encoding_format":"base64"}`, 200},
	{"POST", "/v1/audio/transcriptions", `{}`, 400}, {"POST", "/audio/transcriptions", ``, 400},
	{"POST", "/v1/embeddings", `{"input":{}}`, 400}, {"POST", "/embedding", `{"content":"a"}`, 200}, {"POST", "/embeddings", `{"content":["a","b"]}`, 200},
	{"POST", "/rerank", `{"query":"a","documents":["b"]}`, 501}, {"POST", "/reranking", `{"query":"a"}`, 400}, {"POST", "/v1/rerank", `{}`, 400}, {"POST", "/v1/reranking", `{}`, 400},
	{"POST", "/v1/responses", `{"input":"Tell me a story about a frog.","max_output_tokens":20}`, 200},
	{"POST", "/responses", `{"input":[{"role":"user","content":"Hello"}],"instructions":"Be brief.","max_output_tokens":20}`, 200},
	{"POST", "/v1/responses", `{"input":3}`, 400},
	{"POST", "/v1/responses/input_tokens", `{"input":"Hello"}`, 200}, {"POST", "/responses/input_tokens", `{"input":"Hello"}`, 200},
	{"POST", "/v1/chat/completions/input_tokens", `{` + hosts.Frog + `}`, 200}, {"POST", "/v1/chat/completions/input_tokens?digests=true", `{` + hosts.Frog + `}`, 200},
	{"POST", "/v1/chat/completions/input_tokens?digests=all", `{` + hosts.Frog + `}`, 400}, {"POST", "/chat/completions/input_tokens", `{}`, 400},
	{"POST", "/v1/messages", shortAsk + `,"stop_sequences":["x"]}`, 200},
	{"POST", "/v1/messages", `{"messages":[]}`, 400},
	{"POST", "/v1/messages/count_tokens", `{` + hosts.Frog + `}`, 200},
	{"POST", "/api/chat", `{"model":"penstock-tiny",` + hosts.Frog + `,"stream":false,"options":{"num_predict":3}}`, 200},
	{"POST", "/api/chat", `{"model":"penstock-tiny","messages":3}`, 400},
	{"POST", "/api/generate", `{"model":"penstock-tiny","prompt":"Once","stream":false,"options":{"num_predict":3}}`, 200},
	{"POST", "/api/embed", `{"input":["Once","Long ago"],"dimensions":8}`, 200}, {"POST", "/api/embed", `{"input":{}}`, 400},
	{"POST", "/api/embeddings", `{"prompt":"Once"}`, 200},
	{"POST", "/api/show", `{"model":"penstock-tiny"}`, 200},
	{"GET", "/api/tags", "", 200}, {"GET", "/api/ps", "", 200}, {"GET", "/api/version", "", 200},
	{"POST", "/completion", `{"prompt":"Once","n_predict":3,"n_probs":2,"return_tokens":true}`, 200},
	{"POST", "/completions", `{"prompt":"Once","n_predict":2}`, 200},
	{"POST", "/completion", `{"prompt":["Once",5],"n_predict":1,"stop":["x"]}`, 200},
	{"POST", "/completion", `{"prompt":"Once","n_predict":"many"}`, 400},
	{"POST", "/tokenize", `{"content":"Once upon"}`, 200},
	{"POST", "/tokenize", `{"content":"Once ✓","with_pieces":true}`, 200},
	{"POST", "/tokenize", `{"content":3}`, 400},
	{"POST", "/detokenize", `{"tokens":[5,6]}`, 200},
	{"POST", "/detokenize", `{"tokens":[-1]}`, 400},
	{"POST", "/apply-template", `{` + hosts.Frog + `}`, 200},
	{"POST", "/infill", `{"input_prefix":"a","input_suffix":"b","n_predict":1}`, 501}, {"POST", "/props", `{}`, 501},
	{"GET", "/props", "", 200}, {"GET", "/slots", "", 200}, {"POST", "/slots/0?action=erase", "", 200}, {"POST", "/slots/0?action=save", `{"filename":"none"}`, 400}, {"POST", "/slots/0?action=restore", `{"filename":"none"}`, 400}, {"GET", "/lora-adapters", "", 200}, {"POST", "/lora-adapters", `[{"id":7,"scale":1}]`, 400},
	{"GET", "/v1/models", "", 200}, {"GET", "/models", "", 200}, {"GET", "/v1/models/penstock-tiny", "", 200}, {"GET", "/v1/models/other", "", 404},
	{"POST", "/models/load", `{"model":"penstock-tiny"}`, 200}, {"POST", "/models/load", `{}`, 400}, {"POST", "/models/unload", `{"model":"penstock-tiny"}`, 409},
	{"POST", "/api/pull", `{"model":"penstock-tiny","stream":false}`, 200}, {"POST", "/api/pull", `{}`, 400},
	{"DELETE", "/api/delete", `{"model":"none"}`, 404}, {"DELETE", "/api/delete", `{}`, 400},
	{"GET", "/v1/load", "", 200}, {"GET", "/v1/load?digests=3", "", 200}, {"GET", "/v1/load?digests=many", "", 400},
	{"GET", "/v1/plugins", "", 200}, {"GET", "/v1/plugins/nothing", "", 404}, {"DELETE", "/v1/plugins/nothing", "", 404}, {"POST", "/v1/plugins/nothing/reset", "", 404},
	{"POST", "/v1/plugins", "no module", 415}, {"GET", "/v1/plugins/script/source", "", 404},
	{"POST", "/v1/scripts/check", `{"source":"export function sample(c) {}","config":{"a":1}}`, 200}, {"POST", "/v1/scripts/check", `{"source":"export {"}`, 200}, {"POST", "/v1/scripts/check", `{}`, 400},
	{"GET", "/v1/scripts/penstock.d.ts", "", 200},
	{"POST", "/v1/watermark/detect", `{"input":"Once","key":"` + watermarkKey + `"}`, 200}, {"POST", "/v1/watermark/detect", `{"input":[5,6],"scheme":"green","gamma":0.5,"context":1,"key":"` + watermarkKey + `"}`, 200},
	{"POST", "/v1/watermark/detect", `{"input":"Once"}`, 400},
	{"POST", "/v1/completions", `{"prompt":"Once","max_tokens":3,"plugins":[{"script":"export {"}]}`, 400},
	{"POST", "/v1/modules", "no module", 415}, {"GET", "/v1/modules", "", 200}, {"GET", "/v1/modules/none", "", 404}, {"DELETE", "/v1/modules/none", "", 404},
	{"GET", "/v1/adapters", "", 200}, {"POST", "/v1/adapters", `{"name":"nothing"}`, 404}, {"DELETE", "/v1/adapters/nothing", "", 404},
	{"GET", "/v1/log-level", "", 404}, {"GET", "/livez", "", 200}, {"GET", "/readyz", "", 200}, {"GET", "/health", "", 200}, {"GET", "/v1/health", "", 200},
	{"GET", "/metrics", "", 200}, {"GET", "/debug/pprof/", "", 200}, {"GET", "/debug/pprof/heap", "", 200}, {"GET", "/debug/pprof/cmdline", "", 200},
}

// What the server takes and answers is what docs/openapi.yaml describes.
func TestHost_OpenAPI_AnswersAreAsDescribed(t *testing.T) {
	h := hosts.OpenWithPlugins(t, map[string]any{"server.admin_key": "secret", "plugins.modules": "on", "scheduler.slot_save_path": t.TempDir()}, nil)
	d := newDescription(t, h.URL())
	d.call(201, hosts.NewRequest(t, http.MethodPost, h.URL()+"/v1/modules", hosts.Always("always", 300), "Content-Type", "application/wasm"))
	for _, c := range calls {
		d.call(c.want, hosts.NewRequest(t, c.method, h.URL()+c.path, []byte(c.body), "Content-Type", "application/json", "Authorization", "Bearer secret"))
	}
	for schema, request := range map[string][2]string{
		"chatChunk":        {"/v1/chat/completions", shortAsk + `,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true},"logprobs":true}`},
		"textAnswer":       {"/v1/completions", `{"prompt":"Once","max_tokens":5,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true},"logprobs":1}`},
		"completionAnswer": {"/completion", `{"prompt":"Once","n_predict":5,"ignore_eos":true,"stream":true,"n_probs":1}`},
	} {
		d.frames(schema, d.call(200, hosts.NewRequest(t, http.MethodPost, h.URL()+request[0], []byte(request[1]), "Content-Type", "application/json")))
	}
	for path, item := range d.doc.Paths.Map() {
		for method, operation := range item.Operations() {
			if !d.called[operation] && !slices.Contains(uncalled, method+" "+path) {
				t.Errorf("no call is made of %s %s", method, path)
			}
		}
	}
}

// uncalled are operations that this test leaves out: the WebSocket has tests of its own, profiles
// take long, and the level of the log is not the host's in tests.
var uncalled = []string{
	"GET /v1/ws", "GET /debug/pprof/profile", "GET /debug/pprof/trace", "GET /debug/pprof/symbol", "PUT /v1/log-level",
}

// A key that is missing is refused in the shape of each API.
func TestHost_OpenAPI_RefusalsAreAsDescribed(t *testing.T) {
	h := hosts.Open(t, map[string]any{"server.api_keys": "key", "server.rate_limit_requests": "1"})
	hosts.Run(t, h)
	d := newDescription(t, h.URL())
	for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/chat", "/completion", "/tokenize"} {
		d.call(401, hosts.NewRequest(t, http.MethodPost, h.URL()+path, []byte("{}"), "Content-Type", "application/json"))
	}
	d.call(200, hosts.NewRequest(t, http.MethodPost, h.URL()+"/tokenize", []byte(`{"content":"a"}`), "Content-Type", "application/json", "X-Api-Key", "key"))
	for _, path := range []string{"/v1/chat/completions", "/v1/messages", "/api/chat"} {
		d.call(429, hosts.NewRequest(t, http.MethodPost, h.URL()+path, []byte("{}"), "Content-Type", "application/json", "X-Api-Key", "key"))
	}
}
