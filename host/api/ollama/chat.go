// SPDX-License-Identifier: MIT

package ollama

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
)

// chatBody is POST /api/chat.
type chatBody struct {
	Common
	Messages []json.RawMessage `json:"messages"`
	Tools    json.RawMessage   `json:"tools" api:"refused"` // refused while nothing acts on them
}

func (a API) chat(c echo.Context) error {
	begun := time.Now()
	b := &chatBody{Common: newCommon()}
	if err := b.read(c, b); err != nil {
		return err
	}
	if len(b.Messages) == 0 {
		return a.load(c, &b.Common, func(l *line) { l.Message = &said{Role: "assistant"} })
	}
	if completion.IsSet(b.Tools) {
		return completion.Unsupported("tools", "tools are not supported by this server")
	}
	messages, err := readMessages(b.Messages)
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
	if err := a.Converse(ctx, r, chat.Conversation{Messages: messages, TemplateArgs: b.TemplateArgs}); err != nil {
		r.Release()
		return err
	}
	return a.Answer(c, r, sh, b.streams())
}

// load answers a request that asks for nothing, with which Ollama's clients have a model loaded. adapt gives the answer the fields of
// the route.
func (a API) load(c echo.Context, b *Common, adapt func(*line)) error {
	m, release, err := a.Models.Use(c.Request().Context(), modelName(b.Model))
	if err != nil {
		return err
	}
	defer release()
	l := line{Model: m.Name, Created: time.Now().UTC(), Done: true, DoneReason: "load"}
	adapt(&l)
	return c.JSON(http.StatusOK, l)
}
