// SPDX-License-Identifier: MIT

package kvcache

import "time"

// transfer is the copy in progress. The books have its result at once, but no request has its sequence until it is done: one that
// waits for it stays in the queue.
type transfer struct {
	kind     transferKind
	sequence *Sequence // copied into or, when it is saved, out of
	entry    *entry    // of the archive, when it is saved
}

type transferKind int

const (
	noTransfer  transferKind = iota
	sharing                  // a prefix from one sequence into another
	restoring                // from the archive into a sequence
	saving                   // from a sequence into the archive
	savingAhead              // the same, and nobody waits for it
)

// CopyTime is how long a tick may copy, in all, before it begins a copy of a kind or goes on with one.
type CopyTime struct {
	Archive time.Duration // to and from the archive
	Prefix  time.Duration // from one sequence to another
	Ahead   time.Duration // to the archive, when nobody waits for it
}

// BeginTick sets how long this tick may copy, from now on, and goes on with the copy in progress.
func (c *Cache) BeginTick(t CopyTime) {
	c.copyTime, c.tickBegan = t, c.now()
	c.continueCopy()
}

// Copying tells whether a copy is in progress.
func (c *Cache) Copying() bool { return c.transfer.kind != noTransfer }

// continueCopy goes on with the copy in progress for as long as the tick allows, and tells whether none is left.
func (c *Cache) continueCopy() bool {
	if !c.Copying() {
		return true
	}
	left := c.timeLeft(c.transfer.kind)
	if left <= 0 || !c.memory.ContinueCopy(left) {
		return false
	}
	c.completeCopy()
	return true
}

// timeLeft is how long this tick may still copy.
func (c *Cache) timeLeft(kind transferKind) time.Duration {
	most := c.copyTime.Archive
	switch kind {
	case sharing:
		most = c.copyTime.Prefix
	case savingAhead:
		most = c.copyTime.Ahead
	}
	return most - c.now().Sub(c.tickBegan)
}

// finishCopy finishes the copy in progress, however long that takes, or ends it if nobody waits for it.
func (c *Cache) finishCopy() {
	c.cancelSaveAhead()
	if c.Copying() {
		c.memory.ContinueCopy(-1)
		c.completeCopy()
	}
}

// completeCopy notes that the copy in progress is done.
func (c *Cache) completeCopy() {
	t := c.transfer
	c.transfer = transfer{}
	if t.entry != nil {
		c.archive.add(t.entry)
		t.entry.sequence, t.sequence.archived = t.sequence, t.entry
	}
}

// save begins to copy a sequence into the archive, and tells whether that takes it.
func (c *Cache) save(s *Sequence, kind transferKind) bool {
	e := c.archive.save(s, kind == savingAhead)
	if e == nil {
		c.endCopy()
		return false
	}
	c.transfer = transfer{kind: kind, sequence: s, entry: e}
	return true
}

// cancelSaveAhead ends a copy that nobody waits for.
func (c *Cache) cancelSaveAhead() {
	if c.transfer.kind == savingAhead {
		c.archive.discard(c.transfer.entry)
		c.endCopy()
		c.transfer, c.checksAhead = transfer{}, true
	}
}

// endCopy has the memory look at a copy into a state that was closed: it ends there.
func (c *Cache) endCopy() { c.memory.ContinueCopy(0) }
