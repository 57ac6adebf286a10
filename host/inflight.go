// SPDX-License-Identifier: MIT

package host

import "sync"

// inFlight counts the requests that are being answered. Unlike a WaitGroup it may be waited for while new ones still come.
type inFlight struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // made by the first who waits, closed when n falls to 0
}

func (c *inFlight) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

func (c *inFlight) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n--
	if c.n == 0 && c.empty != nil {
		close(c.empty)
		c.empty = nil
	}
}

// wait returns a channel that is closed when no request is left.
func (c *inFlight) wait() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.empty != nil {
		return c.empty
	}
	empty := make(chan struct{})
	if c.n == 0 {
		close(empty)
	} else {
		c.empty = empty
	}
	return empty
}
