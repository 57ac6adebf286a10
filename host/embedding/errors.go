// SPDX-License-Identifier: MIT

package embedding

import "errors"

// The errors of this package, for errors.Is.
var (
	ErrInvalid     = errors.New("invalid input")
	ErrQueueFull   = errors.New("too many requests for embeddings wait")
	ErrShare       = errors.New("your requests for embeddings, or those of your address, wait or are being sent, and have all the room that one client may have")
	ErrUnavailable = errors.New("the model for embeddings cannot be opened")
	ErrPass        = errors.New("computing the embeddings failed")
	ErrClosed      = errors.New("the service of embeddings is closed")
)
