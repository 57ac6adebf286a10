// SPDX-License-Identifier: MIT

package kvcache

// This file saves conversations before they must leave the cache, so that a request finds its place made. What is saved stays in the
// cache until its place is wanted. Nobody waits for such a copy, and another copy ends it.

// SaveAhead saves what nobody uses, where fewer than half of the sequences are empty: what will leave next comes first. It looks
// for it after requests have begun or ended.
func (c *Cache) SaveAhead() {
	c.changed = c.changed && c.archive.states != nil
	if !c.changed {
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

// nextToSave is the idle sequence to be given up first of those that would have to be saved; nil where there is none, or where the
// cache has room for others.
func (c *Cache) nextToSave() *Sequence {
	empty := 0
	for _, s := range c.seqs {
		if len(s.tokens) == 0 {
			empty++
		}
	}
	if empty >= len(c.seqs)/2 {
		return nil
	}
	return c.oldest(c.mustSave, false)
}

// giveUp ends a copy that nobody waits for.
func (c *Cache) giveUp() {
	if c.moving.ahead {
		c.archive.abandon(c.moving.saved)
		c.memory.Move(0)
		c.moving.seq.moving, c.moving, c.changed = false, move{}, true
	}
}
