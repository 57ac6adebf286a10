// SPDX-License-Identifier: MIT

package openai

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
)

// ChatBody is POST /v1/chat/completions.
type ChatBody struct {
	AnswerFields
	Logprobs    bool `json:"logprobs"`
	TopLogprobs *int `json:"top_logprobs"`

	Conversation

	Modalities []string        `json:"modalities"`
	Audio      json.RawMessage `json:"audio" api:"refused"`
	WebSearch  json.RawMessage `json:"web_search_options" api:"refused"`
}

// checkAbilities refuses what asks for another answer than text of the model alone.
func (b *ChatBody) checkAbilities() error {
	for i, modality := range b.Modalities {
		if modality != "text" {
			field := "modalities[" + strconv.Itoa(i) + "]"
			return refusal.Unsupported(field, "%s is %q; this server answers with text only", field, excerpt.Of(modality, 40))
		}
	}
	if completion.IsSet(b.Audio) {
		return refusal.Unsupported("audio", "audio is not supported by this server, which answers with text only")
	}
	if completion.IsSet(b.WebSearch) {
		return refusal.Unsupported("web_search_options", "web_search_options are not supported: this server searches nothing; offer the model a tool that does")
	}
	return nil
}

// ParseChat turns the body of a chat completion into a request.
func ParseChat(ctx context.Context, s *completion.Service, from completion.Caller, body []byte) (*completion.TextRequest, *ChatBody, error) {
	b := &ChatBody{AnswerFields: Defaults()}
	if err := wire.Decode(body, b); err != nil {
		return nil, nil, err
	}
	r, err := b.Request(ctx, s, from, "messages", len(body))
	return r, b, err
}

// Request turns a body of size bytes into a request. promptField is the field that its messages
// came from.
func (b *ChatBody) Request(ctx context.Context, s *completion.Service, from completion.Caller, promptField string, size int) (*completion.TextRequest, error) {
	if err := b.Check(); err != nil {
		return nil, err
	}
	if err := b.checkAbilities(); err != nil {
		return nil, err
	}
	c, err := b.read()
	c.Echo = !b.Stream // as llama-server: a whole message is told whole
	if err != nil {
		return nil, completion.AsError(err, promptField)
	}
	asked := b.asked(from, promptField, size)
	asked.Pictures = media.HasPictures(c.Media)
	return s.New(ctx, asked, func(_ context.Context, r *completion.TextRequest) error {
		r.Converse(c)
		return b.fill(r)
	})
}

// fill completes a request but for its prompt.
func (b *ChatBody) fill(r *completion.TextRequest) error {
	if err := b.Fill(r); err != nil {
		return err
	}
	switch top := b.TopLogprobs; {
	case top != nil && (*top < 0 || *top > MaxLogprobs):
		return refusal.Invalid("top_logprobs", "top_logprobs is %d; it must be from 0 to %d", *top, MaxLogprobs)
	case top != nil && *top > 0 && !b.Logprobs:
		return refusal.Invalid("top_logprobs", "top_logprobs needs logprobs to be true")
	case b.Logprobs && top != nil:
		r.Logprobs = *top
	case b.Logprobs:
		r.Logprobs = 0
	}
	return nil
}
