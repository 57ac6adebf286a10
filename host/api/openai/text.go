// SPDX-License-Identifier: MIT

package openai

import (
	"encoding/json"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
)

// textBody is POST /v1/completions.
type textBody struct {
	AnswerFields
	Prompt   json.RawMessage `json:"prompt"`
	Suffix   string          `json:"suffix"`
	Echo     bool            `json:"echo"`
	BestOf   *int            `json:"best_of"`
	Logprobs *int            `json:"logprobs"`
}

// asked is the request that a body of size bytes is.
func (b *textBody) asked(from completion.Caller, size int) (completion.Asked, error) {
	a, err := b.AnswerFields.asked(from, size, b.Echo)
	if err != nil {
		return a, err
	}
	a.PromptField, a.Source = "prompt", completion.Texts{JSON: b.Prompt, Suffix: b.Suffix, Echo: b.Echo}
	if top := b.Logprobs; top != nil {
		if *top < 0 || *top > MaxLogprobs {
			return a, refusal.Invalid("logprobs", "logprobs is %d; it must be from 0 to %d", *top, MaxLogprobs)
		}
		a.Logprobs = *top
	}
	if a.PromptLogprobs = b.Echo && b.Logprobs != nil; a.PromptLogprobs && b.Suffix != "" {
		return a, refusal.Unsupported("suffix", "suffix is set with echo and logprobs; the prompt that fills in the middle is not the text that is echoed: leave out one of the three")
	}
	return a, b.askBest(&a)
}

// askBest has best_of answers generated to each prompt, of which the n most likely are shown.
func (b *textBody) askBest(a *completion.Asked) error {
	switch best := b.BestOf; {
	case best == nil || *best == a.PerPrompt:
	case *best < a.PerPrompt || *best > maxChoices:
		return refusal.Invalid("best_of", "best_of is %d; it must be from n (%d) to %d", *best, a.PerPrompt, maxChoices)
	case b.Stream:
		return refusal.Invalid("best_of", "best_of is %d, more than n (%d), which cannot be streamed: the best answer is known when all have ended", *best, a.PerPrompt)
	default:
		a.PerPrompt, a.Logprobs = *best, max(a.Logprobs, 0)
	}
	return nil
}
