// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"runtime"
	"slices"
	"time"
	"unsafe"
)

// State is the cells of one sequence, in memory that is neither Go's nor malloc's: the system has it again when it is closed.
type State struct {
	guard
	h         *handle
	cleanup   runtime.Cleanup
	bytes     int
	positions int
}

// Share makes dst, which must be empty, begin with the first n positions of src. With unified memory they get one more owner;
// else their cells are copied by Move, as they are now, whatever becomes of src.
func (c *Context) Share(src, dst int32, n int) error {
	return c.onMemory("share", func(e *C.ps_error) C.int32_t {
		return C.ps_memory_share(c.c(), C.int32_t(src), C.int32_t(dst), C.int32_t(n), e)
	})
}

// SaveState makes a copy of the cells of a sequence, which Move fills.
func (c *Context) SaveState(seq int32) (*State, error) {
	var state *C.ps_state
	var taken C.size_t
	_, last, err := c.Range(seq)
	if err != nil {
		return nil, err
	}
	err = c.onMemory("save state", func(e *C.ps_error) C.int32_t {
		return C.ps_state_save(c.c(), C.int32_t(seq), &state, &taken, e)
	})
	if err != nil {
		return nil, err
	}
	s := &State{h: newHandle(unsafe.Pointer(state), func() { C.ps_state_free(state) }), bytes: int(taken), positions: last + 1}
	s.cleanup = runtime.AddCleanup(s, func(h *handle) { h.drop() }, s.h)
	return s, nil
}

// RestoreState replaces a sequence by the first n positions of a state, which was saved from a like context. Move copies them.
func (c *Context) RestoreState(seq int32, s *State, n int) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	return c.onMemory("restore state", func(e *C.ps_error) C.int32_t {
		return C.ps_state_restore(c.c(), C.int32_t(seq), (*C.ps_state)(s.h.c), C.int32_t(n), e)
	})
}

// Move goes on with the copy that Share, SaveState or RestoreState began, for about so long, and tells whether it is done. One is
// on its way at a time: what begins another, or changes what it reads or writes, finishes it, and so does
// a pass over the sequence that is being filled.
func (c *Context) Move(limit time.Duration) (done bool) {
	var d C.bool
	err := c.onMemory("move", func(e *C.ps_error) C.int32_t { return C.ps_move(c.c(), C.int64_t(limit), &d, e) })
	return err != nil || bool(d) // a closed context has nothing to move
}

// Settle finishes the copy that is on its way.
func (c *Context) Settle() { c.Move(-1) }

// Filling is the sequence that is being filled, or -1.
func (c *Context) Filling() int32 {
	if c.enterAlone() != nil {
		return -1
	}
	defer c.leaveAlone()
	return int32(C.ps_move_target(c.c()))
}

// settleFor finishes the copy that is on its way where a batch needs it.
func (c *Context) settleFor(b *Batch) error {
	target := int32(C.ps_move_target(c.c()))
	if target < 0 || b.Beside || !slices.Contains(b.Sequences, target) {
		return nil
	}
	var done C.bool
	return failure(C.ps_move(c.c(), -1, &done, &c.err), &c.err)
}

// Bytes is how much memory the state has taken.
func (s *State) Bytes() int { return s.bytes }

// Positions is how many positions it has.
func (s *State) Positions() int { return s.positions }

// Close gives the memory back, as soon as a copy that is on its way is done.
func (s *State) Close() error {
	if s.shut() {
		s.cleanup.Stop()
		s.h.drop()
	}
	return nil
}
