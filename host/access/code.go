// SPDX-License-Identifier: MIT

package access

import (
	"container/list"
	"crypto/sha256"
	"sync"
	"time"
)

// What a client may send in a minute: scripts that it has not sent before, and modules.
const (
	NewScripts = 60
	NewModules = 10
)

// maxSeen bounds the scripts that are known, of all clients together: a digest each. One that is
// forgotten counts as new.
const maxSeen = 1 << 16

// Code says who may bring code of a kind, and counts what is new: each has to be compiled. It is
// safe for concurrent use; a nil one lets nobody.
type Code struct {
	listed  func(Key) bool // nil: all may
	limiter *Limiter

	mu    sync.Mutex
	seen  map[[sha256.Size]byte]*list.Element // of a client with a script
	order list.List                           // of their keys, the last used first
}

// NewScriptAccess lets all clients bring scripts, or only those whose keys are listed for it.
func NewScriptAccess(listed bool) *Code {
	return newCode(NewScripts, listed, func(k Key) bool { return k.Scripts })
}

// NewModuleAccess lets all clients bring modules, or only those whose keys are listed for it.
func NewModuleAccess(listed bool) *Code {
	return newCode(NewModules, listed, func(k Key) bool { return k.Modules })
}

func newCode(perMinute int, listed bool, isListed func(Key) bool) *Code {
	c := &Code{limiter: NewLimiter(Limits{Requests: perMinute}), seen: map[[sha256.Size]byte]*list.Element{}}
	if listed {
		c.listed = isListed
	}
	return c
}

// May reports whether a client may bring code.
func (c *Code) May(k Key) bool { return c != nil && (c.listed == nil || c.listed(k)) }

// Take counts a piece of code of a client. It returns how long the client must wait to send it; 0:
// it need not.
func (c *Code) Take(client string) time.Duration {
	if standing, ok := c.limiter.Take(client); !ok {
		return standing.Wait()
	}
	return 0
}

// TakeNew is Take for what costs nothing if the client has sent it before.
func (c *Code) TakeNew(client, source string) time.Duration {
	digest := sha256.Sum256([]byte(client + "\x00" + source))
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.seen[digest]; e != nil {
		c.order.MoveToFront(e)
		return 0
	}
	if wait := c.Take(client); wait > 0 {
		return wait
	}
	if len(c.seen) >= maxSeen {
		last := c.order.Back()
		delete(c.seen, c.order.Remove(last).([sha256.Size]byte))
	}
	c.seen[digest] = c.order.PushFront(digest)
	return 0
}
