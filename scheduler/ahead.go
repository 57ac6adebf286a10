// SPDX-License-Identifier: MIT

package scheduler

// This file saves conversations before they must leave the cache, so that a request finds its place made. What is saved stays in the
// cache until its place is wanted. Nobody waits for such a copy, and another copy ends it.

// ahead saves the sequences that are likely to be given up next, where fewer than half of all could be had at once. It looks for
// them after requests have begun or ended, and takes no room in the archive from what the cache still has.
func (c *cache) ahead() {
	if c.archive.states == nil || !c.changed {
		return
	}
	for c.moved() {
		s := c.nextToSave()
		if s == nil {
			c.changed = false
			return
		}
		if c.left(move{ahead: true}) <= 0 {
			return
		}
		saved := c.archive.save(s, true)
		if saved == nil {
			c.memory.Move(0) // of what was begun nothing is wanted
			c.changed = false
			return
		}
		c.begin(move{seq: s, saved: saved, ahead: true})
	}
}

// nextToSave is the idle sequence to be given up first of those that would have to be saved; nil where enough could be had at once.
func (c *cache) nextToSave() *sequence {
	ready := 0
	for _, s := range c.seqs {
		if !s.inUse && !c.mustSave(s) {
			ready++
		}
	}
	if ready >= len(c.seqs)/2 {
		return nil
	}
	return c.oldest(c.mustSave, false)
}

// giveUp ends a copy that nobody waits for.
func (c *cache) giveUp() {
	if c.moving.ahead {
		c.archive.abandon(c.moving.saved)
		c.memory.Move(0)
		c.moving.seq.moving, c.moving, c.changed = false, move{}, true
	}
}
