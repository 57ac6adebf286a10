// SPDX-License-Identifier: MIT

package isolation

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/api"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// goodBodies are what the routes with a JSON body answer with a 200. Each wrong request differs
// from one of them in one field.
var goodBodies = map[string]string{
	"/v1/chat/completions":              `{"messages":[{"role":"user","content":"Hi"}],"max_tokens":1}`,
	"/chat/completions":                 `{"messages":[{"role":"user","content":"Hi"}],"max_tokens":1}`,
	"/v1/completions":                   `{"prompt":"Hi","max_tokens":1}`,
	"/v1/chat/completions/input_tokens": `{"messages":[{"role":"user","content":"Hi"}]}`,
	"/chat/completions/input_tokens":    `{"messages":[{"role":"user","content":"Hi"}]}`,
	"/v1/responses/input_tokens":        `{"input":"Hi"}`,
	"/responses/input_tokens":           `{"input":"Hi"}`,
	"/v1/responses":                     `{"input":"Hi","max_output_tokens":1}`,
	"/responses":                        `{"input":"Hi","max_output_tokens":1}`,
	"/completion":                       `{"prompt":"Hi","n_predict":1}`,
	"/completions":                      `{"prompt":"Hi","n_predict":1}`,
	"/infill":                           `{"input_prefix":"Hi","input_suffix":"Ho","n_predict":1}`,
	"/tokenize":                         `{"content":"Hi"}`,
	"/detokenize":                       `{"tokens":[300]}`,
	"/apply-template":                   `{"messages":[{"role":"user","content":"Hi"}]}`,
	"/v1/embeddings":                    `{"input":"Hi"}`,
	"/embedding":                        `{"content":"Hi"}`,
	"/embeddings":                       `{"content":"Hi"}`,
	"/rerank":                           `{"query":"Hi","documents":["Ho"]}`,
	"/reranking":                        `{"query":"Hi","documents":["Ho"]}`,
	"/v1/rerank":                        `{"query":"Hi","documents":["Ho"]}`,
	"/v1/reranking":                     `{"query":"Hi","documents":["Ho"]}`,

	"/v1/messages":              `{"messages":[{"role":"user","content":"Hi"}],"max_tokens":1}`,
	"/v1/messages/count_tokens": `{"messages":[{"role":"user","content":"Hi"}]}`,
	"/api/chat":                 `{"messages":[{"role":"user","content":"Hi"}],"options":{"num_predict":1},"stream":false}`,
	"/api/generate":             `{"prompt":"Hi","options":{"num_predict":1},"stream":false}`,
	"/api/embed":                `{"model":"penstock-tiny","input":"Hi"}`,
	"/api/embeddings":           `{"model":"penstock-tiny","prompt":"Hi"}`,
	"/api/show":                 `{"model":"penstock-tiny"}`,
	"/v1/scripts/check":         `{"source":"export function sample(c) { c.keep(1) }"}`,
	"/v1/watermark/detect":      `{"input":"Hi","key":"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"}`,
}

// wrongTypes are values that a field of a type does not take.
var wrongTypes = map[string][]string{
	"text":          {`5`, `{"a":1}`},
	"integer":       {`"x"`, `1.5`, `1e99`},
	"number":        {`"x"`, `[1]`},
	"true or false": {`"x"`, `3`},
	"list":          {`{"a":1}`, `7`},
	"object":        {`[1]`, `7`},
}

// wrongValues are values that a field does not take on any route that has it.
var wrongValues = map[string][]string{
	"temperature":               {`-1`},
	"top_p":                     {`-0.1`, `1.5`},
	"min_p":                     {`-0.1`, `1.5`},
	"typical_p":                 {`-0.1`, `1.5`},
	"xtc_probability":           {`-1`, `2`},
	"mirostat":                  {`3`, `-1`},
	"samplers":                  {`["nope"]`, `["plugin:nope"]`, `[5]`},
	"logit_bias":                {`"x"`, `{"a b c":"x"}`, `[[1]]`, `[[99999999,1]]`, `[[5.5,1]]`},
	"n":                         {`0`, `-1`, `129`},
	"stop":                      {`5`, `{"a":1}`, `[""]`, `[5]`},
	"max_tokens":                {`-2`},
	"max_completion_tokens":     {`-2`},
	"n_predict":                 {`-3`},
	"max_output_tokens":         {`0`, `-1`},
	"priority":                  {`101`, `1`},
	"timeout_ms":                {`0`, `-1`},
	"plugins":                   {`"x"`, `[5]`, `["nope"]`, `[{"name":"nope"}]`, `[{"nom":"x"}]`, `["a","a"]`},
	"grammar":                   {`"root ::= ("`, `"a ::= \"b\""`, `"root ::= root"`},
	"top_logprobs":              {`21`, `-1`},
	"n_probs":                   {`-1`},
	"functions":                 {`[{"name":"f"}]`},
	"messages":                  {`[]`, `[5]`, `[{"role":"king","content":"x"}]`, `[{"role":"user"}]`, `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]`},
	"prompt":                    {`null`, `{"a":1}`, `[]`, `[99999999]`, `[-1]`, `[[1,[2]]]`, `[5.5]`, `[1,null]`},
	"input":                     {`null`, `5`, `[{"role":"user"},5]`},
	"content":                   {`null`},
	"tokens":                    {`["a"]`, `[99999999]`, `[5.5]`},
	"tools":                     {`[5]`, `[{"type":7}]`},
	"tool_choice":               {`"sometimes"`, `{"type":"function","function":{"name":"nope"},"name":"nope"}`},
	"previous_response_id":      {`"resp_1"`},
	"background":                {`true`},
	"echo":                      {`"x"`},
	"structured_outputs":        {`5`, `{"choice":[]}`, `{"regex":"["}`, `{"json":{"type":"nope"}}`, `{"json_object":true,"regex":"a"}`, `{"structural_tag":"{}"}`},
	"response_format":           {`5`, `{"type":"xml"}`, `{"type":"json_schema"}`, `{"type":"json_schema","json_schema":{"schema":{"type":"nope"}}}`},
	"json_schema":               {`5`, `{"type":"nope"}`, `{"$ref":"#/nowhere"}`},
	"property_order":            {`"sideways"`, `""`},
	"white_space":               {`"some"`},
	"regex":                     {`"("`, `"a{2,1}"`, `"\\1"`},
	"best_of":                   {`0`, `129`},
	"grammar_triggers":          {`5`, `[5]`, `[{"type":9}]`, `[{"type":0,"token":-1}]`, `[{"type":1,"value":""}]`},
	"thinking_budget_tokens":    {`-2`, `3000000000`},
	"thinking_token_budget":     {`-2`, `3000000000`},
	"banned_strings":            {`5`, `[5]`, `"unknown"`},
	"banned_regex":              {`"("`, `{"a":1}`},
	"repetition_detection":      {`5`, `{"max_pattern_size":9,"min_count":1}`},
	"reasoning_budget_tokens":   {`-2`, `3000000000`},
	"reasoning_budget_end_tags": {`5`, `[""]`, `[5]`},
	"reasoning_format":          {`"nope"`},
	"dry_base":                  {`-1`},
	"suffix":                    {`5`},
	"continue_final_message":    {`"sometimes"`},
	"encoding_format":           {`"hex"`, `5`},
	"dimensions":                {`0`, `-1`, `99999`},
	"embd_normalize":            {`-2`, `65`},
	"query":                     {`null`, `5`},
	"documents":                 {`[]`, `[5]`, `[null]`, `[{"texts":"x"}]`},
	"top_n":                     {`-1`},
}

// lenient are fields whose values llama-server takes from any range: its own routes do so too.
var lenient = []string{"temperature", "top_p", "min_p", "typical_p", "xtc_probability", "mirostat", "dry_base", "n_probs"}

// unanswered are routes that take the body of an answer and give none.
var unanswered = map[string]bool{"/v1/chat/completions/input_tokens": true, "/chat/completions/input_tokens": true, "/v1/responses/input_tokens": true, "/responses/input_tokens": true, "/apply-template": true, "/v1/messages/count_tokens": true}

// ofAnswers are fields whose values matter to an answer only.
var ofAnswers = []string{"grammar", "regex", "json_schema", "response_format", "structured_outputs", "max_tokens"}

// loads are values that Ollama's routes take: they ask for nothing but to load the model, or for
// no fewer dimensions than there are.
var loads = map[string][]string{"messages": {`[]`, `[{"role":"user"}]`}, "prompt": {`null`}, "input": {`null`}, "dimensions": {`0`, `99999`}}

// onAll are bodies that no route takes.
var onAll = []string{``, `{`, `null`, `[]`, `5`, `"x"`, `{"a":}`, "\x00", strings.Repeat(`[`, 100_000)}

// badRequests are wrong requests with the field that the refusal must name; "": none.
func badRequests(t *testing.T) (cases []badRequest) {
	t.Helper()
	for _, d := range api.Dialects() {
		for _, r := range d.Routes {
			fields := wire.Fields(r.Body)
			if len(fields) == 0 || r.Method != http.MethodPost || strings.Contains(r.Path, ":") || r.TakesForm() { // see TestAPI_Transcription_WrongFields
				continue
			}
			good, ok := goodBodies[r.Path]
			if !ok {
				t.Errorf("goodBodies has none for %s", r.Path)
				continue
			}
			for _, body := range onAll {
				cases = append(cases, badRequest{d.Name, r.Path, body, ""})
			}
			for _, f := range fields {
				values := wrongValues[f.Name]
				if d.Name == "llama-server" && slices.Contains(lenient, f.Name) || r.Path == "/infill" {
					values = nil
				}
				for _, value := range slices.Concat(wrongTypes[f.Type], values) {
					if f.Refused && !completion.IsSet(json.RawMessage(value)) || unanswered[r.Path] && slices.Contains(ofAnswers, f.Name) ||
						d.Name == "Ollama" && slices.Contains(loads[f.Name], value) {
						continue
					}
					cases = append(cases, badRequest{d.Name, r.Path, with(t, good, f.Name, value), f.Name})
				}
			}
		}
	}
	return cases
}

type badRequest struct{ dialect, path, body, field string }

// with is a body with another value of a field.
func with(t *testing.T, body, field, value string) string {
	t.Helper()
	var fields map[string]json.RawMessage
	must.Do(t, json.Unmarshal([]byte(body), &fields))
	fields[field] = json.RawMessage(value)
	if field == "top_logprobs" {
		fields["logprobs"] = json.RawMessage(`true`)
	}
	var b strings.Builder
	for i, name := range slices.Sorted(maps.Keys(fields)) {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", name, fields[name])
	}
	return "{" + b.String() + "}"
}

// Every wrong request is refused with a 4xx in its API's shape that names the field, and changes
// no later answer.
func TestHost_BadRequests(t *testing.T) {
	h := hosts.OpenWithPlugins(t, map[string]any{"rerank.model": hosts.SmallModel(t, "reranker")}, nil)
	const greedy = `{"prompt":"Once upon a time","max_tokens":8,"temperature":0,"cache_prompt":false}`
	_, want := textOf(t, h, greedy)
	cases := badRequests(t)
	for path, body := range goodBodies {
		want := 200
		if path == "/infill" {
			want = 501 // the built-in model has no tokens for that; what is wrong with a body counts first
		}
		if status, answer := hosts.Post(t, h.URL()+path, body); status != want {
			t.Errorf("%s %s: %d %s", path, body, status, answer)
		}
	}
	for i, c := range cases {
		status, answer := hosts.Post(t, h.URL()+c.path, c.body)
		if status < 400 || status > 499 || !strings.Contains(answer, c.field) {
			t.Errorf("%s %.200s: %d %.300s", c.path, c.body, status, answer)
			continue
		}
		checkShape(t, c, answer)
		if i%50 == 0 || i == len(cases)-1 {
			if _, got := textOf(t, h, greedy); got != want {
				t.Fatalf("after %s %.200s the answer is %q, before it was %q", c.path, c.body, got, want)
			}
		}
	}
	if len(cases) < 300 {
		t.Errorf("%d wrong requests", len(cases))
	}
	t.Logf("%d wrong requests", len(cases))
}

func textOf(t *testing.T, h *host.Host, body string) (status int, text string) {
	t.Helper()
	status, answer := hosts.Post(t, h.URL()+"/v1/completions", body)
	var a struct{ Choices []struct{ Text string } }
	if err := json.Unmarshal([]byte(answer), &a); err != nil || len(a.Choices) != 1 {
		t.Fatal(status, answer)
	}
	return status, a.Choices[0].Text
}

// checkShape checks that an error has the shape of its API.
func checkShape(t *testing.T, c badRequest, answer string) {
	t.Helper()
	var e struct {
		Type  string
		Error json.RawMessage
	}
	if err := json.Unmarshal([]byte(answer), &e); err != nil {
		t.Errorf("%s: %v: %.200s", c.path, err, answer)
		return
	}
	var text string
	if c.dialect == "Ollama" {
		if json.Unmarshal(e.Error, &text) != nil || text == "" {
			t.Errorf("%s: not Ollama's shape: %.200s", c.path, answer)
		}
		return
	}
	var o struct {
		Message, Type string
		Code          json.RawMessage
	}
	if json.Unmarshal(e.Error, &o) != nil || o.Message == "" || o.Type == "" || c.dialect == "Anthropic" != (e.Type == "error") {
		t.Errorf("%s: not the shape of %s: %.200s", c.path, c.dialect, answer)
	}
}
