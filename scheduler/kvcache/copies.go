// SPDX-License-Identifier: MIT

package kvcache

import "time"

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
