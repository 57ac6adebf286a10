// SPDX-License-Identifier: MIT

package residency

import "time"

// restAfter is how long nobody uses a model before Rest is called. A pause between two requests of
// a conversation is longer, so what Rest does delays nobody; in a busy second it would.
const restAfter = time.Second

// restSoon has Rest called when nobody comes for a while. s.mu is held.
func (s *Set[M]) restSoon() {
	switch {
	case s.Rest == nil || s.closed:
	case s.rest == nil:
		s.rest = time.AfterFunc(restAfter, s.takeRest)
	default:
		s.rest.Reset(restAfter)
	}
}

func (s *Set[M]) takeRest() {
	if !s.used() {
		s.Rest()
	}
}

// used reports whether any model is in use or on its way.
func (s *Set[M]) used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.models {
		if m.users > 0 || m.state == Loading {
			return true
		}
	}
	return s.closed
}
