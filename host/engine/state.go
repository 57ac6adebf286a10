// SPDX-License-Identifier: MIT

package engine

import (
	"fmt"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// A state stays in this process, so it has neither header nor checksum: summing up those of long conversations would hold up
// every stream by half of what copying them takes.

// SaveState implements kvcache.StateMemory.
func (b *backend) SaveState(seq int32) (kvcache.State, error) {
	if b.lacks.Saving {
		return nil, fmt.Errorf("%w: this model's states cannot be saved", native.ErrUnsupported)
	}
	s, err := b.context.SaveState(seq)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// RestoreState implements kvcache.StateMemory.
func (b *backend) RestoreState(seq int32, state kvcache.State, n int) error {
	s, ok := state.(*native.State)
	if !ok {
		return fmt.Errorf("%w: a state of another kind", native.ErrInvalid)
	}
	whole := s.Positions()
	if b.window > 0 && whole == b.window { // others may have written to its first cell while it was copied
		return fmt.Errorf("%w: a state as long as the window", native.ErrInvalid)
	}
	if n < 1 || n > whole || n < whole && (!b.cuts || b.window > 0 && whole > b.window) { // a window has moved on
		return fmt.Errorf("%w: %d of the state's %d positions", native.ErrInvalid, n, whole)
	}
	return b.context.RestoreState(seq, s, n)
}
