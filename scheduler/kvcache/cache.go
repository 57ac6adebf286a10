// SPDX-License-Identifier: MIT

// Package kvcache keeps the books of the KV cache: which sequence holds which tokens, what requests reuse of them, and what is
// evicted or saved to make room.
package kvcache

import "time"

// Cache is the book-keeping of the KV cache: which sequence holds which tokens, and how many cells are left. A cell that
// several sequences share is counted once.
//
// A sequence outlives the request that filled it: until its cells are needed it is the prefix cache.
type Cache struct {
	memory      Memory
	archive     archive
	seqs        []*Sequence
	refs        []int32 // by cell: how many sequences hold it
	free        []int32 // cells nobody holds
	clock       uint64  // counts uses, for least recently used
	adjacent    bool    // Options.Adjacent
	cannotShare bool    // the backend could not share the last time

	moving  move
	changed bool      // requests have begun or ended since ahead last looked
	begun   time.Time // when this tick's copies did
	pause   CopyTime  // how long it may copy
	now     func() time.Time
}

// Sequence is what the KV cache holds under one sequence id.
type Sequence struct {
	id     int32
	salt   string  // Request.CacheSalt of who filled it
	tokens []Token // by position
	cells  []int32 // by position
	inUse  bool    // a running request owns it
	apart  bool    // that request came with a long prompt
	used   uint64  // cache.clock of its last use
	moving bool    // see move
	kept   *saved  // what it holds, in the archive; nil: it was not saved

	prompt   int  // how many of tokens were the last request's prompt
	returned bool // that request went on with a conversation
}

// Options are the sizes of a cache.
type Options struct {
	Cells, Sequences int              // of the memory
	ArchiveBytes     int64            // RAM for conversations whose cells others needed
	Adjacent         bool             // sequences with numbers that follow one another decode faster together
	Clock            func() time.Time // measures copies
}

// New keeps the books of a memory in which nothing is stored yet. Where that is a StateMemory as well, there is an archive.
func New(m Memory, o Options) *Cache {
	c := &Cache{memory: m, now: o.Clock, adjacent: o.Adjacent, refs: make([]int32, o.Cells), free: make([]int32, 0, o.Cells)}
	if c.archive.budget = o.ArchiveBytes; o.ArchiveBytes > 0 {
		c.archive.states, _ = m.(StateMemory)
	}
	for i := o.Cells - 1; i >= 0; i-- {
		c.free = append(c.free, int32(i))
	}
	for i := range o.Sequences {
		c.seqs = append(c.seqs, &Sequence{id: int32(i)})
	}
	return c
}

// Release makes the sequence of an ended or preempted request idle; its cells stay as prefix cache.
func (c *Cache) Release(s *Sequence) {
	s.inUse, s.apart, c.changed = false, false, true
	c.touch(s)
}

// Reserve evicts idle sequences until n cells are free, the least recently used first, and tells whether there are. Where they
// are not and the cache is busy, more may be when it no longer is.
func (c *Cache) Reserve(n int) bool {
	for len(c.free) < n {
		if !c.moving.ahead && !c.moved() {
			return false
		}
		victim := c.oldestFilled()
		switch {
		case victim != nil:
			c.vacate(victim)
		case c.moving.ahead: // its sequence may be the victim
			c.giveUp()
		default:
			return len(c.free) >= n
		}
	}
	return true
}

func (c *Cache) oldestFilled() *Sequence {
	var oldest *Sequence
	for _, s := range c.seqs {
		if !s.inUse && !s.moving && len(s.tokens) > 0 && (oldest == nil || s.used < oldest.used) {
			oldest = s
		}
	}
	return oldest
}

// HasRoom tells whether n cells are free, or held by idle sequences alone.
func (c *Cache) HasRoom(n int) bool { return len(c.free) >= n || c.available() >= n }

func (c *Cache) available() int {
	n := len(c.free)
	for _, s := range c.seqs {
		if s.inUse {
			continue
		}
		for _, cell := range s.cells {
			if c.refs[cell] == 1 {
				n++
			}
		}
	}
	return n
}

// Free is how many cells hold nothing.
func (c *Cache) Free() int { return len(c.free) }

// Append records tokens that a forward pass put behind the sequence's last position. Reserve has made the room.
func (c *Cache) Append(s *Sequence, tokens []Token) {
	for _, t := range tokens {
		cell := c.free[len(c.free)-1]
		c.free = c.free[:len(c.free)-1]
		c.refs[cell] = 1
		s.tokens = append(s.tokens, t)
		s.cells = append(s.cells, cell)
	}
}

// Truncate keeps the first n positions of a sequence, or none where the backend cannot cut there, and returns how many.
func (c *Cache) Truncate(s *Sequence, n int) int {
	if n >= len(s.tokens) {
		return len(s.tokens)
	}
	n = c.memory.Truncate(s.id, n)
	c.drop(s, n)
	if n == 0 {
		s.prompt, s.returned = 0, false
	}
	return n
}

// share makes dst, which is empty, begin with the first n positions of src. It tells whether the backend can.
func (c *Cache) share(src, dst *Sequence, n int) bool {
	c.giveUp()
	n = c.memory.Share(src.id, dst.id, n)
	if c.cannotShare = n == 0; c.cannotShare {
		return false
	}
	dst.tokens = append(dst.tokens, src.tokens[:n]...)
	dst.cells = append(dst.cells, src.cells[:n]...)
	for _, cell := range dst.cells {
		c.refs[cell]++
	}
	c.touch(src)
	c.touch(dst)
	c.begin(move{seq: dst, prefix: true})
	return true
}

// Repair makes the backend forget positions that the books do not have, and the books those that the backend lost.
func (c *Cache) Repair(s *Sequence) {
	n := c.memory.Truncate(s.id, len(s.tokens))
	c.drop(s, n)
}

// ready tells whether a sequence can be given up at once: it is empty, or in the archive.
func (s *Sequence) ready() bool { return len(s.tokens) == 0 || s.kept != nil && !s.kept.gone }

// unkeep notes that the sequence no longer holds what the archive has of it.
func (s *Sequence) unkeep() {
	if s.kept != nil {
		s.kept.cached, s.kept = false, nil
	}
}

// mustSave tells whether a sequence is to be saved before it is given up. What shares most of its cells is not: they stay in the
// cache, and would come back as a copy of their own.
func (c *Cache) mustSave(s *Sequence) bool {
	if s.ready() || c.archive.states == nil {
		return false
	}
	unshared := 0
	for _, cell := range s.cells {
		if c.refs[cell] == 1 {
			unshared++
		}
	}
	return unshared >= worthSaving && 2*unshared >= len(s.tokens)
}

// vacate empties an idle sequence and tells whether it could at once. Where the archive is to keep it, that is copied first.
func (c *Cache) vacate(s *Sequence) bool {
	if s.moving { // it is being saved, and is waited for from now on
		c.moving.ahead = false
		if !c.moved() {
			return false
		}
	}
	if c.mustSave(s) {
		c.giveUp()
		if saved := c.archive.save(s, false); saved != nil {
			c.begin(move{seq: s, saved: saved})
			if !c.moved() {
				return false
			}
		} else {
			c.memory.Move(0) // of what was begun nothing is wanted
		}
	}
	c.Truncate(s, 0)
	return true
}

// EvictIdle empties every idle sequence and tells whether there was one to empty.
func (c *Cache) EvictIdle() bool {
	c.settle()
	found := false
	for victim := c.oldestFilled(); victim != nil; victim = c.oldestFilled() {
		c.vacate(victim)
		c.settle()
		found = true
	}
	return found
}

// Close finishes or ends the copy in progress and frees the archive.
func (c *Cache) Close() {
	c.settle()
	c.archive.clear()
}

// ID is the sequence's number in the memory.
func (s *Sequence) ID() int32 { return s.id }

// Len is how many tokens the sequence holds.
func (s *Sequence) Len() int { return len(s.tokens) }

// Continued tells whether the request that has the sequence went on with a conversation: its prompt began with all of the prompt that
// was computed there before.
func (s *Sequence) Continued() bool { return s.returned }

// drop removes the positions from n on from the books.
func (c *Cache) drop(s *Sequence, n int) {
	for _, cell := range s.cells[n:] {
		if c.refs[cell]--; c.refs[cell] == 0 {
			c.free = append(c.free, cell)
		}
	}
	s.tokens, s.cells = s.tokens[:n], s.cells[:n]
	s.unkeep()
}
