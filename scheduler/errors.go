// SPDX-License-Identifier: MIT

package scheduler

import "errors"

// Errors that Submit, a stream's calls and its end event may carry; compare with errors.Is.
var (
	ErrQueueFull     = errors.New("the queue is full")
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
