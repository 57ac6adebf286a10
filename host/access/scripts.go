// SPDX-License-Identifier: MIT

package access

import (
	"container/list"
	"crypto/sha256"
	"sync"
	"time"
)

// NewScripts is how many scripts that a client has not sent before it may send in a minute.
const NewScripts = 60

// maxSeen bounds the scripts that are known, of all clients together: a digest each. One that is
// forgotten counts as new.
const maxSeen = 1 << 16

// Scripts says whose requests may bring scripts, and counts those that are new: each has to be
// compiled. It is safe for concurrent use; a nil one lets nobody.
type Scripts struct {
	listed  bool // only those of keys that are listed
	limiter *Limiter

	mu    sync.Mutex
	seen  map[[sha256.Size]byte]*list.Element // of a client with a script
	order list.List                           // of their keys, the last used first
}

// NewScriptAccess lets all clients bring scripts, or only those whose keys are listed for it.
func NewScriptAccess(listed bool) *Scripts {
	return &Scripts{listed: listed, limiter: NewLimiter(Limits{Requests: NewScripts}), seen: map[[sha256.Size]byte]*list.Element{}}
}

// May reports whether a client may bring scripts.
func (s *Scripts) May(k Key) bool { return s != nil && (!s.listed || k.Scripts) }

// Take counts a script of a client, unless the client has sent it before. It returns how long the
// client must wait to send it; 0: it need not.
func (s *Scripts) Take(client, source string) time.Duration {
	digest := sha256.Sum256([]byte(client + "\x00" + source))
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.seen[digest]; e != nil {
		s.order.MoveToFront(e)
		return 0
	}
	if standing, ok := s.limiter.Take(client); !ok {
		return standing.Wait()
	}
	if len(s.seen) >= maxSeen {
		last := s.order.Back()
		delete(s.seen, s.order.Remove(last).([sha256.Size]byte))
	}
	s.seen[digest] = s.order.PushFront(digest)
	return 0
}
