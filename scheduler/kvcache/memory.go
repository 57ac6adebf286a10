// SPDX-License-Identifier: MIT

package kvcache

import "time"

// Token is an index into the model's vocabulary, or below 0 a row of a piece (package piece).
type Token = int32

// Memory is the KV cache itself, addressed by sequence number. It counts positions: a piece may
// take fewer of them than it has rows, each of which has a cell, and is never cut.
type Memory interface {
	// Truncate keeps the first n positions of seq and returns how many it kept: n, or 0 if the
	// memory cannot be cut there (recurrent state, a sliding window that has moved on) and was
	// cleared instead.
	Truncate(seq int32, n int) int
	// Shares reports whether Share can share anything.
	Shares() bool
	// Share makes dst, which must be empty, begin with the first n positions of src, as they are
	// now. Where Cuttable is always true, or the memory is no Checkpointer, dst may have some of
	// the first positions of src already: it gets the others. It returns n, or 0 if the memory
	// cannot share those, and dst may then be empty. If that takes a copy, ContinueCopy makes it.
	Share(src, dst int32, n int) int
	// ContinueCopy goes on with the copy that Share, SaveState or RestoreState began, for about as
	// long as limit or, if that is negative, to its end. It reports whether the copy is done. A
	// copy on a thread of its own it only looks at, unless it is to be made here. There is one
	// copy at a time: what needs its result, or would change what it still has to read, finishes
	// it first, and everybody waits. A copy into a state that was closed ends with the next call.
	ContinueCopy(limit time.Duration, here bool) (done bool)
}

// StateMemory is implemented by a Memory that can copy what a sequence holds out of the cache and
// back.
type StateMemory interface {
	// SaveState begins to copy the state of seq.
	SaveState(seq int32) (State, error)
	// RestoreState begins to copy the first n positions of a saved state into seq, which must be
	// empty. It fails if the state cannot be cut there.
	RestoreState(seq int32, s State, n int) error
}

// State is a copy of what a sequence held, outside the cache.
type State interface {
	// Bytes is how much of the process's memory it takes.
	Bytes() int
	// Contents are the bytes of the state, which live until it is closed.
	Contents() []byte
	// Keep makes a second state of the same memory, which stays until both are closed.
	Keep() State
	// Close frees it. It may be called while the state is being copied.
	Close() error
}

// Placer is implemented by a Memory in which it matters which sequences are in use at the same
// time.
type Placer interface {
	// Place chooses a sequence for a request that has about so many tokens to compute, while
	// others are running. It returns the number of one of the idle sequences, which are listed
	// from the least to the most recently used.
	Place(prefill int, running []RunningSequence, idle []IdleSequence) int32
}

// RunningSequence is a sequence that a request has.
type RunningSequence struct {
	Sequence int32
	Prefill  int // tokens that the request had to compute when it was placed; 0 if it went on in a sequence with its prefix
}

// IdleSequence is a sequence that no request has.
type IdleSequence struct {
	Sequence int32
	Saved    bool // it can be taken at once; else it may have to be saved first, and the request waits
}
