// SPDX-License-Identifier: MIT

package kvcache

import "time"

// Wait is what the cache has to wait for before it can do what it is asked for. It is to be asked
// again in a later tick.
type Wait int

// What the cache may have to wait for.
const (
	WaitNone Wait = iota // it is done, or never can be
	WaitCopy             // for the copy in progress
	WaitRoom             // for cells, or a sequence, that requests have now
)

// waits tells the caller to wait, and remembers that somebody waits.
func (c *Cache) waits(w Wait) Wait {
	c.copyAwaited = c.copyAwaited || w == WaitCopy
	c.roomAwaited = c.roomAwaited || w == WaitRoom
	return w
}

// came notes that what somebody may have been told to wait for is there.
func (c *Cache) came(awaited *bool) {
	c.askAgain = c.askAgain || *awaited
	*awaited = false
}

// copyCheck is how long a copy is left alone if nothing else asks for a tick.
const copyCheck = time.Millisecond

// Next is when the cache needs the next tick: at once if a caller that was told to wait should ask
// again, or if there may be something to save ahead; a moment later while a copy is in progress.
// Otherwise ok is false: only requests change anything.
func (c *Cache) Next() (at time.Time, ok bool) {
	switch {
	case c.askAgain, c.saveAheadDue && !c.Copying():
		return c.now(), true
	case c.Copying():
		return c.now().Add(copyCheck), true
	}
	return time.Time{}, false
}
