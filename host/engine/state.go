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
	s, err := b.saver().SaveState(seq)
	if err != nil {
		return nil, err
	}
	return b.stateOf(seq, s), nil
}

// saver is what states are made and read by: the head, which adds what it knows, if there is one.
func (b *backend) saver() interface {
	SaveState(seq int32) (*native.State, error)
	RestoreState(seq int32, s *native.State, n int) error
} {
	if b.head != nil {
		return b.head
	}
	return b.context
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
	if err := b.saver().RestoreState(seq, s.State, n); err != nil {
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

// takesCheckpoints reports whether there is a part of a sequence that cannot be cut and can be
// copied, which llama.cpp knows of most memories. fullWindow: sliding windows keep every position.
func (b *backend) takesCheckpoints(info native.ModelInfo, fullWindow bool) bool {
	windows := info.Window > 0 && !fullWindow
	if !info.Recurrent && !info.Hybrid && !windows || b.lacks.Saving {
		return false
	}
	s, err := b.context.SaveCheckpoint(0, nil)
	return err == nil && s.Close() == nil
}

// TakesCheckpoints implements kvcache.Checkpointer.
func (b *backend) TakesCheckpoints() bool { return b.checkpoints }

// Cuttable implements kvcache.Checkpointer.
func (b *backend) Cuttable(seq int32, n int) bool { return b.cuttable(seq, n) }

// StateCuttable implements kvcache.Checkpointer.
func (b *backend) StateCuttable(s kvcache.State, n int) bool {
	own, ok := s.(state)
	return ok && b.stateCuttable(own.positions, n)
}

// stateCuttable reports whether the first n positions of a state can be put back alone.
func (b *backend) stateCuttable(whole, n int) bool {
	return n == whole || n < whole && b.cuts && (b.window == 0 || whole < b.window) // a longer one has only the window at its end
}

// SaveCheckpoint implements kvcache.Checkpointer.
func (b *backend) SaveCheckpoint(seq int32, spent kvcache.State) (kvcache.State, error) {
	old, _ := spent.(state) // of no state if there is none
	s, err := b.context.SaveCheckpoint(seq, old.State)
	if err != nil {
		return nil, err
	}
	return b.stateOf(seq, s), nil
}

// RestoreCheckpoint implements kvcache.Checkpointer.
func (b *backend) RestoreCheckpoint(src, dst int32, checkpoint kvcache.State, n int) error {
	s, ok := checkpoint.(state)
	if !ok || s.positions != n {
		return fmt.Errorf("%w: no checkpoint at %d", native.ErrInvalid, n)
	}
	b.recurrent.forgot(dst)
	b.stale[dst], b.borders[dst] = false, border{} // the checkpoint has all of its window
	if src != dst {
		if b.lacks.Sharing {
			return fmt.Errorf("%w: sequences cannot share", native.ErrUnsupported)
		}
		if err := b.context.Share(src, dst, n); err != nil {
			_ = b.context.Remove(dst, -1, -1)
			return err
		}
	}
	if err := b.context.RestoreCheckpoint(dst, s.State); err != nil {
		return err
	}
	b.settle(dst, n)
	b.headShare(src, dst, n)
	return nil
}

// rollback knows which of the last tokens of a recurrent model's sequences can be dropped. Each
// pass of a sequence leaves, besides its state, the states before its last tokens (llama.cpp's
// n_rs_seq). Going back to one of them is possible once, and only until the next pass, whatever
// that computes: it may move the sequence's state to another cell, and leaves the snapshots where
// they were.
type rollback struct {
	snapshots int
	last      []int  // by sequence: how many tokens the last pass computed of it
	back      []bool // by sequence: it has gone back, and llama.cpp has not yet loaded the state
}

func newRollback(sequences, snapshots int) rollback {
	return rollback{snapshots, make([]int, sequences), make([]bool, sequences)}
}

// note takes in a pass.
func (r *rollback) note(sequences []int32, err error) {
	clear(r.last)
	if err != nil {
		return
	}
	for _, seq := range sequences {
		r.last[seq]++
		r.back[seq] = false
	}
}

// perceived takes in a pass over embeddings, of which none is dropped: they may have fewer
// positions than there are.
func (r *rollback) perceived(seq int32, err error) {
	clear(r.last)
	if err == nil {
		r.back[seq] = false
	}
}

// reaches reports whether the last n tokens of a sequence can be dropped.
func (r *rollback) reaches(seq int32, n int) bool { return n <= min(r.snapshots, r.last[seq]-1) }

// took notes that they were.
func (r *rollback) took(seq int32) { r.last[seq], r.back[seq] = 0, true }

// shared notes that another sequence has the same state: if one went back, the other would, too.
func (r *rollback) shared(seq int32) { r.last[seq] = 0 }

// forgot notes that a sequence is empty, or has another state.
func (r *rollback) forgot(seq int32) { r.last[seq], r.back[seq] = 0, false }
