// SPDX-License-Identifier: MIT

package ollama

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/chat"
)

// chatBody is POST /api/chat.
type chatBody struct {
	Common
	Messages []json.RawMessage `json:"messages"`
	Tools    []json.RawMessage `json:"tools"`

	// Additions of ours: Ollama leaves it to the model whether it calls a tool.
	ToolChoice        json.RawMessage `json:"tool_choice"`
	ParallelToolCalls *bool           `json:"parallel_tool_calls"`
}

func (a API) chat(c echo.Context) error {
	begun := time.Now()
	b := &chatBody{Common: newCommon()}
	if err := b.read(c, b); err != nil {
		return err
	}
	if len(b.Messages) == 0 {
		return a.load(c, b.Model, func(model string) any {
			l := loaded(model)
			l.Message = &said{Role: "assistant"}
			return l
		})
	}
	conversation, err := b.conversation()
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	r, err := a.New(ctx, b.basics(c, "messages"), b.fill)
	if err != nil {
		return b.located(err)
	}
	sh := newShape(r, begun)
	sh.chat = true
	if err := a.Converse(ctx, r, conversation); err != nil {
		r.Release()
		return err
	}
	return a.Answer(c, r, sh, b.streams())
}

// conversation is what becomes the prompt.
func (b *chatBody) conversation() (c chat.Conversation, err error) {
	messages, err := readMessages(b.Messages)
	if err != nil {
		return c, err
	}
	if c, err = b.Common.conversation(messages); err != nil {
		return c, err
	}
	if c.Tools, err = chat.ParseTools(b.Tools); err != nil {
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

// loaded is the answer of a chat or a generation that asks for nothing.
func loaded(model string) line {
	return line{Model: model, Created: time.Now().UTC(), Done: true, DoneReason: "load"}
}
