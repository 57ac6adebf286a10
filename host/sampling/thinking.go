// SPDX-License-Identifier: MIT

package sampling

import (
	"encoding/json"
	"fmt"
	"math"
)

// Thinking is how the thinking of a model begins and ends, and how long it may be. Without tags
// nothing is known of it.
type Thinking struct {
	Budget   int      // tokens of thinking; then Message and the first of EndTags are forced. Negative: as many as the model wants
	StartTag string   // thinking begins behind it
	EndTags  []string // and ends with any of these
	Message  string   // comes before the end that is forced
}

// IsKnown reports whether thinking can be told from the answer.
func (t Thinking) IsKnown() bool { return t.StartTag != "" && len(t.EndTags) > 0 }

const (
	maxEndTags   = 16
	maxTagLength = 1 << 10  // bytes
	maxMessage   = 16 << 10 // bytes
)

func (t Thinking) validate() error {
	if err := checkBudget("reasoning_budget_tokens", t.Budget); err != nil {
		return err
	}
	switch {
	case len(t.StartTag) > maxTagLength:
		return invalid("reasoning_budget_start_tag", t.StartTag, fmt.Sprintf("at most %d bytes", maxTagLength))
	case len(t.EndTags) > maxEndTags:
		return invalid("reasoning_budget_end_tags", len(t.EndTags), fmt.Sprintf("at most %d tags", maxEndTags))
	case len(t.Message) > maxMessage:
		return invalid("reasoning_budget_message", t.Message, fmt.Sprintf("at most %d bytes", maxMessage))
	}
	for _, tag := range t.EndTags {
		if tag == "" || len(tag) > maxTagLength {
			return invalid("reasoning_budget_end_tags", tag, fmt.Sprintf("texts of 1 to %d bytes", maxTagLength))
		}
	}
	return nil
}

func checkBudget(field string, tokens int) error {
	if tokens < -1 || tokens > math.MaxInt32 {
		return invalid(field, tokens, fmt.Sprintf("an integer from -1 (no limit) to %d", math.MaxInt32))
	}
	return nil
}

// thinkingFields are a Thinking as it stands in a JSON object. What the object leaves out keeps
// its value.
type thinkingFields struct {
	ReasoningBudget        *int            `json:"reasoning_budget_tokens"`
	ThinkingBudget         *int            `json:"thinking_budget_tokens"` // another name
	ReasoningBudgetStart   *string         `json:"reasoning_budget_start_tag"`
	ReasoningBudgetEnds    json.RawMessage `json:"reasoning_budget_end_tags"`
	ReasoningBudgetEnd     *string         `json:"reasoning_budget_end_tag"` // one of them
	ReasoningBudgetMessage *string         `json:"reasoning_budget_message"`
}

func (f thinkingFields) thinking(base Thinking) (Thinking, error) {
	t := base
	if f.ThinkingBudget != nil {
		t.Budget = *f.ThinkingBudget
		if err := checkBudget("thinking_budget_tokens", t.Budget); err != nil {
			return t, err
		}
	}
	if f.ReasoningBudget != nil {
		t.Budget = *f.ReasoningBudget
	}
	if f.ReasoningBudgetStart != nil {
		t.StartTag = *f.ReasoningBudgetStart
	}
	if f.ReasoningBudgetMessage != nil {
		t.Message = *f.ReasoningBudgetMessage
	}
	if f.ReasoningBudgetEnd != nil && *f.ReasoningBudgetEnd != "" {
		t.EndTags = []string{*f.ReasoningBudgetEnd}
	}
	if isNull(f.ReasoningBudgetEnds) {
		return t, nil
	}
	t.EndTags = nil
	if err := json.Unmarshal(f.ReasoningBudgetEnds, &t.EndTags); err != nil {
		return t, invalid("reasoning_budget_end_tags", string(f.ReasoningBudgetEnds), "a list of texts")
	}
	return t, nil
}
