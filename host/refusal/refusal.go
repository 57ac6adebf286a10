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

// ShuttingDown refuses a request because the server is about to end.
func ShuttingDown() *Error {
	return &Error{Kind: KindUnavailable, Code: "shutting_down", Retry: 5, Message: "the server is shutting down"}
}

// ErrGone ends a request whose client has left: nobody reads an answer.
var ErrGone = errors.New("the client has gone")
