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
	saved  *saved    // where it goes into the archive
	prefix bool      // it comes from another sequence, for a request
	ahead  bool      // nobody waits for it
}

// pause is how long a tick may copy: those who generate wait for it.
type pause struct{ archive, prefix, ahead time.Duration }

// longestMove is how long a tick copies to or from the archive while answers are generated.
const longestMove = time.Millisecond

// lookAfter is when a scheduler with nothing else to do looks again what has become of a copy.
const lookAfter = time.Millisecond

// pause is how long this tick may copy, where the one before computed for so long. A prefix takes the place of a prompt's
// computation, so it may take as long as a pass: the next token then comes half as soon, once or twice.
func (s *Scheduler) pause(computed time.Duration) pause {
	p := pause{longestAdmission, longestAdmission, longestAdmission}
	if len(s.running) > 0 {
		p.ahead = longestMove
	}
	if slices.ContainsFunc(s.running, func(j *job) bool { return j.crew.late() || j.generating() }) { // a late one's state is its own
		p.archive, p.prefix = longestMove, max(longestMove, computed)
	}
	return p
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
	left := c.left(c.moving)
	if left <= 0 || !c.memory.Move(left) {
		return false
	}
	c.arrive()
	return true
}

// left is how long this tick may still copy.
func (c *cache) left(m move) time.Duration {
	most := c.pause.archive
	switch {
	case m.prefix:
		most = c.pause.prefix
	case m.ahead:
		most = c.pause.ahead
	}
	return most - c.now().Sub(c.begun)
}

// settle finishes the copy that is on its way, or gives it up.
func (c *cache) settle() {
	c.giveUp()
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
		m.saved.cached, m.seq.kept = true, m.saved
	}
}
