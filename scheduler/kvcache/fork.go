// SPDX-License-Identifier: MIT

package kvcache

// A request may have several sequences that begin alike, its branches. Acquire forks one from
// another: it shares what they have in common. Where the memory copies cells for that, it need not
// copy all of them: a branch that was dropped has most of them already, and only the rest is
// added.

// Drop makes the sequence of a branch idle that is not to go on. Unlike one that was released it
// is evicted before all others, never saved, and the first choice for what begins as it does.
func (c *Cache) Drop(s *Sequence) {
	c.Release(s)
	s.name, s.dropped = 0, true
}

// ForksAtEnds reports whether the memory shares only what a sequence ends with, as recurrent
// states: a fork that waits until the other has gone on shares nothing.
func (c *Cache) ForksAtEnds() bool { return c.checkpoints.takes && c.memory.Shares() }

// sibling is the dropped sequence with the most tokens of a request, as far as the memory can cut
// it there; nil: there is none. It has fewer than best, whose other cells it is to get.
func (c *Cache) sibling(r Claim, best *Sequence) (found *Sequence, common int) {
	if c.checkpoints.takes { // such a memory shares nothing with what holds something
		return nil, 0
	}
	for _, s := range c.sequences {
		if !s.dropped || s.running || s.unsure || s == best || s == c.copy.sequence {
			continue
		}
		if n := c.reach(s, s.common(reusable(r.Tokens), r.Scope)); n > common {
			found, common = s, n
		}
	}
	return found, common
}
