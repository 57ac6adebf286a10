// SPDX-License-Identifier: MIT

package residency

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// begin begins to load a model. s.mu is held.
func (s *Set[M]) begin(name string) *model[M] {
	m := &model[M]{name: name, state: Loading, done: make(chan struct{})}
	s.models[name] = m
	s.loads.Go(func() { s.load(m) })
	return m
}

// load loads a model when it is its turn and there is room. What was taken out of memory for it is
// not put back if it fails. Its turn ends when the model is among those that take room, since the
// next one counts them.
func (s *Set[M]) load(m *model[M]) {
	need := s.Need(s.ctx, m.name)
	var loaded M
	err := ErrClosed
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
		loaded, err = s.loadNow(m, need)
	case <-s.ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.err = err; err != nil {
		m.state, m.failed = Unloaded, time.Now()
		if errors.Is(err, ErrBusy) {
			m.failed = time.Time{} // the next request may find room
		}
		if !s.Keeps(m.name) || s.KeptIdle > 0 { // else whoever starts the server with it tells its user
			s.Log.Warn("a model does not load", slog.String("model", m.name), slog.Any("error", err))
		}
	} else {
		m.state, m.loaded, m.used, m.need = Loaded, loaded, time.Now(), need
		s.awaitIdle(m)
	}
	close(m.done)
	s.tell()
}

// loadNow loads a model whose turn it is.
func (s *Set[M]) loadNow(m *model[M], need uint64) (loaded M, err error) {
	if err := s.makeRoom(need); err != nil {
		return loaded, err
	}
	if loaded, err = s.Load(s.ctx, m.name); err != nil && s.ctx.Err() != nil {
		return loaded, ErrClosed
	}
	return loaded, err
}

// makeRoom unloads models until another has room, and waits for those that are in use. A model that
// would be alone always has room: if it is too large, its loader returns an error.
func (s *Set[M]) makeRoom(need uint64) error {
	ctx, cancel := context.WithTimeout(s.ctx, s.Wait)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.hasRoom(need) {
		if victim := s.leastRecentlyUsed(); victim != nil && s.closing.count == 0 {
			s.unload(victim, "another needs its place")
			continue
		}
		if s.closing.count == 0 && !s.anyInUse() {
			return fmt.Errorf("%w: it takes %d MiB; raise models.max and models.memory, or keep fewer models", ErrNoRoom, need>>20)
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		s.mu.Lock()
		switch {
		case s.ctx.Err() != nil:
			return ErrClosed
		case ctx.Err() != nil:
			return fmt.Errorf("%w: none became free in %v", ErrBusy, s.Wait)
		}
	}
	return nil
}

// hasRoom reports whether a model that needs that many bytes may be loaded. What the system has
// available is too much where it counts the pages of files, which weights are, so what the models
// take is added up, too.
func (s *Set[M]) hasRoom(need uint64) bool {
	count, taken := s.closing.count, need+s.closing.bytes
	for _, m := range s.models {
		if m.state == Loaded {
			count++
			taken += m.need
		}
	}
	switch {
	case count == 0:
		return true
	case s.Most > 0 && count >= s.Most, s.Budget > 0 && taken > s.Budget:
		return false
	}
	available := s.Available()
	return available == 0 || need <= available
}

// leastRecentlyUsed is the least recently used of the models that may be unloaded; nil if there is
// none.
func (s *Set[M]) leastRecentlyUsed() (oldest *model[M]) {
	for _, m := range s.models {
		if m.state == Loaded && m.users == 0 && m.waiters == 0 && !s.Keeps(m.name) && (oldest == nil || m.used.Before(oldest.used)) {
			oldest = m
		}
	}
	return oldest
}

// anyInUse reports whether a model may become free that is not now.
func (s *Set[M]) anyInUse() bool {
	for _, m := range s.models {
		if m.state == Loaded && !s.Keeps(m.name) && (m.users > 0 || m.waiters > 0) {
			return true
		}
	}
	return false
}
