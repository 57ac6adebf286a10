// SPDX-License-Identifier: MIT

package completion

import (
	"context"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/scheduler"
)

// Converse makes a conversation the prompt of a request. A template plugin waits for its turn among the guests, so that is not done in
// the text pool, where it would keep a worker waiting too.
func (s *Service) Converse(ctx context.Context, r *Request, c chat.Conversation) (err error) {
	c.Grammar = r.Params.Grammar
	if c.Written, err = r.renderByPlugin(ctx, c.Messages); err != nil {
		return err
	}
	size := r.Size
	if c.Written != nil {
		size = max(size, len(*c.Written))
	}
	r.Rendered, err = inPool(ctx, s.pool, r.Deadline, size, func() (chat.Prompt, error) {
		p, err := r.Model.Encoder().Conversation(c)
		return p, TextError(err, r.PromptField)
	}, nil)
	r.Stops = append(r.Stops, r.Rendered.Stops...)
	r.Prompts = [][]scheduler.Token{r.Rendered.Tokens}
	return err
}

// renderByPlugin has a template plugin write the prompt of a conversation; nil if none is used.
func (r *Request) renderByPlugin(ctx context.Context, messages []chat.Message) (*string, error) {
	if r.Model.Policies == nil {
		return nil, nil
	}
	if !r.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, r.Deadline, scheduler.ErrDeadline)
		defer cancel()
	}
	text, err := r.Model.Policies.Render(ctx, r.Params, r.ownUses(nil), messages)
	if err != nil && ctx.Err() != nil {
		return nil, causeOf(ctx)
	}
	return text, err
}
