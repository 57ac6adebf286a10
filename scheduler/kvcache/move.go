// SPDX-License-Identifier: MIT

package kvcache

import "time"

// move is a copy on its way: out of a sequence into the archive, or into a sequence. Nobody has that sequence until it is
// done: a request whose place is being made waits in the queue.
type move struct {
	seq    *Sequence // nil: there is none
	saved  *saved    // where it goes into the archive
	prefix bool      // it comes from another sequence, for a request
	ahead  bool      // nobody waits for it
}

// CopyTime is how long a tick may copy: those who generate wait for it.
type CopyTime struct{ Archive, Prefix, Ahead time.Duration }

// BeginTick sets what a tick may spend on copies, from now on, and goes on with what is on its way.
func (c *Cache) BeginTick(p CopyTime) {
	c.pause, c.begun = p, c.now()
	c.moved()
}

// begin notes the copy that the backend has begun.
func (c *Cache) begin(m move) {
	c.moving = m
	m.seq.moving = true
}

// Copying tells whether a copy is in progress.
func (c *Cache) Copying() bool { return c.moving.seq != nil }

// Idle tells whether there is nothing to copy and nothing to look for that could be saved ahead.
func (c *Cache) Idle() bool { return !c.Copying() && !c.changed }

// moved goes on with the copy that is on its way, as long as the tick allows, and tells whether none is left.
func (c *Cache) moved() bool {
	if !c.Copying() {
		return true
	}
	left := c.left(c.moving)
	if left <= 0 || !c.memory.Move(left) {
		return false
	}
	c.arrive()
	return true
}

// left is how long this tick may still copy.
func (c *Cache) left(m move) time.Duration {
	most := c.pause.Archive
	switch {
	case m.prefix:
		most = c.pause.Prefix
	case m.ahead:
		most = c.pause.Ahead
	}
	return most - c.now().Sub(c.begun)
}

// settle finishes the copy that is on its way, or gives it up.
func (c *Cache) settle() {
	c.giveUp()
	if c.Copying() {
		c.memory.Move(-1)
		c.arrive()
	}
}

// arrive does what was to be done after the copy.
func (c *Cache) arrive() {
	m := c.moving
	c.moving = move{}
	m.seq.moving = false
	if m.saved != nil {
		c.archive.add(m.saved)
		m.saved.cached, m.seq.kept = true, m.saved
	}
}
