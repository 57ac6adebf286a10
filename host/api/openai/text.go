// SPDX-License-Identifier: MIT

package openai

import (
	"context"
	"encoding/json"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
)

// textBody is POST /v1/completions.
type textBody struct {
	Common
	Prompt   json.RawMessage `json:"prompt"`
	BestOf   *int            `json:"best_of"`
	Logprobs *int            `json:"logprobs"`
}

// ParseText turns the body of a text completion into a request.
func ParseText(ctx context.Context, s *completion.Service, from completion.Caller, body []byte) (*completion.Request, *textBody, error) {
	b := &textBody{Common: Defaults()}
	if err := wire.Decode(body, b); err != nil {
		return nil, nil, err
	}
	if err := b.Check(); err != nil {
		return nil, nil, err
	}
	r, err := s.New(ctx, b.Basics(from, "prompt", len(body)), b.fill)
	return r, b, err
}

func (b *textBody) fill(r *completion.Request) (err error) {
	if err := b.Fill(r); err != nil {
		return err
	}
	if err := r.RefuseTemplates(); err != nil {
		return err
	}
	if b.BestOf != nil && *b.BestOf != r.Choices {
		return completion.Unsupported("best_of", "best_of is %d; this server supports it only where it equals n (%d)", *b.BestOf, r.Choices)
	}
	if top := b.Logprobs; top != nil {
		if *top < 0 || *top > MaxLogprobs {
			return completion.Invalid("logprobs", "logprobs is %d; it must be from 0 to %d", *top, MaxLogprobs)
		}
		r.Logprobs = *top
	}
	r.Prompts, err = r.Model.Prompts(b.Prompt)
	return err
}
