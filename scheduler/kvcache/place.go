// SPDX-License-Identifier: MIT

package kvcache

import (
	"math"
	"slices"
)

// This file is where a request gets its sequence from.

// Request is what a request wants of the cache.
type Request struct {
	Tokens []Token // its prompt, and behind that what it had generated when it was preempted; the last is left to compute in any case
	Prompt int     // how many of Tokens are its prompt
	Salt   string  // what was computed under another is not looked at
	Reuse  bool    // it may begin with what is there

	Resumed   bool // it was preempted
	Continued bool // what Sequence.Continued said when it began first
}

// Acquire gives a sequence that holds the longest prefix of the request found in the cache:
// an idle sequence is taken over when little of it is lost, else the prefix is shared into an empty one. A longer one in
// the archive comes back first.
//
// Nil: copies are on their way, and the next tick may ask again.
func (c *Cache) Acquire(r Request) *Sequence {
	for c.moving.ahead || c.moved() {
		seq := c.place(r.Tokens, r.Salt, len(r.Tokens)-1, r.Reuse)
		if seq == nil {
			continue
		}
		if seq.prompt = r.Prompt; r.Resumed {
			seq.returned = r.Continued
		}
		return seq
	}
	return nil
}

// LongestPrefix is how many of these tokens there are in a sequence or in the archive, the last not counted.
func (c *Cache) LongestPrefix(tokens []Token, salt string) int {
	_, cached := c.longestPrefix(tokens, salt, len(tokens)-1)
	_, archived := c.archive.find(tokens, salt, len(tokens)-1)
	return max(cached, archived)
}

// SharedPrefix is how many of these tokens a request would share with another that has a sequence: those need no cells. It is 0
// where it would take over an idle sequence, whose cells count as available.
func (c *Cache) SharedPrefix(tokens []Token, salt string) int {
	if best, common := c.longestPrefix(tokens, salt, len(tokens)-1); best != nil && best.inUse {
		return common
	}
	return 0
}

// Shares tells whether the memory could share a prefix the last time.
func (c *Cache) Shares() bool { return !c.cannotShare }

// place does the next step: it begins a copy and gives nil, or there is none to be made and it gives the sequence.
func (c *Cache) place(tokens []Token, salt string, limit int, reuse bool) *Sequence {
	var best *Sequence
	common := 0
	if reuse {
		best, common = c.longestPrefix(tokens, salt, limit)
		if c.recall(tokens, salt, limit, best, common) {
			return nil
		}
	}
	if best != nil && !best.inUse && 2*common >= len(best.tokens) {
		return c.takeOver(best, common)
	}
	long := len(tokens)-common > longPrompt
	seq := c.oldest(not(best), long)
	if seq == nil { // as many requests as sequences, and the only idle one is the best
		return c.takeOver(best, common)
	}
	if !c.vacate(seq) {
		return nil
	}
	seq.apart, seq.salt = long, salt
	if common >= MinShared && c.share(best, seq, common) {
		return nil // the next step takes it over
	}
	c.take(seq)
	return seq
}

// MinShared is the shortest prefix that is shared: a backend whose sequences have cells of their own copies it, and a
// token at the beginning of every prompt is not worth that.
const MinShared = 32

// recall brings the part of a conversation that is wanted back from the archive, where that saves more than found, the prefix
// that best has. What was taken more than half of has become another conversation and leaves the archive.
func (c *Cache) recall(tokens []Token, salt string, limit int, best *Sequence, found int) bool {
	k, common := c.archive.find(tokens, salt, limit)
	if common < found+worthSaving {
		return false
	}
	seq := c.oldest(not(best), false)
	if seq == nil || c.available() < common {
		return false
	}
	c.archive.touch(k) // making room may drop others
	if !c.vacate(seq) {
		return true
	}
	if !c.Reserve(common) {
		return c.Copying() && !c.moving.ahead
	}
	c.giveUp()
	if err := c.archive.states.RestoreState(seq.id, k.state, common); err != nil {
		c.Repair(seq)
		return false
	}
	c.Append(seq, k.tokens[:common])
	seq.salt, seq.apart = salt, false
	seq.prompt, seq.returned = min(k.prompt, common), k.returned
	c.touch(seq)
	c.begin(move{seq: seq})
	if 2*common >= len(k.tokens) {
		c.archive.drop(k)
	}
	return true
}

// takeOver makes an idle sequence the request's own. Where the last prompt is part of the new one, somebody came back to it.
func (c *Cache) takeOver(s *Sequence, common int) *Sequence {
	if s.moving {
		c.giveUp()
	}
	c.take(s)
	s.returned = s.prompt > 0 && common >= s.prompt
	c.Truncate(s, common)
	return s
}

func (c *Cache) take(s *Sequence) {
	s.inUse, c.changed = true, true
	s.unkeep()
	c.touch(s)
}

func (c *Cache) touch(s *Sequence) {
	c.clock++
	s.used = c.clock
}

// longestPrefix finds the sequence of this salt with the longest common prefix; among equals an idle one, so that it can be
// taken over, and of those the one that loses least.
func (c *Cache) longestPrefix(tokens []Token, salt string, limit int) (best *Sequence, common int) {
	tokens = tokens[:min(limit, len(tokens))]
	for _, s := range c.seqs {
		if s.salt != salt {
			continue
		}
		n := CommonPrefix(s.tokens, tokens)
		if n > common || n == common && n > 0 && !s.inUse && (best.inUse || len(s.tokens) < len(best.tokens)) {
			best, common = s, n
		}
	}
	return best, common
}

// CommonPrefix is how many tokens two conversations begin with alike.
func CommonPrefix(a, b []Token) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// not is for oldest: all but one.
func not(keep *Sequence) func(*Sequence) bool { return func(s *Sequence) bool { return s != keep } }

// oldest is the idle sequence to give up first of those that may be; nil if there is none. While nothing runs it is an empty one,
// else the least recently used: prefixes matter most. While others run on a backend that wants them adjacent, it is the one
// that lies best for a request with a long prompt or without. What must be saved first comes after what lies as well. Where there is
// nobody to lie beside, or for a long prompt, which needs no company for a while, it comes after all others.
func (c *Cache) oldest(may func(*Sequence) bool, long bool) *Sequence {
	near := c.adjacent && c.inUse() > 0
	var oldest *Sequence
	lowest := [3]uint64{}
	for _, s := range c.seqs {
		if s.inUse || !may(s) {
			continue
		}
		rank := [3]uint64{0, 0, s.used}
		switch {
		case near && long:
			rank[0], rank[1] = unready(s), uint64(len(c.seqs)-int(s.id))
		case near && c.company():
			rank[0], rank[1] = c.distance(s), unready(s)
		case near:
			rank[0], rank[1] = unready(s), c.distance(s)
		case len(s.tokens) == 0:
			rank[2] = 0
		}
		if oldest == nil || slices.Compare(rank[:], lowest[:]) < 0 {
			oldest, lowest = s, rank
		}
	}
	return oldest
}

// unready is 1 for a sequence that must be saved first.
func unready(s *Sequence) uint64 {
	if s.ready() {
		return 0
	}
	return 1
}

// longPrompt is from how many tokens on that are to be computed a request gets a sequence at the far end: for a while it will not
// decode, and those that do should be adjacent without it.
const longPrompt = 256

// company tells whether there are running requests to lie beside: those with a long prompt are none.
func (c *Cache) company() bool {
	return slices.ContainsFunc(c.seqs, func(s *Sequence) bool { return s.inUse && !s.apart })
}

func (c *Cache) inUse() int {
	n := 0
	for _, s := range c.seqs {
		if s.inUse {
			n++
		}
	}
	return n
}

// distance is how far a sequence is from those between the first and the last in use, or from the beginning.
func (c *Cache) distance(s *Sequence) uint64 {
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
