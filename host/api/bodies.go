// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/scheduler"
)

// maxLogprobs bounds the alternatives reported with each token.
const maxLogprobs = 20

// chatBody is POST /v1/chat/completions.
type chatBody struct {
	Common
	Conversation
	Logprobs    bool `json:"logprobs"`
	TopLogprobs *int `json:"top_logprobs"`
}

// Conversation are the fields that become a prompt by the chat template.
type Conversation struct {
	Messages     []json.RawMessage          `json:"messages"`
	Tools        json.RawMessage            `json:"tools"`
	ToolChoice   json.RawMessage            `json:"tool_choice"`
	Functions    json.RawMessage            `json:"functions"`
	TemplateArgs map[string]json.RawMessage `json:"chat_template_kwargs"`
}

// textBody is POST /v1/completions.
type textBody struct {
	Common
	Prompt   json.RawMessage `json:"prompt"`
	BestOf   *int            `json:"best_of"`
	Logprobs *int            `json:"logprobs"`
}

// nativeBody is POST /completion, llama-server's.
type nativeBody struct {
	Common
	Prompt json.RawMessage `json:"prompt"`
	Tokens bool            `json:"return_tokens"`
}

// conversation checks what is to become a prompt.
func conversation(b *Conversation) (chat.Conversation, error) {
	for _, f := range []struct {
		name string
		raw  json.RawMessage
	}{{"tools", b.Tools}, {"functions", b.Functions}} {
		if isSet(f.raw) {
			return chat.Conversation{}, unsupported(f.name, "%s are not supported by this server", f.name)
		}
	}
	messages, err := chat.ParseMessages(b.Messages)
	return chat.Conversation{Messages: messages, TemplateArgs: b.TemplateArgs}, err
}

// planChat makes a generation of a chat body.
func (s *service) planChat(ctx context.Context, body []byte) (generation, error) {
	b := chatBody{Common: defaults()}
	if err := decode(body, &b); err != nil {
		return generation{}, err
	}
	c, err := conversation(&b.Conversation)
	if err != nil {
		return generation{}, err
	}
	g, err := s.planned(ctx, &b.Common, len(body), func() (generation, error) { return s.generationOfChat(&b) })
	if err != nil {
		return g, err
	}
	prompt, err := s.encode(ctx, &g, c, len(body))
	g.stop = append(g.stop, prompt.Stops...)
	g.prompts, g.text = [][]scheduler.Token{prompt.Tokens}, prompt.Text
	return g, err
}

// planned makes a generation of a body that was read, at the desk.
func (s *service) planned(ctx context.Context, b *Common, size int, plan func() (generation, error)) (generation, error) {
	if err := b.check(); err != nil {
		return generation{}, err
	}
	deadline := b.deadline(time.Now())
	g, err := atDesk(ctx, s.desk, deadline, size, plan, nil)
	g.deadline = deadline
	g.client, _ = ctx.Value(clientKey{}).(string)
	return g, err
}

// generationOfChat makes all of a generation but its prompt.
func (s *service) generationOfChat(b *chatBody) (generation, error) {
	g, err := s.plan(&b.Common, "messages")
	if err != nil {
		return g, err
	}
	switch top := b.TopLogprobs; {
	case top != nil && (*top < 0 || *top > maxLogprobs):
		return g, invalid("top_logprobs", "top_logprobs is %d; it must be from 0 to %d", *top, maxLogprobs)
	case top != nil && *top > 0 && !b.Logprobs:
		return g, invalid("top_logprobs", "top_logprobs needs logprobs to be true")
	case b.Logprobs && top != nil:
		g.logprobs = *top
	case b.Logprobs:
		g.logprobs = 0
	}
	return g, err
}

// planText makes a generation of a text completion body.
func (s *service) planText(ctx context.Context, body []byte) (generation, error) {
	b := textBody{Common: defaults()}
	if err := decode(body, &b); err != nil {
		return generation{}, err
	}
	return s.planned(ctx, &b.Common, len(body), func() (generation, error) { return s.generationOfText(&b) })
}

func (s *service) generationOfText(b *textBody) (generation, error) {
	g, err := s.plan(&b.Common, "prompt")
	if err != nil {
		return g, err
	}
	if err := s.checkPrompt(&g); err != nil {
		return g, err
	}
	if b.BestOf != nil && *b.BestOf != g.n {
		return g, unsupported("best_of", "best_of is %d; this server supports it only where it equals n (%d)", *b.BestOf, g.n)
	}
	if top := b.Logprobs; top != nil {
		if *top < 0 || *top > maxLogprobs {
			return g, invalid("logprobs", "logprobs is %d; it must be from 0 to %d", *top, maxLogprobs)
		}
		g.logprobs = *top
	}
	g.prompts, err = s.prompts(b.Prompt)
	return g, err
}

// planNative makes a generation of llama-server's completion body; tokens says whether the answer lists its tokens.
func (s *service) planNative(ctx context.Context, body []byte) (g generation, tokens bool, err error) {
	b := nativeBody{Common: defaults()}
	if err := decode(body, &b); err != nil {
		return g, false, err
	}
	g, err = s.planned(ctx, &b.Common, len(body), func() (generation, error) { return s.generationOfNative(&b) })
	return g, b.Tokens, err
}

func (s *service) generationOfNative(b *nativeBody) (generation, error) {
	g, err := s.plan(&b.Common, "prompt")
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
			return g, invalid("n_probs", "n_probs is %d; it must be from 0 to %d", *top, maxLogprobs)
		}
		g.logprobs = *top
	}
	g.prompts, err = s.prompts(b.Prompt)
	if err == nil && len(g.prompts) != 1 {
		err = unsupported("prompt", "one prompt a request is supported here; /v1/completions takes several")
	}
	return g, err
}
