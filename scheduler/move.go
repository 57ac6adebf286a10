// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"
	"time"
)

// move is a copy on its way: out of a sequence into the archive, or into a sequence. Nobody has that sequence until it is
// done: a request whose place is being made waits in the queue.
type move struct {
	seq    *sequence // nil: there is none
	saved  *saved    // what the sequence becomes, where it goes into the archive
	prefix bool      // it comes from another sequence, for a request
}

// pause is how long a tick may copy: those who generate wait for it.
type pause struct{ archive, prefix time.Duration }

// longestMove is how long a tick copies to or from the archive while answers are generated.
const longestMove = time.Millisecond

// pause is how long this tick may copy, where the one before computed for so long. A prefix takes the place of a prompt's
// computation, so it may take as long as a pass: the next token then comes half as soon, once or twice.
func (s *Scheduler) pause(computed time.Duration) pause {
	if slices.ContainsFunc(s.running, func(j *job) bool { return j.crew.late() || j.generating() }) { // a late one's state is its own
		return pause{longestMove, max(longestMove, computed)}
	}
	return pause{longestAdmission, longestAdmission}
}

// allow sets what a tick may spend on copies, from now on, and goes on with what is on its way.
func (c *cache) allow(p pause) {
	c.pause, c.begun = p, c.now()
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
	most := c.pause.archive
	if c.moving.prefix {
		most = c.pause.prefix
	}
	left := most - c.now().Sub(c.begun)
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
