// SPDX-License-Identifier: MIT

package main

import "errors"

var (
	// errUsage marks wrong use of a command: exit code 2.
	errUsage = errors.New("wrong use")
	// errReported is a failure whose report has been printed already.
	errReported = errors.New("reported")
)

// usageError marks err as wrong use without changing its text.
type usageError struct{ err error }

func (e usageError) Error() string   { return e.err.Error() }
func (e usageError) Unwrap() []error { return []error{e.err, errUsage} }
