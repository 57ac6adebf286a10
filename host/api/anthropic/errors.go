// SPDX-License-Identifier: MIT

package anthropic

import (
	"fmt"
	"net/http"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/refusal"
)

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
