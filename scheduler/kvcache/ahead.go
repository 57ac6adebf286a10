// SPDX-License-Identifier: MIT

package kvcache

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
