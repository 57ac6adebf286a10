// SPDX-License-Identifier: MIT

package completion

import (
	"context"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
)

// promptByPlugins has plugins rewrite the messages of a conversation, or write its prompt, and
// makes the prompt of that. A plugin waits for its turn among the guests, so it does not run with
// a permit for texts, which it would keep from others. It is told of pictures and sounds, so these
// are read first.
func (s *Service) promptByPlugins(ctx context.Context, p *Prompted, c Chat) (*Prompted, error) {
	if err := s.readMedia(ctx, p); err != nil {
		return nil, err
	}
	if err := p.rewrite(ctx, &c.Conversation); err != nil {
		return nil, err
	}
	size := p.Size
	if w := c.Written; w != nil {
		size = max(size, len(*w))
	}
	made := *p // who waits may have left, and gives up what was asked
	return withPermit(ctx, s.permits, p.Caller, p.times.deadline, size, func(ctx context.Context) (*Prompted, error) {
		if err := made.render(ctx, c); err != nil {
			return nil, err
		}
		return &made, made.preserve(ctx)
	}, nil)
}

// rewrite has plugins rewrite the messages of a conversation, and write its prompt. The request has
// the pictures and sounds then that they have left in it.
func (p *Prompted) rewrite(ctx context.Context, c *chat.Conversation) (err error) {
	ctx, cancel := until(ctx, p.times.deadline)
	defer cancel()
	if p.held.recording != nil {
		ctx = p.held.recording.Rendering(ctx)
	}
	gallery := chat.NewGallery(p.Media.told)
	messages, err := gallery.Enter(c.Messages)
	if err != nil {
		return TextError(err, p.PromptField)
	}
	told := serving.Conversing{Params: p.Params, Time: p.times.came, Media: gallery, Text: p.textOf(c, gallery)}
	messages, err = p.Plugins.Rewrite(ctx, told, messages)
	if err == nil {
		c.Written, err = p.Plugins.Render(ctx, told, messages)
	}
	if err != nil && ctx.Err() != nil {
		return causeOf(ctx)
	}
	if err != nil {
		return err
	}
	return p.leaveGallery(c, gallery, messages)
}

// textOf makes the prompt's text of other messages in the place of a conversation's, in both of
// which pictures and sounds have the markers of a gallery.
func (p *Prompted) textOf(c *chat.Conversation, g *chat.Gallery) func(context.Context, []chat.Message) (string, error) {
	return func(ctx context.Context, messages []chat.Message) (string, error) {
		other := *c
		other.Written = nil
		p.tellFormat(&other)
		var places []int
		var err error
		if other.Messages, places, err = g.Leave(messages); err != nil {
			return "", err
		}
		rendered, err := p.Model.Encoder().Render(ctx, other)
		if err != nil {
			return "", err
		}
		return g.Restore(rendered.Text, places)
	}
}

// leaveGallery has the conversation be what plugins have made of it.
func (p *Prompted) leaveGallery(c *chat.Conversation, g *chat.Gallery, messages []chat.Message) error {
	var places []int
	var err error
	if c.Messages, places, err = g.Leave(messages); err != nil {
		return err
	}
	if c.Written != nil {
		var text string
		if text, places, err = g.Text(*c.Written); err != nil {
			return err
		}
		c.Written = &text
	}
	if len(places) > media.MaxParts {
		return refusal.Invalid("plugins", "the prompt that the plugins have made has places for %d pictures and sounds; a request may have %d", len(places), media.MaxParts)
	}
	p.Media.choose(g.First(places))
	c.Media = make([]media.Part, len(places))
	return nil
}
