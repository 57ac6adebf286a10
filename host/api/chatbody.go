// SPDX-License-Identifier: MIT

package api

import (
	"context"

	"github.com/penstock/penstock/scheduler"
)

// chatBody is POST /v1/chat/completions.
type chatBody struct {
	Common
	Conversation
	Logprobs    bool `json:"logprobs"`
	TopLogprobs *int `json:"top_logprobs"`
}

// parseChat turns a chat body into a generation.
func (s *service) parseChat(ctx context.Context, from caller, body []byte) (generation, error) {
	b := chatBody{Common: defaults()}
	if err := decode(body, &b); err != nil {
		return generation{}, err
	}
	c, err := conversation(&b.Conversation)
	if err != nil {
		return generation{}, err
	}
	g, err := s.newGeneration(ctx, from, &b.Common, len(body), func() (generation, error) { return s.generationOfChat(&b) })
	if err != nil {
		return g, err
	}
	prompt, err := s.encode(ctx, &g, c, len(body))
	g.stops = append(g.stops, prompt.Stops...)
	g.prompts, g.promptText = [][]scheduler.Token{prompt.Tokens}, prompt.Text
	return g, err
}

// generationOfChat turns a chat body into a generation that lacks only its prompt.
func (s *service) generationOfChat(b *chatBody) (generation, error) {
	g, err := s.commonGeneration(&b.Common, "messages")
	if err != nil {
		return g, err
	}
	switch top := b.TopLogprobs; {
	case top != nil && (*top < 0 || *top > maxLogprobs):
		return g, Invalid("top_logprobs", "top_logprobs is %d; it must be from 0 to %d", *top, maxLogprobs)
	case top != nil && *top > 0 && !b.Logprobs:
		return g, Invalid("top_logprobs", "top_logprobs needs logprobs to be true")
	case b.Logprobs && top != nil:
		g.logprobs = *top
	case b.Logprobs:
		g.logprobs = 0
	}
	return g, err
}
