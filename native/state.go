// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"
	"unsafe"
)

// State is the cells of one sequence in main memory. The memory is neither Go's nor malloc's: the
// system has it back when the state is closed, or once a copy from it has ended.
type State struct {
	object
	bytes     int
	positions int
}

// Share makes dst, which must be empty or begin with fewer positions of the same, begin with the
// first n positions of src. With a unified KV cache both sequences own the same cells; else this
// begins a copy of those that dst has not got, as they are now, whatever becomes of src.
func (c *Context) Share(src, dst int32, n int) error {
	return c.onMemory("share", func(e *C.ps_error) C.int32_t {
		return C.ps_memory_share(c.c(), C.int32_t(src), C.int32_t(dst), C.int32_t(n), e)
	})
}

// NewState makes a state for the contents and the number of positions of one that was saved
// elsewhere, in a context with the same model and options. Its Contents are zero. RestoreState
// refuses contents that end early, or are of other cells; whether they are intact is for the
// caller to know: llama.cpp believes the numbers in them.
func NewState(size, positions int) (*State, error) {
	if size < 0 || positions < 1 || positions > math.MaxInt32 {
		return nil, fmt.Errorf("%w: a state of %d bytes and %d positions", ErrInvalid, size, positions)
	}
	var err C.ps_error
	var state *C.ps_state
	var bytes C.size_t
	if err := failure(C.ps_state_new(C.size_t(size), C.int32_t(positions), &state, &bytes, &err), &err); err != nil {
		return nil, err
	}
	return newState(state, bytes, positions), nil
}

// newState takes over a state of llama.cpp's.
func newState(state *C.ps_state, bytes C.size_t, positions int) *State {
	s := &State{bytes: int(bytes), positions: positions}
	s.own(unsafe.Pointer(state), nil, func() { C.ps_state_free(state) })
	return s
}

// Contents are the bytes of the state, which are llama.cpp's own of a sequence. They belong to it:
// a caller keeps it open as long as it uses them. They are complete once nothing is left to copy.
// nil once the state is closed.
func (s *State) Contents() []byte {
	if s.enter() != nil {
		return nil
	}
	defer s.leave()
	var size C.size_t
	data := C.ps_state_data((*C.ps_state)(s.h.c), &size)
	return unsafe.Slice((*byte)(data), int(size))
}

// Keep makes a second state of the same memory, which stays until both are closed. The first must
// be open.
func (s *State) Keep() *State {
	k := &State{bytes: s.bytes, positions: s.positions}
	s.h.keep()
	k.h = s.h
	k.cleanup = runtime.AddCleanup(&k.object, (*handle).drop, s.h)
	return k
}

// SaveState begins a copy of the cells of a sequence to main memory.
func (c *Context) SaveState(seq int32) (*State, error) { return c.saveState(seq, nil) }

// saveState saves what a head knows of the sequence, too; nil: there is none.
func (c *Context) saveState(seq int32, h *Head) (*State, error) {
	var state *C.ps_state
	var bytes C.size_t
	_, last, err := c.Range(seq)
	if err != nil {
		return nil, err
	}
	err = c.withHead("save state", h, func(head *C.ps_context, e *C.ps_error) C.int32_t {
		return C.ps_state_save(c.c(), head, C.int32_t(seq), &state, &bytes, e)
	})
	if err != nil {
		return nil, err
	}
	return newState(state, bytes, last+1), nil
}

// RestoreState replaces a sequence by the first n positions of a state that was saved from a
// context with the same options. It begins a copy of them.
func (c *Context) RestoreState(seq int32, s *State, n int) error {
	return c.restoreState(seq, s, n, nil)
}

func (c *Context) restoreState(seq int32, s *State, n int, h *Head) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	return c.withHead("restore state", h, func(head *C.ps_context, e *C.ps_error) C.int32_t {
		return C.ps_state_restore(c.c(), head, C.int32_t(seq), (*C.ps_state)(s.h.c), C.int32_t(n), e)
	})
}

// withHead makes a call on the memory of the context and of its head, which is null where there is
// none.
func (c *Context) withHead(what string, h *Head, call func(head *C.ps_context, e *C.ps_error) C.int32_t) error {
	return c.onMemory(what, func(e *C.ps_error) C.int32_t {
		if h == nil || h.context.enterAlone() != nil {
			return call(nil, e)
		}
		defer h.context.leaveAlone()
		return call(h.context.c(), e)
	})
}

// ContinueCopy goes on with the copy that Share, SaveState or RestoreState began, for about so
// long, and reports whether nothing is left to copy. A copy out of main memory has a thread of its
// own, and is only looked at unless here is set or limit is negative. There is one copy at a time:
// what begins another, or changes what it reads or writes, finishes it first, and so does a pass
// over the sequence that it fills.
func (c *Context) ContinueCopy(limit time.Duration, here bool) (done bool) {
	var d C.bool
	err := c.onMemory("copy", func(e *C.ps_error) C.int32_t { return C.ps_copy_continue(c.c(), C.int64_t(limit), C.bool(here), &d, e) })
	return err != nil || bool(d) // a closed context has nothing to copy
}

// FinishCopy finishes the copy that runs, if any.
func (c *Context) FinishCopy() { c.ContinueCopy(-1, true) }

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
	return failure(C.ps_copy_continue(c.c(), -1, true, &done, &c.err), &c.err)
}

// Bytes is how much memory the state takes.
func (s *State) Bytes() int { return s.bytes }

// SaveCheckpoint copies the part of a sequence that cannot be cut, as it is now: the states of
// recurrent layers and the cells of sliding windows. It takes the memory of a spent checkpoint if
// that fits and nobody else keeps it, and closes that; nil: there is none. ErrUnsupported: the
// model's memory has no such part.
func (c *Context) SaveCheckpoint(seq int32, spent *State) (*State, error) {
	var old *C.ps_state
	if spent != nil && spent.h.owners.Load() > 1 { // somebody else has kept it, and may read it
		defer func() { _ = spent.Close() }()
	} else if spent != nil && spent.enter() == nil {
		old = (*C.ps_state)(spent.h.c)
		defer func() { _ = spent.Close() }() // closing twice is harmless
		defer spent.leave()
	}
	_, last, err := c.Range(seq)
	if err != nil {
		return nil, err
	}
	var state *C.ps_state
	var bytes C.size_t
	err = c.onMemory("checkpoint", func(e *C.ps_error) C.int32_t {
		return C.ps_checkpoint_save(c.c(), C.int32_t(seq), old, &state, &bytes, e)
	})
	if err != nil {
		return nil, err
	}
	return newState(state, bytes, last+1), nil
}

// RestoreCheckpoint cuts a sequence to the positions that it had when the checkpoint was taken. It
// must have begun with the same tokens since then. After an error the sequence is empty.
func (c *Context) RestoreCheckpoint(seq int32, s *State) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	return c.onMemory("restore checkpoint", func(e *C.ps_error) C.int32_t {
		return C.ps_checkpoint_restore(c.c(), C.int32_t(seq), (*C.ps_state)(s.h.c), C.int32_t(s.positions), e)
	})
}
