// SPDX-License-Identifier: MIT

package kvcache

import (
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
	sequences   []*Sequence
	pieces      *piece.Table
	holders     []int32 // by cell: how many sequences hold it
	free        []int32 // the cells that no sequence holds
	uses        uint64  // counts uses of sequences

	copy         copyInProgress
	copyTime     CopyTime
	tickBegan    time.Time
	now          func() time.Time
	saveAheadDue bool // sequences were acquired or released since SaveAhead found nothing more to save

	copyAwaited, roomAwaited bool // somebody was told to wait for it
	askAgain                 bool // and it came in this tick, or after the last one

	// Used again by each choice of a sequence.
	candidates []*Sequence
	running    []RunningSequence
	idle       []IdleSequence
	held       []bool // by cell, for Evictable
}

// Options are the sizes of a cache.
type Options struct {
	Cells, Sequences int   // of the memory
	ArchiveBytes     int64 // RAM for the archive; 0: there is none
	Checkpoints      CheckpointOptions
	Pieces           *piece.Table     // of the rows among tokens; nil: there are none
	Clock            func() time.Time // tells how long copies take
}

// New keeps the books of an empty memory. It has an archive if the memory is a StateMemory.
func New(m Memory, o Options) *Cache {
	c := &Cache{memory: m, now: o.Clock, pieces: o.Pieces, holders: make([]int32, o.Cells), free: make([]int32, 0, o.Cells)}
	c.placer, _ = m.(Placer)
	c.states, _ = m.(StateMemory)
	c.checkpoints.CheckpointOptions = o.Checkpoints
	if k, ok := m.(Checkpointer); ok {
		c.checkpoints.memory, c.checkpoints.takes = k, k.TakesCheckpoints()
	}
	c.archive.checkpoints = &c.checkpoints
	if c.archive.budget = o.ArchiveBytes; o.ArchiveBytes > 0 {
		c.archive.states = c.states
	}
	for i := o.Cells - 1; i >= 0; i-- {
		c.free = append(c.free, int32(i))
	}
	for i := range o.Sequences {
		c.sequences = append(c.sequences, &Sequence{id: int32(i), conversation: conversation{pieces: o.Pieces}})
	}
	return c
}

// Free is how many cells hold nothing.
func (c *Cache) Free() int { return len(c.free) }

// HasRoom reports whether n cells are free or can be made free by evicting idle sequences.
func (c *Cache) HasRoom(n int) bool { return len(c.free) >= n || len(c.free)+c.Evictable() >= n }

// Evictable is how many cells are held by idle sequences alone, be it by one or by several.
func (c *Cache) Evictable() int {
	if c.held == nil {
		c.held = make([]bool, len(c.holders))
	}
	clear(c.held)
	n := len(c.holders) - len(c.free)
	for _, s := range c.sequences {
		if !s.running {
			continue
		}
		for _, cell := range s.cells {
			if !c.held[cell] {
				c.held[cell] = true
				n--
			}
		}
	}
	return n
}

// unshared is how many of a sequence's cells no other sequence holds.
func (c *Cache) unshared(s *Sequence) (n int) {
	for _, cell := range s.cells {
		if c.holders[cell] == 1 {
			n++
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
