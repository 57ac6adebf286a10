// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"fmt"
	"unsafe"
)

// Remove drops the positions [p0, p1) of a sequence; negative bounds are open. A recurrent model drops only whole
// sequences: ErrFailed, and nothing is changed.
func (c *Context) Remove(seq int32, p0, p1 int) error {
	return c.onMemory("remove", func(e *C.ps_error) C.int32_t {
		return C.ps_memory_remove(c.c(), C.int32_t(seq), C.int32_t(p0), C.int32_t(p1), e)
	})
}

// Copy makes the positions [p0, p1) of src belong to dst too. Without unified memory only whole sequences copy.
func (c *Context) Copy(src, dst int32, p0, p1 int) error {
	return c.onMemory("copy", func(e *C.ps_error) C.int32_t {
		return C.ps_memory_copy(c.c(), C.int32_t(src), C.int32_t(dst), C.int32_t(p0), C.int32_t(p1), e)
	})
}

// Keep drops every sequence but one.
func (c *Context) Keep(seq int32) error {
	return c.onMemory("keep", func(e *C.ps_error) C.int32_t { return C.ps_memory_keep(c.c(), C.int32_t(seq), e) })
}

// Clear drops every sequence; with data the cells are zeroed too.
func (c *Context) Clear(data bool) error {
	return c.onMemory("clear", func(e *C.ps_error) C.int32_t { return C.ps_memory_clear(c.c(), C._Bool(data), e) })
}

// Range returns the first and the last position held of a sequence; both are -1 where it is empty. The first is above
// 0 where a sliding window has moved on.
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

// StateSize is how many bytes SaveState would write for a sequence.
func (c *Context) StateSize(seq int32) (int, error) {
	var n C.size_t
	err := c.onMemory("state", func(e *C.ps_error) C.int32_t { return C.ps_state_size(c.c(), C.int32_t(seq), &n, e) })
	return int(n), err
}

// SaveState copies the cells of a sequence into dst and returns the bytes written.
func (c *Context) SaveState(seq int32, dst []byte) (int, error) {
	var n C.size_t
	err := c.onMemory("save state", func(e *C.ps_error) C.int32_t {
		return C.ps_state_save(c.c(), C.int32_t(seq), (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(dst))), C.size_t(len(dst)), &n, e)
	})
	return int(n), err
}

// RestoreState puts a saved state into a sequence. src must be what SaveState wrote on a like context, unchanged:
// llama.cpp trusts it.
func (c *Context) RestoreState(seq int32, src []byte) error {
	return c.onMemory("restore state", func(e *C.ps_error) C.int32_t {
		return C.ps_state_restore(c.c(), C.int32_t(seq), (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(src))), C.size_t(len(src)), e)
	})
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
