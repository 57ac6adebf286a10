// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"encoding/json"
)

// textBody is POST /v1/completions.
type textBody struct {
	Common
	Prompt   json.RawMessage `json:"prompt"`
	BestOf   *int            `json:"best_of"`
	Logprobs *int            `json:"logprobs"`
}

// parseText turns a text completion body into a generation.
func (s *service) parseText(ctx context.Context, from caller, body []byte) (generation, error) {
	b := textBody{Common: defaults()}
	if err := decode(body, &b); err != nil {
		return generation{}, err
	}
	return s.newGeneration(ctx, from, &b.Common, len(body), func() (generation, error) { return s.generationOfText(&b) })
}

func (s *service) generationOfText(b *textBody) (generation, error) {
	g, err := s.commonGeneration(&b.Common, "prompt")
	if err != nil {
		return g, err
	}
	if err := s.checkPrompt(&g); err != nil {
		return g, err
	}
	if b.BestOf != nil && *b.BestOf != g.choices {
		return g, unsupported("best_of", "best_of is %d; this server supports it only where it equals n (%d)", *b.BestOf, g.choices)
	}
	if top := b.Logprobs; top != nil {
		if *top < 0 || *top > maxLogprobs {
			return g, Invalid("logprobs", "logprobs is %d; it must be from 0 to %d", *top, maxLogprobs)
		}
		g.logprobs = *top
	}
	g.prompts, err = s.prompts(b.Prompt)
	return g, err
}
