// SPDX-License-Identifier: MIT

package residency

import "sync"

// Hold returns a model if it is loaded. It stays so until release is called, once, but is not used
// by it: it is idle as long, and unloaded for another as soon.
func (s *Set[M]) Hold(name string) (_ M, release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.models[name]
	if m == nil || m.state != Loaded {
		var none M
		return none, nil, false
	}
	m.users++
	s.stopIdle(m)
	return m.loaded, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.letGo(m)
	}), true
}
