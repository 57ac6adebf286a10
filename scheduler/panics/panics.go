// SPDX-License-Identifier: MIT

// Package panics turns panics into errors, so that a panic ends one request and not the process.
package panics

import (
	"fmt"
	"runtime/debug"
)

// Error is the error of a request during whose work something panicked: a stage, a rule, the
// backend, or the scheduler itself.
type Error struct {
	Value any
	Stack []byte // nil where it was logged before
}

// Error is the value alone; the stack is in the log.
func (e *Error) Error() string { return fmt.Sprintf("a panic: %v", e.Value) }

// Recovered makes an error of what recover has returned; nil of nil.
func Recovered(v any) error {
	if v == nil {
		return nil
	}
	return &Error{Value: v, Stack: debug.Stack()}
}

// Try runs f and returns its error, or its panic as an error.
func Try(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = Recovered(v)
		}
	}()
	return f()
}
