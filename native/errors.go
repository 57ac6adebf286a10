// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"errors"
	"fmt"
)

// The kinds of errors, for errors.Is. The error itself carries llama.cpp's own reason.
var (
	ErrClosed      = errors.New("used after Close")
	ErrInvalid     = errors.New("invalid argument")
	ErrFailed      = errors.New("llama.cpp failed")
	ErrNoMemory    = errors.New("out of memory")
	ErrNoCells     = errors.New("no room in the KV cache") // the pass had no effect
	ErrAborted     = errors.New("aborted")                 // a part of the batch may be in the cache
	ErrCancelled   = errors.New("cancelled")
	ErrUnsupported = errors.New("not supported by llama.cpp")
	ErrNoToken     = fmt.Errorf("%w: no token is left to choose from", ErrFailed) // biases and masks leave none
)

// What LoadModel finds wrong with a file before llama.cpp sees it.
var (
	ErrNotFound = errors.New("file not found")
	ErrNotGGUF  = errors.New("not a GGUF file")
	ErrBadModel = errors.New("bad model file")
	ErrTooLarge = errors.New("model too large for memory")
)

var sentinels = map[C.int32_t]error{
	C.PS_INVALID:     ErrInvalid,
	C.PS_FAILED:      ErrFailed,
	C.PS_NO_MEMORY:   ErrNoMemory,
	C.PS_NO_CELLS:    ErrNoCells,
	C.PS_ABORTED:     ErrAborted,
	C.PS_CANCELLED:   ErrCancelled,
	C.PS_UNSUPPORTED: ErrUnsupported,
	C.PS_NO_TOKEN:    ErrNoToken,
}

// failure turns a code of the shim into an error; the common case allocates nothing.
func failure(code C.int32_t, e *C.ps_error) error {
	if code == C.PS_OK {
		return nil
	}
	return fmt.Errorf("%w: %s", sentinels[code], C.GoString(&e.text[0]))
}
