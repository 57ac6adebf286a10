// SPDX-License-Identifier: MIT

package kvcache

import (
	"cmp"
	"time"

	"github.com/penstock/penstock/scheduler/piece"
)

// Cache keeps the books of one Memory. It belongs to one goroutine.
type Cache struct {
	memory      Memory
	placer      Placer      // the memory; nil: it does not matter which sequences run together
	states      StateMemory // the memory; nil: it cannot copy what it holds
	checkpoints checkpoints
	archive     archive
	cold        Cold // nil: there is none
	leastCold   int  // tokens
	sequences   []*Sequence
	pieces      *piece.Table
	cells       int
	free        int    // cells that no sequence holds
	uses        uint64 // counts uses of sequences
	counts      uint64 // and how often Evictable has counted

	now func() time.Time
	copying
	awaiting
	scratch
}

// awaiting is what callers were told to wait for.
type awaiting struct {
	copyAwaited, roomAwaited bool // somebody was told to wait for it
	askAgain                 bool // and it came in this tick, or after the last one
}

// scratch is memory that is used again by each choice of a sequence.
type scratch struct {
	candidates []*Sequence
	running    []RunningSequence
	idle       []IdleSequence
}

// Options are the sizes of a cache.
type Options struct {
	Cells, Sequences int   // of the memory
	ArchiveBytes     int64 // RAM for the archive; 0: there is none
	Checkpoints      CheckpointOptions
	Cold             Cold             // keeps conversations outside main memory, if the memory is a StateMemory; nil: nothing does
	LeastCold        int              // tokens of a conversation that goes there, four times as many before it was continued; 0: 512
	Pieces           *piece.Table     // of the rows among tokens; nil: there are none
	Clock            func() time.Time // tells how long copies take
}

// New keeps the books of an empty memory. It has an archive if the memory is a StateMemory.
func New(m Memory, o Options) *Cache {
	c := &Cache{memory: m, now: o.Clock, cold: o.Cold, leastCold: cmp.Or(o.LeastCold, LeastCold), pieces: o.Pieces, cells: o.Cells, free: o.Cells}
	c.placer, _ = m.(Placer)
	c.states, _ = m.(StateMemory)
	c.checkpoints.CheckpointOptions = o.Checkpoints
	if k, ok := m.(Checkpointer); ok {
		c.checkpoints.memory, c.checkpoints.takes = k, k.TakesCheckpoints()
	}
	c.archive.checkpoints, c.archive.retire = &c.checkpoints, c.retire
	if c.archive.budget = o.ArchiveBytes; o.ArchiveBytes > 0 {
		c.archive.states = c.states
	}
	for i := range o.Sequences {
		c.sequences = append(c.sequences, &Sequence{id: int32(i), conversation: conversation{pieces: o.Pieces}})
	}
	return c
}

// Free is how many cells hold nothing.
func (c *Cache) Free() int { return c.free }

// HasRoom reports whether n cells are free or can be made free by evicting idle sequences.
func (c *Cache) HasRoom(n int) bool { return c.free >= n || c.free+c.Evictable() >= n }

// Evictable is how many cells are held by idle sequences alone, be it by one or by several.
func (c *Cache) Evictable() int {
	c.counts++
	n := c.cells - c.free
	for _, s := range c.sequences {
		if !s.running {
			continue
		}
		for _, g := range s.segments {
			if g.seen != c.counts {
				g.seen = c.counts
				n -= g.cells
			}
		}
	}
	return n
}

// unshared is how many of a sequence's cells no other sequence holds.
func (c *Cache) unshared(s *Sequence) (n int) {
	for _, g := range s.segments {
		if g.holders == 1 {
			n += g.cells
		}
	}
	return n
}

// Close finishes the copy in progress, or ends it if no request waits for it, and frees archive
// and checkpoints.
func (c *Cache) Close() {
	defer c.freeStates() // even if the memory panics
	c.finishCopy()
}

func (c *Cache) freeStates() {
	c.archive.clear()
	for _, s := range c.sequences {
		c.checkpoints.drop(&s.conversation, 0)
	}
	for len(c.checkpoints.spare) > 0 {
		c.checkpoints.freeSpare()
	}
}

// Wait is what the cache has to wait for before it can do what it is asked for. It is to be asked
// again in a later tick.
type Wait int

// What the cache may have to wait for.
const (
	WaitNone Wait = iota // it is done, or never can be
	WaitCopy             // for the copy in progress
	WaitRoom             // for cells, or a sequence, that requests have now
)

// tellToWait tells the caller to wait, and remembers that somebody waits.
func (c *Cache) tellToWait(w Wait) Wait {
	c.copyAwaited = c.copyAwaited || w == WaitCopy
	c.roomAwaited = c.roomAwaited || w == WaitRoom
	return w
}

// noteArrival notes that what somebody may have been told to wait for is there.
func (c *Cache) noteArrival(awaited *bool) {
	c.askAgain = c.askAgain || *awaited
	*awaited = false
}

// copyCheck is how long a copy is left alone if nothing else asks for a tick.
const copyCheck = time.Millisecond

// Next is when the cache needs the next tick: at once if a caller that was told to wait should ask
// again, or if there may be something to save ahead; a moment later while a copy is in progress.
// Otherwise ok is false: only requests change anything, and time (NextOffer).
func (c *Cache) Next() (at time.Time, ok bool) {
	switch {
	case c.askAgain, c.saveAheadDue && !c.Copying():
		return c.now(), true
	case c.Copying():
		return c.now().Add(copyCheck), true
	}
	return time.Time{}, false
}

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
	// Place chooses a sequence for a request that has about prefill tokens to compute, while
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
