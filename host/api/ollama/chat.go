// SPDX-License-Identifier: MIT

package ollama

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/scheduler"
)

// chatBody is POST /api/chat.
type chatBody struct {
	AnswerFields
	Messages []json.RawMessage `json:"messages"`
	Tools    []json.RawMessage `json:"tools"`

	// Additions of ours: Ollama leaves it to the model whether it calls a tool.
	ToolChoice        json.RawMessage `json:"tool_choice"`
	ParallelToolCalls *bool           `json:"parallel_tool_calls"`
}

func (a API) chat(c echo.Context) error {
	begun := time.Now()
	b := &chatBody{AnswerFields: newAnswerFields()}
	if err := b.read(c, b); err != nil {
		return err
	}
	if len(b.Messages) == 0 {
		return a.prepare(c, &b.AnswerFields, line{Message: &said{Role: "assistant"}})
	}
	conversation, err := b.conversation()
	if err != nil {
		return err
	}
	asked, err := b.asked(wire.CallerOf(c), "messages", conversation)
	if err != nil {
		return err
	}
	r, err := a.Prompt(c.Request().Context(), asked)
	if err != nil {
		return b.located(err)
	}
	sh := newShape(r, begun)
	sh.chat = true
	return a.answer(c, r, sh, &b.AnswerFields)
}

// answer sends an answer, and unloads the model if the client has asked for that and may, and
// nobody else uses it.
func (a API) answer(c echo.Context, r *completion.Prompted, sh *shape, b *AnswerFields) error {
	err := a.Answer(c, r, sh, b.streams())
	if b.unload && r.Caller.Administers {
		_ = a.Models.Unload(r.Model.Name) // it is in use, or stays loaded
	}
	return err
}

// conversation is what becomes the prompt.
func (b *chatBody) conversation() (c completion.Chat, err error) {
	messages, parts, err := readMessages(b.Messages)
	if err != nil {
		return c, err
	}
	c, err = b.AnswerFields.conversation(messages)
	if c.Media = parts; err != nil {
		return c, err
	}
	if c.Tools, c.LeftOut, err = chat.ParseTools(b.Tools, false); err != nil {
		return c, err
	}
	c.ParallelToolCalls = b.ParallelToolCalls
	c.ToolChoice, err = chat.ParseToolChoice(b.ToolChoice, c.Tools)
	return c, err
}

// load answers a request that asks for nothing, with which Ollama's clients have a model loaded.
func (a API) load(c echo.Context, model string, answer func(model string) any) error {
	m, release, err := a.Models.Use(c.Request().Context(), modelName(model))
	if err != nil {
		return err
	}
	defer release()
	return c.JSON(http.StatusOK, answer(m.Name))
}

// prepare answers a chat or a generation that asks for nothing: it loads the model, or unloads it.
func (a API) prepare(c echo.Context, b *AnswerFields, answer line) error {
	answer.Created, answer.Done, answer.DoneReason = time.Now().UTC(), true, "load"
	if !b.unload {
		return a.load(c, b.Model, func(model string) any {
			answer.Model = model
			return answer
		})
	}
	if !wire.CallerOf(c).Administers {
		return &refusal.Error{Kind: refusal.KindForbidden, Code: "admin_only", Field: "keep_alive",
			Message: "keep_alive is 0, which unloads a model that all clients share: on a server with keys only the admin's does that; leave keep_alive out"}
	}
	answer.Model, answer.DoneReason = modelName(b.Model), "unload"
	if err := a.Models.Unload(answer.Model); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, answer)
}

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
