// SPDX-License-Identifier: MIT

package embedding

import "errors"

// The errors of this package, for errors.Is.
var (
	ErrInvalid     = errors.New("invalid input")
	ErrQueueFull   = errors.New("too many requests for embeddings wait")
	ErrUnavailable = errors.New("the model for embeddings cannot be opened")
	ErrPass        = errors.New("computing the embeddings failed")
	ErrClosed      = errors.New("the service of embeddings is closed")
)
