// SPDX-License-Identifier: MIT

// Package refusal says what a client is refused and why, in the words of no API.
//
// # Notes
//
//   - host/api/wire knows which status of HTTP each [Kind] has, and which type in the body of an
//     error.
//   - A package below host/api returns an [Error] for what a client can fix or should know. Any
//     other error means a fault of ours.
//   - Programs rely on Code, so it never changes; the message is for people, and may.
package refusal

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Error is a refusal. Each dialect writes it in its own shape.
type Error struct {
	Kind    Kind
	Code    string         // what is wrong, in a word
	Message string         // for the client
	Public  string         // what anybody may read of it, in the log too; "": the message
	Field   string         // of the request, at fault; "": none
	Retry   int            // seconds after which to try again; 0: not said
	Numbers map[string]int // what else a client may want to know, by name
}

// Error is what anybody may read: the message, unless that is for the client alone.
func (e *Error) Error() string { return cmp.Or(e.Public, e.Message) }

// Invalid refuses the value of a field.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Kind: KindInvalid, Code: "invalid_value", Field: field, Message: fmt.Sprintf(format, args...)}
}

// Unsupported refuses a field that this server does not act on, rather than ignore it.
func Unsupported(field, format string, args ...any) *Error {
	return &Error{Kind: KindInvalid, Code: "unsupported", Field: field, Message: fmt.Sprintf(format, args...)}
}

// ClosedCode is the code of ShuttingDown.
const ClosedCode = "shutting_down"

// ShuttingDown refuses a request because the server is about to end.
func ShuttingDown() *Error {
	return &Error{Kind: KindUnavailable, Code: ClosedCode, Retry: 5, Message: "the server is shutting down"}
}

// ErrGone ends a request whose client has left: nobody reads an answer.
var ErrGone = errors.New("the client has gone")

// Kind is the kind of a refusal. It tells clients whose fault it is, and whether to try again.
type Kind int

// The kinds of refusals.
const (
	KindInternal        Kind = iota // a fault of ours
	KindInvalid                     // the request cannot be read, or asks for what is not allowed
	KindTooLong                     // a text for an embedding is longer than a forward pass
	KindUnauthenticated             // the key is missing or wrong
	KindForbidden                   // whoever asks may not
	KindNotFound                    // what the request names is not here
	KindWrongMethod                 // the route has other methods
	KindNoUpgrade                   // the route opens WebSockets, and the request asks for none
	KindLate                        // the request took too long to arrive
	KindConflict                    // it does not fit what is here already
	KindInUse                       // likewise, until others have ended
	KindLost                        // what the request names is here no more
	KindTooLarge                    // the request has too many bytes or values
	KindWrongMedia                  // the body is of another type than the route takes
	KindImpossible                  // the request is sound, and cannot be carried out, now or later
	KindPluginFault                 // a plugin has failed in carrying it out
	KindBusy                        // the caller, or all together, ask for too much at a time
	KindPluginsBusy                 // there is no room for another guest
	KindLacking                     // the server was not started so that it can do this
	KindUnavailable                 // for a while the server cannot do this
	KindHubForbids                  // the server that models are pulled from wants a key, or another
	KindHubBusy                     // that server has had too many requests
)

// TooLongCode is the code of a TooLong refusal, which is OpenAI's.
const TooLongCode = "context_length_exceeded"

// The numbers of a refusal for a prompt that is too long, under llama-server's names.
const (
	PromptTokens  = "n_prompt_tokens" // absent where the text is too long to be tokenised
	ContextTokens = "n_ctx"
)

// ScriptCode is the code of a refusal for what is wrong in a script, or in what it is given.
const ScriptCode = "script_error"

// PluginCode is the code of what a plugin refuses.
const PluginCode = "plugin_refused"

// The numbers of a refusal for a script, from 1; absent where they are not known.
const (
	ScriptLine   = "line"
	ScriptColumn = "column"
)

// TooLong refuses a prompt with more tokens than the context can hold. Clients that
// then shorten their conversation look for words: those of llama-server and OpenAI stand here, and
// Anthropic's dialect puts its own before them.
func TooLong(field string, tokens, context int) *Error {
	return &Error{Kind: KindInvalid, Code: TooLongCode, Field: field,
		Message: fmt.Sprintf("request (%d tokens) exceeds the available context size (%d tokens), the answer included, try increasing it. "+
			"This model's maximum context length is %d tokens", tokens, context, context),
		Numbers: map[string]int{PromptTokens: tokens, ContextTokens: context}}
}

// TextTooLong is TooLong for a text that is refused before it is tokenised, for the reason given.
func TextTooLong(field, reason string, context int) *Error {
	return &Error{Kind: KindInvalid, Code: TooLongCode, Field: field,
		Message: fmt.Sprintf("request exceeds the available context size (%d tokens), try increasing it: %s. "+
			"This model's maximum context length is %d tokens", context, reason, context),
		Numbers: map[string]int{ContextTokens: context}}
}

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
