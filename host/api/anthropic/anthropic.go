// SPDX-License-Identifier: MIT

// Package anthropic serves Anthropic's Messages API.
package anthropic

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
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
	r, b, err := a.read(c, (*messagesBody).checkAnswer)
	if err != nil {
		return err
	}
	return a.Answer(c, r, newShape(r, b), b.Stream)
}

func (a API) countTokens(c echo.Context) error {
	r, _, err := a.read(c, func(*messagesBody) error { return nil })
	if err != nil {
		return err
	}
	defer r.Release()
	wire.Warn(c, r.LeftOut(), nil)
	return c.JSON(http.StatusOK, map[string]int{"input_tokens": len(r.Prompts[0])})
}

// read makes the prompt of a body. check is for what only one of the routes asks of it.
func (a API) read(c echo.Context, check func(*messagesBody) error) (*completion.Prompted, *messagesBody, error) {
	nameRequest(c)
	b := &messagesBody{CommonFields: completion.DefaultCommonFields()}
	size, err := wire.ReadBody(c, b)
	if err != nil {
		return nil, nil, err
	}
	if err := b.check(); err != nil {
		return nil, nil, err
	}
	if err := check(b); err != nil {
		return nil, nil, err
	}
	asked, err := b.asked(wire.CallerOf(c), size)
	if err != nil {
		return nil, nil, completion.AsError(err, "messages")
	}
	r, err := a.Prompt(c.Request().Context(), asked)
	return r, b, err
}

// nameRequest gives the request's id the header that Anthropic's clients read.
func nameRequest(c echo.Context) {
	h := c.Response().Header()
	h.Set("Request-Id", h.Get(echo.HeaderXRequestID))
}

// errorBody is an error, as an answer or as an event.
type errorBody struct {
	Type  string      `json:"type"`
	Error errorObject `json:"error"`
}

type errorObject struct {
	Type    string `json:"type"`
	Message string `json:"message"`

	// Additions of ours: what OpenAI's format contains about an error.
	Code  string `json:"code,omitempty"`
	Param string `json:"param,omitempty"`
}

// EventName is the name of the event.
func (errorBody) EventName() string { return "error" }

// Error is the wire.ErrorShape of the API.
func Error(e *refusal.Error) any {
	message := e.Message
	if e.Code == refusal.TooLongCode { // in words that Anthropic's clients look for
		message = "prompt is too long: " + message
		if tokens := e.Numbers[refusal.PromptTokens]; tokens > 0 {
			message = fmt.Sprintf("prompt is too long: %d tokens > %d maximum", tokens, e.Numbers[refusal.ContextTokens])
		}
	}
	return errorBody{Type: "error", Error: errorObject{Type: typeOf(wire.StatusOf(e)), Message: message, Code: e.Code, Param: e.Field}}
}

// typeOf is Anthropic's word for the errors of a status.
func typeOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusServiceUnavailable:
		return "overloaded_error"
	}
	if status >= http.StatusInternalServerError {
		return "api_error"
	}
	return "invalid_request_error"
}
