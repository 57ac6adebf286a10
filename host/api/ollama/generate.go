// SPDX-License-Identifier: MIT

package ollama

import (
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
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
	prompt, err := b.source()
	if err != nil {
		return err
	}
	asked, err := b.asked(wire.CallerOf(c), "prompt", prompt)
	if err != nil {
		return err
	}
	r, err := a.Prompt(c.Request().Context(), asked)
	if err != nil {
		return b.located(err)
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

// source is what becomes the prompt: the text as it stands where it is raw or has a gap that the
// answer fills, else a conversation of the system prompt and what the user says.
func (b *generateBody) source() (completion.Source, error) {
	if b.plain() {
		prompt := completion.Text(b.Prompt)
		prompt.Suffix = b.Suffix
		return prompt, nil
	}
	var messages []chat.Message
	if b.System != "" {
		messages = append(messages, chat.Message{Role: "system", Content: b.System})
	}
	said := chat.Message{Role: "user", Content: b.Prompt}
	parts := pictures(&said, b.Images, "images")
	c, err := b.conversation(append(messages, said))
	c.Media, c.Follows = parts, b.Context
	return c, err
}

// plain reports whether no template makes the prompt.
func (b *generateBody) plain() bool { return b.Raw || b.Suffix != "" }
