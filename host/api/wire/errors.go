// SPDX-License-Identifier: MIT

package wire

import (
	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/refusal"
)

// ErrorShape is the body of an error answer in a dialect; it is encoded as JSON.
type ErrorShape func(e *refusal.Error) any

const errorShapeKey = "error shape"

// Errors makes middleware that has errors written in a dialect's shape.
func Errors(shape ErrorShape) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			c.Set(errorShapeKey, shape)
			return next(c)
		}
	}
}

// ErrorBody is the body of an error answer, in the dialect of its route: OpenAI's where none is
// set.
func ErrorBody(c echo.Context, e *refusal.Error) any {
	if shape, ok := c.Get(errorShapeKey).(ErrorShape); ok {
		return shape(e)
	}
	return OpenAIError(e)
}

// ErrorEnvelope is the body of an error answer in OpenAI's shape.
type ErrorEnvelope struct {
	Error ErrorObject `json:"error"`
}

// ErrorObject is an error in OpenAI's shape.
type ErrorObject struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`

	// Of a prompt that is too long, as llama-server has them.
	PromptTokens int `json:"n_prompt_tokens,omitempty"`
	Context      int `json:"n_ctx,omitempty"`
}

// ErrorOf writes an error in OpenAI's shape.
func ErrorOf(e *refusal.Error) ErrorObject {
	b := ErrorObject{Code: e.Code, Message: e.Message, Type: TypeOf(e),
		PromptTokens: e.Numbers[refusal.PromptTokens], Context: e.Numbers[refusal.ContextTokens]}
	if e.Field != "" {
		b.Param = &e.Field
	}
	return b
}

// OpenAIError is the ErrorShape of OpenAI.
func OpenAIError(e *refusal.Error) any { return ErrorEnvelope{ErrorOf(e)} }
