// SPDX-License-Identifier: MIT

package kvcache

import (
	"cmp"
	"slices"
	"time"
)

// copyInProgress is a copy that the memory makes. The books have its result at once, but no
// request gets the sequence until it is done: one that waits for it stays in the queue.
type copyInProgress struct {
	kind     copyKind
	sequence *Sequence   // copied into or, when it is saved, out of
	entry    *entry      // of the archive, when it is saved
	exported func(error) // is told that an export is complete, or has failed
}

type copyKind int

const (
	noCopy      copyKind = iota
	sharing              // a prefix from one sequence into another
	restoring            // from the archive into a sequence
	saving               // from a sequence into the archive
	savingAhead          // the same, and no request waits for it
	exporting            // from a sequence to where nobody looks for prefixes
)

// CopyTime is how long a tick may copy, in all, before it begins a copy of a kind or goes on with
// one.
type CopyTime struct {
	Archive time.Duration // to and from the archive
	Prefix  time.Duration // from one sequence to another
	Ahead   time.Duration // to the archive, when no request waits for it
	Here    bool          // what requests wait for is copied by the tick itself, not by a thread beside passes
}

// BeginTick sets how long this tick may copy, from now on, and goes on with the copy in progress.
func (c *Cache) BeginTick(t CopyTime) {
	c.copyTime, c.tickBegan, c.askAgain = t, c.now(), false
	c.continueCopy()
}

// Copying reports whether a copy is in progress.
func (c *Cache) Copying() bool { return c.copy.kind != noCopy }

// continueCopy goes on with the copy in progress for as long as the tick allows, and reports
// whether none is left.
func (c *Cache) continueCopy() bool {
	if !c.Copying() {
		return true
	}
	left := c.timeLeft(c.copy.kind)
	return left > 0 && c.advanceCopy(left, c.copyTime.Here && c.copy.kind != savingAhead)
}

// advanceCopy has the memory go on with the copy in progress and reports whether it is done. If
// that panics, the copy has failed.
func (c *Cache) advanceCopy(limit time.Duration, here bool) (done bool) {
	returned := false
	defer func() {
		if !returned {
			c.copyFailed()
		}
	}()
	done = c.memory.ContinueCopy(limit, here)
	if returned = true; done {
		c.copyDone()
	}
	return done
}

// timeLeft is how long this tick may still copy.
func (c *Cache) timeLeft(kind copyKind) time.Duration {
	most := c.copyTime.Archive
	switch kind {
	case sharing:
		most = c.copyTime.Prefix
	case savingAhead:
		most = c.copyTime.Ahead
	}
	return most - c.now().Sub(c.tickBegan)
}

// finishCopy finishes the copy in progress, however long that takes, or ends it if no request
// waits for it.
func (c *Cache) finishCopy() {
	c.cancelSaveAhead()
	if c.Copying() {
		c.advanceCopy(-1, true)
	}
}

// copyDone notes that the memory has made the copy.
func (c *Cache) copyDone() {
	done := c.copy
	c.copy = copyInProgress{}
	c.came(&c.copyAwaited)
	if done.exported != nil {
		done.exported(nil)
	}
	if done.entry != nil {
		c.archive.add(done.entry)
		done.entry.sequence, done.sequence.archived = done.sequence, done.entry
	}
}

// copyFailed forgets the copy in progress, if any, of which nobody knows what became.
func (c *Cache) copyFailed() {
	failed := c.copy
	c.copy = copyInProgress{}
	c.came(&c.copyAwaited)
	switch {
	case failed.kind == noCopy:
	case failed.exported != nil:
		failed.exported(errCopy)
	case failed.entry != nil:
		c.archive.discard(failed.entry)
	default:
		failed.sequence.unsure = true
	}
}

// save begins to copy a sequence into the archive, and reports whether that takes it.
func (c *Cache) save(s *Sequence, kind copyKind) bool {
	if c.settle(s); len(s.tokens) == 0 {
		return false
	}
	e := c.archive.save(s, kind == savingAhead)
	if e == nil {
		c.abortCopy()
		return false
	}
	c.copy = copyInProgress{kind: kind, sequence: s, entry: e}
	return true
}

// cancelSaveAhead ends a copy that no request waits for.
func (c *Cache) cancelSaveAhead() {
	if c.copy.kind == savingAhead {
		e := c.copy.entry
		c.copy, c.saveAheadDue = copyInProgress{}, true
		c.archive.discard(e)
		c.abortCopy()
	}
}

// abortCopy ends a copy into a state that was closed.
func (c *Cache) abortCopy() { c.memory.ContinueCopy(0, false) }

// SaveAhead saves idle sequences before they must be evicted, so that a request finds a place at
// once. It does so while fewer than half of the sequences are empty, and begins with what is
// evicted next. What is saved also stays in the cache until it is evicted. Nobody waits for such a
// copy, and any other copy ends it.
func (c *Cache) SaveAhead() {
	c.saveAheadDue = c.saveAheadDue && c.archive.states != nil
	if !c.saveAheadDue {
		return
	}
	for c.continueCopy() {
		s := c.nextToSave()
		if s != nil && c.timeLeft(savingAhead) <= 0 {
			return
		}
		if s == nil || !c.save(s, savingAhead) {
			c.saveAheadDue = false
			return
		}
	}
}

// nextToSave is the sequence to save next; nil if there is none, or if enough sequences are empty.
func (c *Cache) nextToSave() *Sequence {
	empty := 0
	for _, s := range c.sequences {
		if len(s.tokens) == 0 {
			empty++
		}
	}
	if empty >= len(c.sequences)/2 {
		return nil
	}
	return c.choose(0, func(s *Sequence) bool { return c.worthSaving(s) && !c.archive.has(&s.conversation) })
}

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
