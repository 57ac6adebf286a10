// SPDX-License-Identifier: MIT

package kvcache

import (
	"cmp"
	"slices"
)

// minSaved is the fewest unshared cells that are cheaper to copy than to compute again.
const minSaved = 64

// Reserve evicts idle sequences, the least recently used first, until n cells are free. It reports
// whether they are. If they are not and a copy is in progress, they may be when that is done.
func (c *Cache) Reserve(n int) bool {
	for len(c.free) < n {
		if c.copy.kind != savingAhead && !c.continueCopy() {
			c.waits(WaitCopy)
			return false
		}
		victim := c.leastRecent()
		switch {
		case victim != nil:
			c.evict(victim)
		case c.copy.kind == savingAhead: // the sequence that is being saved may be evicted, too
			c.cancelSaveAhead()
		default:
			return false
		}
	}
	return true
}

// EvictIdle empties every idle sequence, however long that takes, and reports whether there was
// one to empty.
func (c *Cache) EvictIdle() bool {
	c.finishCopy()
	found := false
	for victim := c.leastRecent(); victim != nil; victim = c.leastRecent() {
		c.evict(victim)
		c.finishCopy()
		found = true
	}
	return found
}

// leastRecent is the idle sequence that was used least recently of those that hold something, or
// may, and are not being copied; nil: there is none.
func (c *Cache) leastRecent() (oldest *Sequence) {
	for _, s := range c.sequences {
		if !s.running && s != c.copy.sequence && (len(s.tokens) > 0 || s.unsure) && (oldest == nil || s.recency() < oldest.recency()) {
			oldest = s
		}
	}
	return oldest
}

// evict empties an idle sequence, after it was saved if the archive is to have it. It reports
// whether it is empty; else it is being saved.
func (c *Cache) evict(s *Sequence) bool {
	switch {
	case s == c.copy.sequence: // it is being saved ahead, and waited for from now on
		c.copy.kind = saving
		if !c.continueCopy() {
			return false
		}
	case c.worthSaving(s):
		c.cancelSaveAhead()
		if c.save(s, saving) && !c.continueCopy() {
			return false
		}
	}
	c.Truncate(s, 0)
	return true
}

// worthSaving reports whether a sequence is to be saved before it is evicted. If it shares most of
// its cells it is not: the others keep those, and restored they would be a copy.
func (c *Cache) worthSaving(s *Sequence) bool {
	if s.saved() || c.archive.states == nil {
		return false
	}
	unshared := c.unshared(s)
	return unshared >= minSaved && 2*unshared >= len(s.tokens)
}

// choose picks one of the idle sequences that may be evicted for a request with so many tokens to
// compute; nil if there is none. The memory chooses if it is a Placer and something runs; else it
// is an empty sequence or, since prefixes matter most, the least recently used.
func (c *Cache) choose(prefill int, may func(*Sequence) bool) *Sequence {
	c.candidates, c.running = c.candidates[:0], c.running[:0]
	for _, s := range c.sequences {
		switch {
		case s.running:
			c.running = append(c.running, RunningSequence{Sequence: s.id, Prefill: s.prefill})
		case may(s):
			c.candidates = append(c.candidates, s)
		}
	}
	switch {
	case len(c.candidates) == 0:
		return nil
	case c.placer == nil || len(c.running) == 0:
		return slices.MinFunc(c.candidates, func(a, b *Sequence) int { return cmp.Compare(a.recency(), b.recency()) })
	}
	slices.SortStableFunc(c.candidates, func(a, b *Sequence) int { return cmp.Compare(a.lastUse, b.lastUse) })
	c.idle = c.idle[:0]
	for _, s := range c.candidates {
		c.idle = append(c.idle, IdleSequence{Sequence: s.id, Saved: s.saved()})
	}
	return c.sequences[c.placer.Place(prefill, c.running, c.idle)]
}

// recency orders sequences by their last use; those that are of no use come first, or will be of
// none.
func (s *Sequence) recency() uint64 {
	if s.useless() || s.dropped {
		return 0
	}
	return s.lastUse
}

// except is for choose: all sequences but one.
func except(keep *Sequence) func(*Sequence) bool { return func(s *Sequence) bool { return s != keep } }
