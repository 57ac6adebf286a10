// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import "fmt"

// Remove drops the positions [p0, p1) of a sequence; negative bounds are open. A recurrent model
// drops only whole sequences: ErrFailed, and nothing is changed.
func (c *Context) Remove(seq int32, p0, p1 int) error {
	return c.onMemory("remove", func(e *C.ps_error) C.int32_t {
		return C.ps_memory_remove(c.c(), C.int32_t(seq), C.int32_t(p0), C.int32_t(p1), e)
	})
}

// Range returns the first and the last position held of a sequence; both are -1 if it is empty.
// The first is above 0 where a sliding window has moved on.
func (c *Context) Range(seq int32) (first, last int, err error) {
	var f, l C.int32_t
	err = c.onMemory("range", func(e *C.ps_error) C.int32_t {
		return C.ps_memory_range(c.c(), C.int32_t(seq), &f, &l, e)
	})
	if err != nil {
		return -1, -1, err
	}
	return int(f), int(l), nil
}

func (c *Context) onMemory(what string, call func(e *C.ps_error) C.int32_t) error {
	if err := c.enterAlone(); err != nil {
		return err
	}
	defer c.leaveAlone()
	if code := call(&c.err); code != C.PS_OK {
		return fmt.Errorf("%s: %w", what, failure(code, &c.err))
	}
	return nil
}
