// SPDX-License-Identifier: MIT

package openai

import (
	"context"
	"encoding/json"

	"github.com/penstock/penstock/host/api/wire"
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

	prompts []echoed // with which the answers begin; none: they do not
}

// ParseText turns the body of a text completion into a request.
func ParseText(ctx context.Context, s *completion.Service, from completion.Caller, body []byte) (*completion.TextRequest, *textBody, error) {
	b := &textBody{AnswerFields: Defaults()}
	if err := wire.Decode(body, b); err != nil {
		return nil, nil, err
	}
	if err := b.Check(); err != nil {
		return nil, nil, err
	}
	r, err := s.New(ctx, b.asked(from, "prompt", len(body)), b.fill)
	return r, b, err
}

func (b *textBody) fill(ctx context.Context, r *completion.TextRequest) (err error) {
	b.mayBeEmpty = b.Echo
	if err := b.Fill(r); err != nil {
		return err
	}
	if err := r.Plugins.RefuseTemplates(); err != nil {
		return err
	}
	if top := b.Logprobs; top != nil {
		if *top < 0 || *top > MaxLogprobs {
			return refusal.Invalid("logprobs", "logprobs is %d; it must be from 0 to %d", *top, MaxLogprobs)
		}
		r.Logprobs = *top
	}
	if err := b.fillBest(r); err != nil {
		return err
	}
	if err := r.ReadPrompts(ctx, b.Prompt); err != nil {
		return err
	}
	if err := b.refuseMedia(r); err != nil {
		return err
	}
	if err := b.fillEcho(r); err != nil {
		return err
	}
	for i := range r.Prompts {
		if b.Suffix != "" && err == nil {
			r.Prompts[i], err = completion.FillIn(ctx, r.Model, r.Prompts[i], b.Suffix, "suffix")
		}
	}
	return err
}

// refuseMedia refuses what cannot be done with a prompt that has pictures or sounds, which no text
// stands for.
func (b *textBody) refuseMedia(r *completion.TextRequest) error {
	switch {
	case !r.HasMedia():
	case b.Echo:
		return refusal.Unsupported("echo", "echo is true, but the prompt has pictures or sounds, which cannot be echoed as text: leave echo out")
	case b.Suffix != "":
		return refusal.Unsupported("suffix", "suffix is set, but the prompt has pictures or sounds, and only texts have gaps that are filled: leave suffix out")
	}
	return nil
}

// fillBest has best_of answers generated to each prompt, of which the n most likely are shown.
func (b *textBody) fillBest(r *completion.TextRequest) error {
	switch best := b.BestOf; {
	case best == nil || *best == r.Choices:
	case *best < r.Choices || *best > maxChoices:
		return refusal.Invalid("best_of", "best_of is %d; it must be from n (%d) to %d", *best, r.Choices, maxChoices)
	case b.Stream:
		return refusal.Invalid("best_of", "best_of is %d, more than n (%d), which cannot be streamed: the best answer is known when all have ended", *best, r.Choices)
	default:
		r.Choices = *best
		r.Logprobs = max(r.Logprobs, 0)
	}
	return nil
}
