// SPDX-License-Identifier: MIT

package ollama

import (
	"context"
	"fmt"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/scheduler"
)

// generateBody is POST /api/generate.
type generateBody struct {
	AnswerFields
	Prompt   string            `json:"prompt"`
	System   string            `json:"system"`
	Template string            `json:"template" api:"refused"`
	Suffix   string            `json:"suffix"`
	Images   []string          `json:"images"`  // in base64
	Context  []scheduler.Token `json:"context"` // of an earlier answer, which this one follows
	Raw      bool              `json:"raw"`     // the prompt is used as it stands
}

func (a API) generate(c echo.Context) error {
	begun := time.Now()
	b := &generateBody{AnswerFields: newAnswerFields()}
	if err := b.read(c, b); err != nil {
		return err
	}
	if err := b.check(); err != nil {
		return err
	}
	if b.Prompt == "" {
		return a.prepare(c, &b.AnswerFields, line{Response: new(string)})
	}
	asked := b.asked(c, "prompt")
	asked.Pictures = len(b.Images) > 0
	r, err := a.New(c.Request().Context(), asked, b.fill)
	if err != nil {
		return b.located(err)
	}
	if err := a.follow(c.Request().Context(), r, b); err != nil {
		r.Release()
		return err
	}
	sh := newShape(r, begun)
	sh.context = !b.Raw && !r.HasMedia() // which no later request could have in its context
	return a.answer(c, r, sh, &b.AnswerFields)
}

func (b *generateBody) check() error {
	switch {
	case len(b.Images) > 0 && (b.plain() || len(b.Context) > 0):
		return refusal.Unsupported("images", "images cannot be used with raw, suffix or context: the model's template says where they stand; /api/chat takes a conversation with them")
	case b.Raw && (b.Template != "" || b.System != "" || len(b.Context) > 0):
		return refusal.Invalid("raw", "raw is true, so the prompt is used as it stands: leave out template, system and context")
	case b.Template != "":
		return refusal.Unsupported("template", "template is not supported by this server: the prompt is made by the model's own template; with raw, write it yourself")
	}
	return nil
}

// fill completes a request, with its prompt if no template makes that.
func (b *generateBody) fill(ctx context.Context, r *completion.TextRequest) error {
	if err := b.AnswerFields.fill(r); err != nil {
		return err
	}
	for i, t := range b.Context {
		if t < 0 || int(t) >= r.Model.Vocabulary {
			at := fmt.Sprintf("context[%d]", i)
			return refusal.Invalid(at, "%s is %d; it must be a token from 0 to %d", at, t, r.Model.Vocabulary-1)
		}
	}
	if !b.plain() {
		return b.converse(r)
	}
	if err := r.Plugins.RefuseTemplates(); err != nil {
		return err
	}
	tokens, err := r.Model.Encoder().Text(ctx, b.Prompt)
	if err != nil {
		return completion.TextError(err, "prompt")
	}
	if b.Suffix != "" {
		tokens, err = completion.FillIn(ctx, r.Model, tokens, b.Suffix, "suffix")
	}
	r.Prompts = [][]scheduler.Token{tokens}
	return err
}

// plain reports whether no template makes the prompt: it is raw, or has a gap that the answer
// fills.
func (b *generateBody) plain() bool { return b.Raw || b.Suffix != "" }

// converse has the template make the prompt, of the system prompt and what the user says.
func (b *generateBody) converse(r *completion.TextRequest) error {
	var messages []chat.Message
	if b.System != "" {
		messages = append(messages, chat.Message{Role: "system", Content: b.System})
	}
	said := chat.Message{Role: "user", Content: b.Prompt}
	parts := pictures(&said, b.Images, "images")
	conversation, err := b.conversation(append(messages, said))
	conversation.Media = parts
	if err == nil {
		r.Converse(conversation)
	}
	return err
}

// follow puts what an earlier answer was given and gave before the prompt, if the request has that.
func (a API) follow(ctx context.Context, r *completion.TextRequest, b *generateBody) error {
	if b.plain() || len(b.Context) == 0 {
		return nil
	}
	text := r.Rendered.Text
	tokens, err := completion.Work(ctx, a.Service, r.Caller, len(text), func(ctx context.Context) ([]scheduler.Token, error) {
		return r.Model.Encoder().Continuation(ctx, text)
	})
	r.Prompts[0] = append(b.Context, tokens...)
	return completion.TextError(err, "prompt")
}
