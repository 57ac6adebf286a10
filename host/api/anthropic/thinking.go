// SPDX-License-Identifier: MIT

package anthropic

import (
	"encoding/json"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/integer"
	"github.com/penstock/penstock/host/refusal"
)

// readThinking reads whether the model thinks before it answers, and for how many tokens at most;
// nil: as it likes. Without the field it does not, as with Anthropic: their clients then look for
// a text in the first block.
func readThinking(raw json.RawMessage) (on bool, budget *int, err error) {
	if isNull(raw) {
		return false, nil, nil
	}
	var t struct {
		Type   string `json:"type"`
		Budget *int   `json:"budget_tokens"`
	}
	if err := integer.Unmarshal(raw, &t); err != nil {
		return false, nil, refusal.Invalid("thinking", "thinking is not an object with a type (enabled, disabled or adaptive) and budget_tokens, an integer")
	}
	switch t.Type {
	case "disabled":
		return false, nil, nil
	case "adaptive":
		return true, nil, nil
	case "enabled":
		if t.Budget == nil || *t.Budget < 1 {
			return false, nil, refusal.Invalid("thinking.budget_tokens", "thinking.budget_tokens must be at least 1 where thinking is enabled")
		}
		return true, t.Budget, nil
	}
	return false, nil, refusal.Invalid("thinking.type", "thinking.type is %q; it must be enabled, disabled or adaptive", excerpt.Of(t.Type, longestWord))
}

// outputConfig is what the answer must look like, and with how much effort it is made.
type outputConfig struct {
	Effort string        `json:"effort"`
	Format *outputFormat `json:"format"`
}

// outputFormat is the schema of an answer.
type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// check refuses a format in a field that is not a schema.
func (f *outputFormat) check(field string) error {
	switch {
	case f == nil:
	case f.Type != "json_schema":
		return refusal.Invalid(field+".type", "%s.type is %q; it must be json_schema", field, excerpt.Of(f.Type, longestWord))
	case !isObject(f.Schema):
		return &chat.Invalid{Field: field + ".schema", Reason: "must be a JSON schema, which is an object"}
	}
	return nil
}
