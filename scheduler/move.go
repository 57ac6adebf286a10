// SPDX-License-Identifier: MIT

package scheduler

import "time"

// move is a copy on its way: out of a sequence into the archive, or into a sequence. Nobody has that sequence until it is
// done: a request whose place is being made waits in the queue.
type move struct {
	seq   *sequence // nil: there is none
	saved *saved    // what the sequence becomes, where it goes into the archive
}

// longestMove is how long a tick copies while answers are generated: they wait for it.
const longestMove = time.Millisecond

// allow sets what a tick may spend on copies, from now on, and goes on with what is on its way.
func (c *cache) allow(d time.Duration) {
	c.until = c.now().Add(d)
	c.moved()
}

// begin notes the copy that the backend has begun.
func (c *cache) begin(m move) {
	c.moving = m
	m.seq.moving = true
}

func (c *cache) busy() bool { return c.moving.seq != nil }

// moved goes on with the copy that is on its way, as long as the tick allows, and tells whether none is left.
func (c *cache) moved() bool {
	if !c.busy() {
		return true
	}
	left := c.until.Sub(c.now())
	if left <= 0 || !c.memory.Move(left) {
		return false
	}
	c.arrive()
	return true
}

// settle finishes the copy that is on its way.
func (c *cache) settle() {
	if c.busy() {
		c.memory.Move(-1)
		c.arrive()
	}
}

// arrive does what was to be done after the copy.
func (c *cache) arrive() {
	m := c.moving
	c.moving = move{}
	m.seq.moving = false
	if m.saved != nil {
		c.archive.add(m.saved)
		c.truncate(m.seq, 0)
	}
}
