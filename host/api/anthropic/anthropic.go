// SPDX-License-Identifier: MIT

// Package anthropic serves Anthropic's Messages API.
package anthropic

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/media"
)

// API answers Anthropic's routes.
type API struct{ *wire.Server }

// Routes are the routes of the API.
func (a API) Routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodPost, Path: "/v1/messages", Handler: a.messages, Body: messagesBody{}},
		{Method: http.MethodPost, Path: "/v1/messages/count_tokens", Handler: a.countTokens, Body: messagesBody{}},
	}
}

func (a API) messages(c echo.Context) error {
	r, b, err := a.parse(c, (*messagesBody).checkAnswer)
	if err != nil {
		return err
	}
	return a.Answer(c, r, newShape(r, b), b.Stream)
}

func (a API) countTokens(c echo.Context) error {
	r, _, err := a.parse(c, func(*messagesBody) error { return nil })
	if err != nil {
		return err
	}
	defer r.Release()
	wire.Warn(c, r)
	return c.JSON(http.StatusOK, map[string]int{"input_tokens": len(r.Prompts[0])})
}

// parse turns a body into a request. check is for what only one of the routes asks of it.
func (a API) parse(c echo.Context, check func(*messagesBody) error) (*completion.TextRequest, *messagesBody, error) {
	nameRequest(c)
	body, err := wire.Read(c)
	if err != nil {
		return nil, nil, err
	}
	b := &messagesBody{CommonFields: completion.DefaultCommonFields()}
	if err := wire.Decode(body, b); err != nil {
		return nil, nil, err
	}
	if err := b.check(); err != nil {
		return nil, nil, err
	}
	if err := check(b); err != nil {
		return nil, nil, err
	}
	conversation, err := b.conversation()
	if err != nil {
		return nil, nil, completion.AsError(err, "messages")
	}
	ctx := c.Request().Context()
	asked := completion.TextRequest{Caller: wire.CallerOf(c), ModelName: b.Model, PromptField: "messages", Common: &b.CommonFields, Size: len(body),
		Pictures: media.HasPictures(conversation.Media)}
	r, err := a.New(ctx, asked, func(_ context.Context, r *completion.TextRequest) error {
		r.Converse(conversation)
		return b.fill(r)
	})
	return r, b, err
}

// nameRequest gives the request's id the header that Anthropic's clients read.
func nameRequest(c echo.Context) {
	h := c.Response().Header()
	h.Set("Request-Id", h.Get(echo.HeaderXRequestID))
}
