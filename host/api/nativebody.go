// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"encoding/json"
)

// nativeBody is POST /completion, llama-server's.
type nativeBody struct {
	Common
	Prompt json.RawMessage `json:"prompt"`
	Tokens bool            `json:"return_tokens"`
}

// parseNative turns llama-server's completion body into a generation; tokens says whether the answer lists its tokens.
func (s *service) parseNative(ctx context.Context, from caller, body []byte) (g generation, tokens bool, err error) {
	b := nativeBody{Common: defaults()}
	if err := decode(body, &b); err != nil {
		return g, false, err
	}
	g, err = s.newGeneration(ctx, from, &b.Common, len(body), func() (generation, error) { return s.generationOfNative(&b) })
	return g, b.Tokens, err
}

func (s *service) generationOfNative(b *nativeBody) (generation, error) {
	g, err := s.commonGeneration(&b.Common, "prompt")
	if err != nil {
		return g, err
	}
	if err := s.checkPrompt(&g); err != nil {
		return g, err
	}
	if b.choices() != 1 {
		return g, unsupported("n", "n must be 1 here; /v1/completions answers a prompt more than once")
	}
	if top := b.NProbs; top != nil && *top != 0 {
		if *top < 0 || *top > maxLogprobs {
			return g, Invalid("n_probs", "n_probs is %d; it must be from 0 to %d", *top, maxLogprobs)
		}
		g.logprobs = *top
	}
	g.prompts, err = s.prompts(b.Prompt)
	if err == nil && len(g.prompts) != 1 {
		err = unsupported("prompt", "one prompt a request is supported here; /v1/completions takes several")
	}
	return g, err
}
