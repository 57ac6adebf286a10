// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

// vLLM's clients, such as Outlines, say with structured_outputs what an answer must be.
func TestHost_StructuredOutputs(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	chat := schemaDialect{"/v1/chat/completions", `{` + schemaHello + `,"structured_outputs":%s%s}`, "", "choices 0 message content"}
	text := schemaDialect{"/v1/completions", `{"prompt":"Hi","temperature":0,"max_tokens":64,"structured_outputs":%s%s}`, "", "choices 0 text"}
	for asked, fits := range map[string]string{
		`{"choice":["a.b","c|d"]}`:                       `^(a\.b|c\|d)$`,
		`{"regex":"[ab]{3}"}`:                            `^[ab]{3}$`,
		`{"grammar":"root ::= \"x\" [yz]"}`:              `^x[yz]$`,
		`{"grammar":"%llguidance {}\nstart: \"x\" /y/"}`: `^xy$`,
		`{"grammar":"// Lark's\nstart: \"x\" /y/"}`:      `^xy$`,
		`{"grammar":"start: \"::=\""}`:                   `^::=$`,
		`{"json":{"enum":[7]},"whitespace_pattern":""}`:  `^7$`,
		`{"json":"{\"enum\":[7]}"}`:                      `^7$`,
		`{"json_object":true}`:                           `^\{`,
	} {
		for _, d := range []schemaDialect{chat, text} {
			if status, _, got := d.ask(t, h, asked, ""); status != http.StatusOK || !regexp.MustCompile(fits).MatchString(got) {
				t.Errorf("%s, %s: %d %s", d.path, asked, status, got)
			}
		}
	}
	for asked, param := range map[string]string{
		`{"choice":[]}`: "structured_outputs.choice", `{"regex":"["}`: "structured_outputs.regex", `{"grammar":"root"}`: "structured_outputs.grammar",
		`{"json":{"type":"nope"}}`: "structured_outputs.json", `{"structural_tag":"{}"}`: "structured_outputs.structural_tag", `{"choice":["a"],"regex":"a"}`: "structured_outputs",
		`{"choice":["a"]},"regex":"a"`: "structured_outputs", `{"json":{}},"response_format":{"type":"json_object"}`: "structured_outputs",
	} {
		status, _, got := chat.ask(t, h, asked, "")
		var refused struct{ Error struct{ Param string } }
		if err := json.Unmarshal([]byte(got), &refused); err != nil || status != http.StatusBadRequest || !strings.HasPrefix(refused.Error.Param, param) {
			t.Errorf("%s: %d %s, want %s", asked, status, got, param)
		}
	}
}
