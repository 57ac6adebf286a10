// SPDX-License-Identifier: MIT

package main

import "errors"

var (
	// errUsage marks what the caller got wrong: exit code 2.
	errUsage = errors.New("wrong use")
	// errReported is a failure whose report has been printed already.
	errReported = errors.New("reported")
)

// usageError is an error of the caller's, whose text is err's alone.
type usageError struct{ err error }

func (e usageError) Error() string   { return e.err.Error() }
func (e usageError) Unwrap() []error { return []error{e.err, errUsage} }
