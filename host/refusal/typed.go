// SPDX-License-Identifier: MIT

package refusal

import (
	"errors"
	"fmt"
	"time"
)

// ModelError says why a model could not be opened.
type ModelError struct {
	Model string
	Err   error
}

// Error implements error.
func (e *ModelError) Error() string { return fmt.Sprintf("open the model %q: %v", e.Model, e.Err) }

// Unwrap returns why.
func (e *ModelError) Unwrap() error { return e.Err }

// ErrClosed is the error of all that is asked of a model that was closed.
var ErrClosed = errors.New("the model is closed")

// RequestError says what is wrong with a request, to the program that has made it.
type RequestError struct {
	Code    string // what is wrong, in a word that never changes; docs/api.md and docs/library.md have them
	Field   string // at fault, as the API calls it; "": none
	Message string
	Err     error
}

// Error implements error.
func (e *RequestError) Error() string { return e.Message }

// Unwrap returns what the error was made of.
func (e *RequestError) Unwrap() error { return e.Err }

// As has each of the types below be a RequestError, too.
func (e *RequestError) As(target any) bool {
	t, is := target.(**RequestError)
	if is {
		*t = e
	}
	return is
}

// PromptTooLong is the error of a prompt that the context cannot hold.
type PromptTooLong struct {
	RequestError
	Tokens, Context int // Tokens is 0 where the text is too long to be tokenised
}

// PluginFault is the error of a plugin that has failed or refuses the request, and of a module or a
// script that cannot be used.
type PluginFault struct{ RequestError }

// Overload says that too much is asked for at a time.
type Overload struct {
	RequestError
	Retry time.Duration // after which to try again
}

// Typed is the refusal as the program gets it whose own request it is: with the message, and a type
// for what programs act on. err is what the refusal was made of.
func (e *Error) Typed(err error) error {
	base := RequestError{Code: e.Code, Field: e.Field, Message: e.Message, Err: err}
	switch {
	case e.Code == ClosedCode:
		return ErrClosed
	case e.Code == TooLongCode:
		return &PromptTooLong{base, e.Numbers[PromptTokens], e.Numbers[ContextTokens]}
	case e.Kind == KindPluginFault, e.Code == ScriptCode, e.Code == PluginCode:
		return &PluginFault{base}
	case e.Retry > 0:
		return &Overload{base, time.Duration(e.Retry) * time.Second}
	}
	return &base
}
