// SPDX-License-Identifier: MIT

package engine

import (
	"fmt"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// A state stays in this process, so it has neither header nor checksum: summing up those of long
// conversations would hold up every stream by half of what copying them takes.

// SaveState implements kvcache.StateMemory.
func (b *backend) SaveState(seq int32) (kvcache.State, error) {
	if b.lacks.Saving {
		return nil, fmt.Errorf("%w: %w", native.ErrUnsupported, kvcache.ErrNoStates)
	}
	s, err := b.context.SaveState(seq)
	if err != nil {
		return nil, err
	}
	return b.stateOf(seq, s), nil
}

// stateOf is a state that was just taken of a sequence.
func (b *backend) stateOf(seq int32, s *native.State) state {
	_, n := b.held(seq)
	return state{s, n}
}

// RestoreState implements kvcache.StateMemory.
func (b *backend) RestoreState(seq int32, saved kvcache.State, n int) error {
	s, ok := saved.(state)
	if !ok {
		return fmt.Errorf("%w: a state of another kind", native.ErrInvalid)
	}
	if b.lacks.Saving {
		return fmt.Errorf("%w: %w", native.ErrUnsupported, kvcache.ErrNoStates)
	}
	whole := s.positions
	if n < 1 || !b.stateCuttable(whole, n) {
		return fmt.Errorf("%w: %d of the state's %d positions", native.ErrInvalid, n, whole)
	}
	b.borders[seq] = border{}
	if err := b.context.RestoreState(seq, s.State, n); err != nil {
		return err
	}
	b.settle(seq, n)
	b.stale[seq] = whole == b.window
	return nil
}

// state is a native state as a kvcache.State.
type state struct {
	*native.State
	positions int // more than those of its cells where it ends with a picture that has coordinates
}

// Keep implements kvcache.State.
func (s state) Keep() kvcache.State { return state{s.State.Keep(), s.positions} }

// NewState makes a state to read the Contents of one into that was saved to a file.
func (*Engine) NewState(size, positions int) (kvcache.State, error) {
	s, err := native.NewState(size, positions)
	if err != nil {
		return nil, err
	}
	return state{s, positions}, nil
}
