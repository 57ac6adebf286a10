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
	h := hosts.SharedWithExamples(t, "json-schema")
	hosts.EightAtOnce(steadytest.InLongTest(200, 20), func(i int) {
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
