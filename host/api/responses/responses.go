// SPDX-License-Identifier: MIT

// Package responses serves OpenAI's Responses API.
package responses

import (
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
)

// API answers the routes. Nothing is stored: a response cannot be fetched later, nor gone on with
// by its id.
type API struct{ *wire.Server }

// Routes are the routes of the API.
func (a API) Routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodPost, Path: "/v1/responses", Handler: a.create, Body: body{}},
		{Method: http.MethodPost, Path: "/responses", Handler: a.create, Body: body{}},
		{Method: http.MethodPost, Path: "/v1/responses/input_tokens", Handler: a.countTokens, Body: body{}},
		{Method: http.MethodPost, Path: "/responses/input_tokens", Handler: a.countTokens, Body: body{}},
	}
}

func (a API) create(c echo.Context) error { return forCodex(a.answer(c)) }

func (a API) answer(c echo.Context) error {
	r, b, err := a.read(c)
	if err != nil {
		return err
	}
	if !b.onlyLoads() {
		return a.Answer(c, r, newShape(b, r), b.Stream)
	}
	defer r.Release()
	loaded := newShape(b, r).object(completed)
	loaded.Usage = &usage{}
	return c.JSON(http.StatusOK, loaded)
}

// forCodex makes what comes again with the request a bad request: Codex repeats it after any other
// status.
func forCodex(err error) error {
	if err == nil || errors.Is(err, refusal.ErrGone) {
		return err
	}
	e := *completion.AsError(err, "input")
	if e.Kind == refusal.KindPluginFault || e.Kind == refusal.KindImpossible {
		e.Kind = refusal.KindInvalid
	}
	return &e
}

// countTokens tells how many tokens the prompt of a response would have.
func (a API) countTokens(c echo.Context) error {
	r, _, err := a.read(c)
	if err != nil {
		return err
	}
	defer r.Release()
	wire.Warn(c, r.LeftOut(), nil)
	return c.JSON(http.StatusOK, map[string]any{"object": "response.input_tokens", "input_tokens": len(r.Prompts[0])})
}

// read makes the prompt of a body.
func (a API) read(c echo.Context) (*completion.Prompted, *body, error) {
	b := newBody()
	size, err := wire.ReadBody(c, b)
	if err != nil {
		return nil, nil, err
	}
	asked, err := b.asked(wire.CallerOf(c), size)
	if err != nil {
		return nil, nil, inTool(err)
	}
	r, err := a.Prompt(c.Request().Context(), asked)
	return r, b, inTool(err)
}

// inTool has an error about a function that a tool is name its field in the tool itself, where it
// stands here.
func inTool(err error) error {
	var unfit *chat.Invalid
	var refused *refusal.Error
	if !errors.As(err, &unfit) && !errors.As(err, &refused) {
		return err
	}
	e := *completion.AsError(err, "input")
	field := e.Field
	if strings.HasPrefix(field, "tools[") {
		e.Field = strings.Replace(field, ".function.", ".", 1)
		e.Message = strings.Replace(e.Message, field, e.Field, 1)
	}
	return &e
}
