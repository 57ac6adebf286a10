// SPDX-License-Identifier: MIT

package plugins

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/grammar/grammartest"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/steadytest"
)

// askForJSON asks the built-in model for an answer with a schema: status, and the answer or the
// error.
func askForJSON(t *testing.T, h *host.Host, schema []byte, maxTokens int, seed uint64) (int, string) {
	t.Helper()
	status, body := hosts.Post(t, h.URL()+"/v1/chat/completions", fmt.Sprintf(`{"messages":[{"role":"user","content":"Describe a cat as JSON."}],
		"max_tokens":%d,"seed":%d,"temperature":%d,"plugins":[{"name":"json-schema","config":{"schema":%s}}]}`, maxTokens, seed, seed%3, schema))
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
		Error   struct{ Message string }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Errorf("%s: %v", body, err)
	}
	if len(answer.Choices) == 1 {
		return status, answer.Choices[0].Message.Content
	}
	return status, answer.Error.Message
}

// leastTokens is what the plugin says that a schema needs.
func leastTokens(t *testing.T, h *host.Host, schema []byte) int {
	t.Helper()
	status, text := askForJSON(t, h, schema, 1, 0)
	if status == 200 {
		return 1
	}
	least := 0
	const refusal = "plugin json-schema refuses the request: max_tokens: 1 is too little for config.schema; it needs up to %d"
	if _, err := fmt.Sscanf(text, refusal, &least); status != 400 || err != nil {
		t.Errorf("schema %s: %d %s", schema, status, text)
	}
	return least
}

// The answers fit however few tokens they have, greedy and hot, eight of them at once.
func TestJSONSchema_BuiltInModel_FitsAndCloses(t *testing.T) {
	h := hosts.OpenWithExamples(t, "json-schema")
	hosts.EightAtOnce(hosts.InLongTest(200, 20), func(i int) {
		seed := uint64(i)
		r := rand.New(rand.NewPCG(seed, 1))
		schema, err := json.Marshal(grammartest.RandomSchema(r, 3))
		if err != nil {
			t.Error(err)
		}
		least := leastTokens(t, h, schema)
		for _, extra := range []int{0, r.IntN(20), 100} {
			status, text := askForJSON(t, h, schema, least+extra, seed)
			if err := grammartest.Fits(schema, text); status != 200 || err != nil {
				t.Errorf("seed %d, %d tokens, %d more than needed: %d %v", seed, least+extra, extra, status, err)
			}
		}
	})
}

// Thousands of texts are a schema like any other: as values of an enum and as names.
func TestJSONSchema_ThousandsOfTexts_FitAndClose(t *testing.T) {
	steadytest.SkipRaced(t, "one request at a time; TestJSONSchema_BuiltInModel_FitsAndCloses asks for eight at once")
	h := hosts.OpenWithExamples(t, "json-schema")
	values, properties := make([]string, 5000), map[string]any{}
	for i := range values {
		values[i] = fmt.Sprintf("%c%c cat no. %d", 'a'+i*7%26, 'a'+i*11%25, i)
		if i < 1500 {
			properties[values[i]] = map[string]any{"type": []string{"integer", "boolean"}[i%2]}
		}
	}
	for name, schema := range map[string]any{
		"enum":               map[string]any{"type": "string", "enum": values},
		"names":              map[string]any{"type": "object", "properties": properties},
		"names, some needed": map[string]any{"type": "object", "properties": properties, "required": values[:3]},
	} {
		text, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(3) {
			status, answer := askForJSON(t, h, text, 120, seed)
			if err := grammartest.Fits(text, answer); status != 200 || err != nil {
				t.Errorf("%s, seed %d: %d %.200s: %v", name, seed, status, answer, err)
			}
			t.Logf("%s: %.200s", name, answer)
		}
	}
}
