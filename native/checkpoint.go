// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

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
