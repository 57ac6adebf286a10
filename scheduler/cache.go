// SPDX-License-Identifier: MIT

package scheduler

import (
	"math"
	"slices"
)

// cache is the book-keeping of the KV cache: which sequence holds which tokens, and how many cells are left. A cell that
// several sequences share is counted once.
//
// A sequence outlives the request that filled it: until its cells are needed it is the prefix cache.
type cache struct {
	memory   Memory
	archive  archive
	seqs     []*sequence
	refs     []int32 // by cell: how many sequences hold it
	free     []int32 // cells nobody holds
	clock    uint64  // counts uses, for least recently used
	adjacent bool    // Limits.Adjacent
}

// sequence is what the KV cache holds under one sequence id.
type sequence struct {
	id     int32
	salt   string  // Request.CacheSalt of who filled it
	tokens []Token // by position
	cells  []int32 // by position
	inUse  bool    // a running request owns it
	apart  bool    // that request came with a long prompt
	used   uint64  // cache.clock of its last use
}

func newCache(m Memory, limits Limits) *cache {
	c := &cache{memory: m, adjacent: limits.Adjacent, refs: make([]int32, limits.Cells), free: make([]int32, 0, limits.Cells)}
	for i := limits.Cells - 1; i >= 0; i-- {
		c.free = append(c.free, int32(i))
	}
	for i := range limits.Sequences {
		c.seqs = append(c.seqs, &sequence{id: int32(i)})
	}
	return c
}

// acquire gives a sequence that holds the longest prefix of tokens found in the cache, at most limit positions of it:
// an idle sequence is taken over when little of it is lost, else the prefix is shared into an empty one. A longer one in
// the archive comes back first. What was computed under another salt is not looked at.
func (c *cache) acquire(tokens []Token, salt string, limit int, reuse bool) *sequence {
	best, common := c.longestPrefix(tokens, salt, limit)
	if !reuse {
		best, common = nil, 0
	} else if c.recall(tokens, salt, limit, common) {
		best, common = c.longestPrefix(tokens, salt, limit)
	}
	if best != nil && !best.inUse && 2*common >= len(best.tokens) {
		c.take(best)
		c.truncate(best, common)
		return best
	}
	long := len(tokens)-common > longPrompt
	seq := c.empty(best, long)
	if seq == nil { // as many requests as sequences, and the only idle one is the best
		c.take(best)
		c.truncate(best, common)
		return best
	}
	c.take(seq)
	seq.apart, seq.salt = long, salt
	if common >= worthSharing {
		c.share(best, seq, common)
	}
	return seq
}

// worthSharing is the shortest prefix that is shared: a backend whose sequences have cells of their own copies it, and a
// token at the beginning of every prompt is not worth that.
const worthSharing = 32

// recall brings a conversation back from the archive where that saves more than found, the prefix that the cache has.
func (c *cache) recall(tokens []Token, salt string, limit, found int) bool {
	entry, common := c.archive.find(tokens, salt, limit)
	if common < found+worthSaving {
		return false
	}
	kept := c.archive.take(entry) // making room may archive others
	seq := c.empty(nil, false)
	if seq == nil || !c.reserve(len(kept.tokens)) {
		return false
	}
	if err := c.archive.states.RestoreState(seq.id, kept.state); err != nil {
		c.repair(seq)
		return false
	}
	seq.salt = salt
	c.append(seq, kept.tokens)
	c.touch(seq)
	return true
}

func (c *cache) take(s *sequence) {
	s.inUse = true
	c.touch(s)
}

func (c *cache) touch(s *sequence) {
	c.clock++
	s.used = c.clock
}

// longestPrefix finds the sequence of this salt with the longest common prefix; among equals an idle one, so that it can be taken over.
func (c *cache) longestPrefix(tokens []Token, salt string, limit int) (best *sequence, common int) {
	tokens = tokens[:min(limit, len(tokens))]
	for _, s := range c.seqs {
		if s.salt != salt {
			continue
		}
		n := commonPrefix(s.tokens, tokens)
		if n > common || (n == common && n > 0 && best.inUse && !s.inUse) {
			best, common = s, n
		}
	}
	return best, common
}

func commonPrefix(a, b []Token) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// empty gives an idle sequence without cells, evicting the least recently used one other than keep; nil if there is none.
func (c *cache) empty(keep *sequence, long bool) *sequence {
	if s := c.oldest(keep, long); s != nil {
		c.evict(s)
		return s
	}
	return nil
}

// oldest is the idle sequence to give up first; nil if all but keep are in use. While nothing runs it is an empty one,
// else the least recently used: prefixes matter most. While others run on a backend that wants them adjacent, it is the one
// that lies best for a request with a long prompt or without.
func (c *cache) oldest(keep *sequence, long bool) *sequence {
	near := c.adjacent && c.inUse() > 0
	var oldest *sequence
	lowest := [2]uint64{}
	for _, s := range c.seqs {
		if s.inUse || s == keep {
			continue
		}
		rank := [2]uint64{0, s.used}
		switch {
		case near && long:
			rank[0] = uint64(len(c.seqs) - int(s.id))
		case near:
			rank[0] = c.distance(s)
		case len(s.tokens) == 0:
			rank[1] = 0
		}
		if oldest == nil || slices.Compare(rank[:], lowest[:]) < 0 {
			oldest, lowest = s, rank
		}
	}
	return oldest
}

// longPrompt is from how many tokens on that are to be computed a request gets a sequence at the far end: for a while it will not
// decode, and those that do should be adjacent without it.
const longPrompt = 256

func (c *cache) inUse() int {
	n := 0
	for _, s := range c.seqs {
		if s.inUse {
			n++
		}
	}
	return n
}

// distance is how far a sequence is from those between the first and the last in use, or from the beginning.
func (c *cache) distance(s *sequence) uint64 {
	first, last := int32(math.MaxInt32), int32(-1)
	for _, other := range c.seqs {
		if other.inUse && !other.apart {
			first, last = min(first, other.id), max(last, other.id)
		}
	}
	if last < 0 {
		return uint64(s.id)
	}
	return uint64(max(first-s.id, s.id-last, 0))
}

// release makes the sequence of an ended or preempted request idle; its cells stay as prefix cache.
func (c *cache) release(s *sequence) {
	s.inUse, s.apart = false, false
	c.touch(s)
}

// reserve evicts idle sequences until n cells are free, the least recently used first, and tells whether there are.
func (c *cache) reserve(n int) bool {
	for len(c.free) < n {
		victim := c.oldestFilled()
		if victim == nil {
			return false
		}
		c.evict(victim)
	}
	return true
}

func (c *cache) oldestFilled() *sequence {
	var oldest *sequence
	for _, s := range c.seqs {
		if !s.inUse && len(s.tokens) > 0 && (oldest == nil || s.used < oldest.used) {
			oldest = s
		}
	}
	return oldest
}

// available is how many cells are free or held by idle sequences alone.
func (c *cache) available() int {
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

func (c *cache) freeCells() int { return len(c.free) }

// used is how many cells hold something.
func (c *cache) used() int { return len(c.refs) - len(c.free) }

// append records tokens that a forward pass put behind the sequence's last position. reserve has made the room.
func (c *cache) append(s *sequence, tokens []Token) {
	for _, t := range tokens {
		cell := c.free[len(c.free)-1]
		c.free = c.free[:len(c.free)-1]
		c.refs[cell] = 1
		s.tokens = append(s.tokens, t)
		s.cells = append(s.cells, cell)
	}
}

// truncate keeps the first n positions of a sequence, or none where the backend cannot cut there, and returns how many.
func (c *cache) truncate(s *sequence, n int) int {
	if n >= len(s.tokens) {
		return len(s.tokens)
	}
	n = c.memory.Truncate(s.id, n)
	c.drop(s, n)
	return n
}

// share makes dst, which is empty, begin with the first n positions of src.
func (c *cache) share(src, dst *sequence, n int) {
	n = c.memory.Share(src.id, dst.id, n)
	dst.tokens = append(dst.tokens, src.tokens[:n]...)
	dst.cells = append(dst.cells, src.cells[:n]...)
	for _, cell := range dst.cells {
		c.refs[cell]++
	}
	c.touch(src)
}

// repair makes the backend forget positions that the books do not have, and the books those that the backend lost.
func (c *cache) repair(s *sequence) {
	n := c.memory.Truncate(s.id, len(s.tokens))
	c.drop(s, n)
}

// evict empties an idle sequence; the archive keeps it where that pays.
func (c *cache) evict(s *sequence) {
	unshared := 0
	for _, cell := range s.cells {
		if c.refs[cell] == 1 {
			unshared++
		}
	}
	c.archive.save(s, unshared)
	c.truncate(s, 0)
}

// evictIdle empties every idle sequence and tells whether there was one to empty.
func (c *cache) evictIdle() bool {
	found := false
	for victim := c.oldestFilled(); victim != nil; victim = c.oldestFilled() {
		c.evict(victim)
		found = true
	}
	return found
}

// drop removes the positions from n on from the books.
func (c *cache) drop(s *sequence, n int) {
	for _, cell := range s.cells[n:] {
		if c.refs[cell]--; c.refs[cell] == 0 {
			c.free = append(c.free, cell)
		}
	}
	s.tokens, s.cells = s.tokens[:n], s.cells[:n]
}
