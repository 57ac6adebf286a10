// SPDX-License-Identifier: MIT

package kvcache

import "time"

// Token is an index into the model's vocabulary.
type Token = int32

// Memory is the KV cache, addressed by sequence.
type Memory interface {
	// Truncate keeps the first n positions of seq and returns how many it kept: n, or 0 where the memory cannot be
	// cut there (recurrent state, a sliding window that has moved on) and was cleared instead.
	Truncate(seq int32, n int) int
	// Share makes dst, which must be empty, begin with the first n positions of src, as they are now. It returns n, or 0 where
	// the cache cannot share. Where that takes a copy, Move makes it.
	Share(src, dst int32, n int) int
	// Move goes on for about so long (to the end where that is negative) with the copy that Share, SaveState or RestoreState
	// began, and tells whether it is done; a copy that goes on beside the passes it only looks at. One is on its way at a time.
	// Whatever needs what a copy has not done yet, or would change what it has not read yet, finishes it first: that is right,
	// but everybody waits.
	Move(limit time.Duration) (done bool)
}

// StateMemory is implemented by backends that can take the cells of a sequence out of the cache and put them back.
type StateMemory interface {
	// SaveState makes a copy of the state of seq; Move fills it.
	SaveState(seq int32) (State, error)
	// RestoreState makes seq, which must be empty, begin with the first n positions of a saved state. It fails where the state
	// cannot be cut there.
	RestoreState(seq int32, s State, n int) error
}

// State is a sequence outside the cache.
type State interface {
	// Bytes is how much of the process's memory it takes.
	Bytes() int
	// Close gives that back. It may be called while the state is being copied.
	Close() error
}
