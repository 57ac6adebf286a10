// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"slices"
	"time"
	"unsafe"
)

// State is the cells of one sequence in main memory. The memory is neither Go's nor malloc's: the system has it back when the state is
// closed, or once a copy from it has ended.
type State struct {
	object
	bytes     int
	positions int
}

// Share makes dst, which must be empty, begin with the first n positions of src. With a unified KV cache both sequences own the same
// cells; else this begins a copy of them as they are now, whatever becomes of src.
func (c *Context) Share(src, dst int32, n int) error {
	return c.onMemory("share", func(e *C.ps_error) C.int32_t {
		return C.ps_memory_share(c.c(), C.int32_t(src), C.int32_t(dst), C.int32_t(n), e)
	})
}

// SaveState begins a copy of the cells of a sequence to main memory.
func (c *Context) SaveState(seq int32) (*State, error) {
	var state *C.ps_state
	var bytes C.size_t
	_, last, err := c.Range(seq)
	if err != nil {
		return nil, err
	}
	err = c.onMemory("save state", func(e *C.ps_error) C.int32_t {
		return C.ps_state_save(c.c(), C.int32_t(seq), &state, &bytes, e)
	})
	if err != nil {
		return nil, err
	}
	s := &State{bytes: int(bytes), positions: last + 1}
	s.own(unsafe.Pointer(state), nil, func() { C.ps_state_free(state) })
	return s, nil
}

// RestoreState replaces a sequence by the first n positions of a state that was saved from a context with the same options. It begins a
// copy of them.
func (c *Context) RestoreState(seq int32, s *State, n int) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	return c.onMemory("restore state", func(e *C.ps_error) C.int32_t {
		return C.ps_state_restore(c.c(), C.int32_t(seq), (*C.ps_state)(s.h.c), C.int32_t(n), e)
	})
}

// ContinueCopy goes on with the copy that Share, SaveState or RestoreState began, for about so long, and reports whether nothing is left
// to copy. There is one copy at a time: what begins another, or changes what it reads or writes, finishes it first, and so does a pass
// over the sequence that it fills.
func (c *Context) ContinueCopy(limit time.Duration) (done bool) {
	var d C.bool
	err := c.onMemory("copy", func(e *C.ps_error) C.int32_t { return C.ps_copy_continue(c.c(), C.int64_t(limit), &d, e) })
	return err != nil || bool(d) // a closed context has nothing to copy
}

// FinishCopy finishes the copy that runs, if any.
func (c *Context) FinishCopy() { c.ContinueCopy(-1) }

// CopyTarget is the sequence that the running copy fills, or -1.
func (c *Context) CopyTarget() int32 {
	if c.enterAlone() != nil {
		return -1
	}
	defer c.leaveAlone()
	return int32(C.ps_copy_target(c.c()))
}

// finishCopyFor finishes the copy that runs if it fills a sequence of the batch.
func (c *Context) finishCopyFor(b *Batch) error {
	target := int32(C.ps_copy_target(c.c()))
	if target < 0 || b.DuringCopy || !slices.Contains(b.Sequences, target) {
		return nil
	}
	var done C.bool
	return failure(C.ps_copy_continue(c.c(), -1, &done, &c.err), &c.err)
}

// Bytes is how much memory the state takes.
func (s *State) Bytes() int { return s.bytes }

// Positions is how many positions it has.
func (s *State) Positions() int { return s.positions }
