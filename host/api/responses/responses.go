// SPDX-License-Identifier: MIT

// Package responses serves OpenAI's Responses API, by way of its chat completions.
package responses

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
)

// API answers the routes. Nothing is stored: a response cannot be fetched later, nor gone on with by its id.
type API struct{ *wire.Server }

// Routes are the routes of the API.
func (a API) Routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodPost, Path: "/v1/responses", Handler: a.create, Body: body{}},
		{Method: http.MethodPost, Path: "/responses", Handler: a.create, Body: body{}},
	}
}

func (a API) create(c echo.Context) error {
	data, err := wire.Read(c)
	if err != nil {
		return err
	}
	b := newBody()
	if err := wire.Decode(data, b); err != nil {
		return err
	}
	chat, err := b.chat()
	if err != nil {
		return err
	}
	r, err := chat.Request(c.Request().Context(), a.Service, wire.CallerOf(c), "input", len(data))
	if err != nil {
		return err
	}
	return a.Answer(c, r, newShape(b, r), b.Stream)
}
