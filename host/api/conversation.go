// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"encoding/json"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/scheduler"
)

// Conversation are the fields of a body that become a prompt.
type Conversation struct {
	Messages     []json.RawMessage          `json:"messages"`
	Tools        json.RawMessage            `json:"tools"`
	ToolChoice   json.RawMessage            `json:"tool_choice"`
	Functions    json.RawMessage            `json:"functions"`
	TemplateArgs map[string]json.RawMessage `json:"chat_template_kwargs"`
}

// conversation checks the fields and refuses what is not supported.
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

// encode turns a conversation into a prompt. A template plugin waits for its turn among the guests, so that is not done in the text
// pool, where it would keep a worker waiting too.
func (s *service) encode(ctx context.Context, g *generation, c chat.Conversation, size int) (p chat.Prompt, err error) {
	if c.Written, err = s.renderByPlugin(ctx, g, c.Messages); err != nil {
		return p, err
	}
	if c.Written != nil {
		size = max(size, len(*c.Written))
	}
	return inPool(ctx, s.textPool, g.deadline, size, func() (chat.Prompt, error) {
		p, err := s.encoder().Conversation(c)
		return p, textError(err, "messages")
	}, nil)
}

// renderByPlugin has a template plugin write the prompt of a conversation; nil if none is used.
func (s *service) renderByPlugin(ctx context.Context, g *generation, messages []chat.Message) (*string, error) {
	if s.Policies == nil {
		return nil, nil
	}
	if !g.deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, g.deadline, scheduler.ErrDeadline)
		defer cancel()
	}
	text, err := s.Policies.Render(ctx, g.params, g.ownUses(nil), messages)
	if err != nil && ctx.Err() != nil {
		return nil, causeOf(ctx)
	}
	return text, err
}
