// SPDX-License-Identifier: MIT

package scheduler

import (
	"errors"
	"fmt"
)

// Errors that Submit, a stream's calls and its end event may carry; compare with errors.Is.
var (
	ErrQueueFull     = errors.New("the queue is full")
	ErrQueueShare    = errors.New("as many requests of this caller wait as one may have")
	ErrTooMany       = errors.New("more answers at once than there can be")
	ErrClosed        = errors.New("the scheduler is closed")
	ErrEmptyPrompt   = errors.New("the prompt has no tokens")
	ErrPromptTooLong = errors.New("the prompt is longer than the context")
	ErrBadRequest    = errors.New("invalid request")
	ErrDeadline      = errors.New("the deadline has passed")
	ErrEnded         = errors.New("the stream has ended")
	ErrSlowReader    = errors.New("the reader did not keep up")
	ErrNoCells       = errors.New("no KV cells left")
	ErrPass          = errors.New("the forward pass failed")
	ErrLost          = errors.New("what computes the answers was lost")
)

// PromptTooLong is an ErrPromptTooLong with its numbers.
type PromptTooLong struct{ Tokens, Context int }

// Error names the numbers.
func (e *PromptTooLong) Error() string {
	return fmt.Sprintf("%v: %d tokens, the context has room for %d and one to generate", ErrPromptTooLong, e.Tokens, e.Context-1)
}

// Is makes the error an ErrPromptTooLong.
func (*PromptTooLong) Is(target error) bool { return target == ErrPromptTooLong }
