// SPDX-License-Identifier: MIT

package completion

import (
	"context"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// Converse has a conversation become the request's prompt once it is filled. What its answer must
// look like is the request's constraint; a template may have words around that, so from then on it
// is what the template makes of it.
func (r *TextRequest) Converse(c chat.Conversation) {
	c = c.WithoutEmptyEnd()
	r.conversation, r.LeftOut, r.parts = &c, c.LeftOut, c.Media
}

// converse makes a conversation the prompt that a template plugin writes. The plugin waits for its
// turn among the guests, so that is not done in the text pool, where it would keep a permit
// waiting too. It is told of pictures and sounds, so these are read first.
func (s *Service) converse(ctx context.Context, r *TextRequest) (err error) {
	if r.conversation == nil {
		return nil
	}
	if err := s.readMedia(ctx, r); err != nil {
		return err
	}
	if err := r.renderByPlugins(ctx, r.conversation); err != nil {
		return err
	}
	size := r.Size
	if w := r.conversation.Written; w != nil {
		size = max(size, len(*w))
	}
	asked := *r
	made, err := inPool(ctx, s.pool, r.Caller, r.Deadline, size, func(ctx context.Context) (TextRequest, error) {
		made := asked
		return made, made.takePrompt(ctx)
	}, nil)
	if err == nil {
		*r = made
	}
	return err
}

// takePrompt makes the conversation, if there is one, the prompt.
func (r *TextRequest) takePrompt(ctx context.Context) (err error) {
	if c := r.conversation; c != nil {
		r.tellFormat(c)
		if r.Rendered, err = r.Model.Encoder().Conversation(ctx, *c); err != nil {
			return r.constraintError(TextError(err, r.PromptField))
		}
		if n := len(c.Media); n > 0 {
			if err := media.CheckMarkers(r.PromptField, r.Rendered.Text, n); err != nil {
				return err
			}
		}
		r.takeFormat()
		r.mustCall, r.conversation = c.ToolChoice.Mode == "required", nil
		r.Stops = append(r.Stops, r.Rendered.Stops...)
		r.Prompts = [][]scheduler.Token{r.Rendered.Tokens}
	}
	r.preserved, err = r.preservedTokens()
	return err
}

// tellFormat tells a conversation what its answer must look like. A grammar that a client wakes, or
// that knows the prompt's end, begins where it says.
func (r *TextRequest) tellFormat(c *chat.Conversation) {
	p := &r.Params
	c.JSONSchema, c.Schemas, c.Grammar, c.Regex = string(p.JSONSchema), p.Schemas, p.Grammar, p.Regex
	c.OwnBegin = p.GrammarLazy || p.GrammarOfFormat
}

// takeFormat has the answer obey what the template knows of its format.
func (r *TextRequest) takeFormat() {
	p := &r.Rendered
	if p.Rules != nil {
		r.Params.Constraint = sampling.Constraint{Format: p.Rules, GrammarLazy: p.Lazy}
		for _, t := range p.Triggers {
			r.Params.GrammarTriggers = append(r.Params.GrammarTriggers, sampling.Trigger{Kind: triggerKinds[t.Kind], Value: t.Value, Token: t.Token})
		}
	}
	if p.Rules != nil || len(r.Params.JSONSchema) == 0 { // a schema that the template has left alone is for the answer, not for the prompt's end
		r.Params.GenerationPrompt = p.GenerationPrompt
	}
	r.Params.PreservedTokens = append(r.Params.PreservedTokens, p.Preserved...)
	if len(p.ThinkingEnds) > 0 {
		r.Params.Thinking.StartTag, r.Params.Thinking.EndTags = p.ThinkingStart, p.ThinkingEnds
	}
}

// checkCall refuses an answer that must call a tool and cannot: a template that knows tools has a
// grammar for that.
func (r *TextRequest) checkCall() error {
	if rules := r.Rendered.Rules; !r.mustCall || rules != nil && rules.Calls {
		return nil
	}
	return refusal.Invalid("tool_choice", "tool_choice asks for a call, but the model's chat template knows no tools; a server can be given another template with --chat-template-file")
}

var triggerKinds = map[string]sampling.TriggerKind{
	"token": sampling.TriggerToken, "word": sampling.TriggerWord, "pattern": sampling.TriggerPattern, "pattern_full": sampling.TriggerPatternFull,
}

// textOf makes the prompt's text of other messages in the place of a conversation's, in both of
// which pictures and sounds have the markers of a gallery.
func (r *TextRequest) textOf(c *chat.Conversation, g *chat.Gallery) func(context.Context, []chat.Message) (string, error) {
	return func(ctx context.Context, messages []chat.Message) (string, error) {
		other := *c
		other.Written = nil
		r.tellFormat(&other)
		var places []int
		var err error
		if other.Messages, places, err = g.Leave(messages); err != nil {
			return "", err
		}
		p, err := r.Model.Encoder().Render(ctx, other)
		if err != nil {
			return "", err
		}
		return g.Restore(p.Text, places)
	}
}

// renderByPlugins has plugins rewrite the messages of a conversation, and write its prompt, where
// such plugins are used. The request has the pictures and sounds then that they have left in it.
func (r *TextRequest) renderByPlugins(ctx context.Context, c *chat.Conversation) (err error) {
	ctx, cancel := r.untilDeadline(ctx)
	defer cancel()
	if r.recording != nil {
		ctx = r.recording.Rendering(ctx)
	}
	gallery := chat.NewGallery(r.told)
	messages, err := gallery.Enter(c.Messages)
	if err != nil {
		return TextError(err, r.PromptField)
	}
	told := serving.Conversing{Params: r.Params, Time: r.asked, Media: gallery, Text: r.textOf(c, gallery)}
	messages, err = r.Plugins.Rewrite(ctx, told, messages)
	if err == nil {
		c.Written, err = r.Plugins.Render(ctx, told, messages)
	}
	if err != nil && ctx.Err() != nil {
		return causeOf(ctx)
	}
	if err != nil {
		return err
	}
	return r.leaveGallery(c, gallery, messages)
}

// leaveGallery has the conversation be what plugins have made of it.
func (r *TextRequest) leaveGallery(c *chat.Conversation, g *chat.Gallery, messages []chat.Message) error {
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
	r.choose(g.First(places))
	c.Media = make([]media.Part, len(places))
	return nil
}
