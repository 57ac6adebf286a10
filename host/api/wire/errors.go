// SPDX-License-Identifier: MIT

package wire

import "github.com/penstock/penstock/host/completion"

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
}

// ErrorOf writes an error in OpenAI's shape.
func ErrorOf(e *completion.Error) ErrorObject {
	b := ErrorObject{Code: e.Code, Message: e.Message, Type: e.Type}
	if e.Param != "" {
		b.Param = &e.Param
	}
	return b
}

// OpenAIError is the ErrorShape of OpenAI.
func OpenAIError(e *completion.Error) any { return ErrorEnvelope{ErrorOf(e)} }
