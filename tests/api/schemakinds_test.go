// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/grammar/grammartest"
	"github.com/penstock/penstock/tests/hosts"
)

// asked is what a chat answers that must fit a schema, and how it ended.
func asked(t *testing.T, h *host.Host, schema string, seed, maxTokens int) (status int, text, finish string) {
	t.Helper()
	status, body := hosts.Post(t, h.URL()+"/v1/chat/completions", fmt.Sprintf(`{"messages":[{"role":"user","content":"Describe a cat as JSON."}],"max_tokens":%d,"seed":%d,"temperature":%d,
		"white_space":"compact","response_format":{"type":"json_schema","json_schema":{"name":"a","schema":%s}}}`, maxTokens, seed, seed%3, schema))
	var answer struct {
		Choices []struct {
			Message struct{ Content string }
			Finish  string `json:"finish_reason"`
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Choices) != 1 {
		return status, body, ""
	}
	return status, answer.Choices[0].Message.Content, answer.Choices[0].Finish
}

// An answer fits what another implementation takes the schema for, whatever the model would like
// to say: patterns hold for what a string means, bounds as they are written, and references
// wherever they lead.
func TestHost_Schemas_HoldForWhatIsMeant(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	member := func(of string) string {
		return `{"type":"object","properties":{"m":` + of + `},"required":["m"],"additionalProperties":false}`
	}
	for name, schema := range map[string]string{
		"digits":               member(`{"type":"string","pattern":"^\\d{3}:\\d{2}$"}`),
		"a quotation mark":     member(`{"type":"string","pattern":"^[0-9]{2}\" x [a-c]\"$"}`),
		"a backslash":          member(`{"type":"string","pattern":"^D:\\\\bar\\\\n$"}`),
		"a tab and a line end": member(`{"type":"string","pattern":"^\\t[xy]\\n$"}`),
		"letters beyond ASCII": member(`{"type":"string","pattern":"^[öß]{2}\\p{Lu}é{2}$"}`),
		"any case":             member(`{"type":"string","pattern":"^(?i)cat/dog$"}`),
		"a slash":              member(`{"type":"string","pattern":"^a\\/[bc]{2}$"}`),
		"any characters":       member(`{"type":"string","pattern":"^.{3,5}$"}`),
		"pattern and length":   member(`{"type":"string","pattern":"^[a-z]+$","minLength":2,"maxLength":4}`),
		"pattern and format":   member(`{"type":"string","format":"date","pattern":"^2031-0"}`),
		"integers of 100 bits": member(`{"type":"integer","minimum":-1e30,"maximum":1e30}`),
		"integers of doubles":  member(`{"type":"integer","minimum":9007199254740993,"maximum":9223372036854776000}`),
		"a narrow fraction":    member(`{"type":"number","minimum":0.25,"exclusiveMaximum":0.5,"multipleOf":0.0625}`),
		"items by their place": `{"type":"array","prefixItems":[{"type":"boolean"},{"const":"b"}],"items":{"enum":[1,2]},"minItems":4,"maxItems":4}`,
		"a name with escapes":  `{"$defs":{"c d/e~":{"type":"boolean"}},"type":"object","properties":{"m":{"$ref":"#/$defs/c%20d~1e~0"}},"required":["m"],"additionalProperties":false}`,
		"the root again": `{"type":"object","properties":{"v":{"type":"boolean"},"next":{"type":"array","items":{"$ref":"#"},"maxItems":1}},
			"required":["v","next"],"additionalProperties":false,"$comment":"it ends where a list is empty"}`,
		"a member that is not listed": `{"type":"object","properties":{"a":{"type":"boolean"}},"required":["a","b"],"patternProperties":{"^b$":{"enum":[3,4]}},"additionalProperties":false}`,
		"only required":               `{"type":"object","required":["b"],"propertyNames":{"enum":["b"]},"patternProperties":{"b":{"type":"null"}}}`,
		"a schema that is true":       `{"type":"object","properties":{"m":true},"required":["m"],"additionalProperties":false,"propertyNames":{"const":"m"},"maxProperties":1}`,
		"different strings":           `{"type":"array","items":{"type":"string","pattern":"^[ab]{0,2}$"},"uniqueItems":true,"minItems":7,"maxItems":7}`,
		"different numbers":           `{"type":"array","items":{"type":"number","minimum":0,"maximum":2,"multipleOf":0.5},"uniqueItems":true,"minItems":5}`,
		"different names":             `{"type":"object","propertyNames":{"pattern":"^[xyz]$"},"additionalProperties":{"type":"null"},"minProperties":3}`,
	} {
		for seed := range 3 {
			status, text, finish := asked(t, h, schema, seed, 400)
			if finish == "length" { // what has no bound may go on
				continue
			}
			if err := grammartest.Fits([]byte(schema), text); status != 200 || err != nil {
				t.Errorf("%s, seed %d: %d %s: %v", name, seed, status, text, err)
			}
		}
	}
}

// A schema that is large is answered, or refused with the place that is too much; it never fails.
func TestHost_Schemas_LargeOnes(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	values, emails, references := make([]string, 6000), make([]string, 50), make([]string, 50)
	for i := range values {
		values[i] = fmt.Sprintf(`"value no. %d"`, i*7%6000)
	}
	for i := range emails {
		emails[i], references[i] = fmt.Sprintf(`"m%d":{"type":"string","format":"email"}`, i), fmt.Sprintf(`"m%d":{"$ref":"#/$defs/e"}`, i)
	}
	for name, schema := range map[string]string{
		"an enum":         `{"enum":[` + strings.Join(values, ",") + `]}`,
		"formats":         `{"type":"object","properties":{` + strings.Join(emails, ",") + `},"additionalProperties":false}`,
		"references":      `{"$defs":{"e":{"type":"string","format":"email"}},"type":"object","properties":{` + strings.Join(references, ",") + `},"additionalProperties":false}`,
		"a list":          `{"type":"array","items":{"type":"string"},"maxItems":100000}`,
		"a long string":   `{"type":"string","minLength":3,"maxLength":1000000}`,
		"different items": `{"type":"array","items":{"type":"string"},"uniqueItems":true,"minItems":900}`,
	} {
		if status, text, _ := asked(t, h, schema, 1, 8); status != 200 && (status != 400 || !strings.Contains(text, "#")) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
}

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

// However much a model likes half characters, an answer that must fit has none, and no character
// that UTF-8 does not have.
func TestHost_Schemas_WholeCharacters(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	const bytes = 3 // the token of byte 0 in the built-in model's vocabulary
	for name, liked := range map[string][]byte{
		"beyond Unicode": {0xF4, 0xBB}, "overlong": {0xE0, 0x80}, "a surrogate": {0xED, 0xA0, 0x80}, "overlong, four bytes": {0xF0, 0x80, 0xA0}, "a lone continuation": {0x80, 0xBF},
	} {
		biases := []string{fmt.Sprintf(`"%d":60`, bytes+'"')}
		for i, b := range liked {
			biases = append(biases, fmt.Sprintf(`"%d":%d`, bytes+int(b), 100-10*i))
		}
		for _, constraint := range []string{`"grammar":"root ::= [^\\x00-\\x7F]{2}"`, `"regex":"[^\\x00-\\x7F]{2}"`, `"json_schema":{"type":"string","maxLength":3}`, `"json_schema":{"type":"string","pattern":"^[^ -~]{2}$"}`} {
			_, body := hosts.Post(t, h.URL()+"/v1/completions", `{"prompt":"Once","max_tokens":40,"temperature":0,`+constraint+`,"logit_bias":{`+strings.Join(biases, ",")+`}}`)
			var answer struct{ Choices []struct{ Text string } }
			if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Choices) != 1 {
				t.Errorf("%s, %s: %s", name, constraint, body)
				continue
			}
			if text := answer.Choices[0].Text; !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) || text == "" {
				t.Errorf("%s, %s: %q", name, constraint, text)
			}
		}
	}
}
