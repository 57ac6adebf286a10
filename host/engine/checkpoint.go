// SPDX-License-Identifier: MIT

package engine

import (
	"fmt"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler/kvcache"
)

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
	return nil
}
