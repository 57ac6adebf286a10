// SPDX-License-Identifier: MIT

package lexeme

import "errors"

var (
	// ErrTooMuch is for work and expressions beyond the bounds of an arena or an operation.
	ErrTooMuch = errors.New("the expression takes too much work")

	// ErrFull is for a table of states that has reached its bound: a new one has to be made.
	ErrFull = errors.New("the table of states is full")
)
