// SPDX-License-Identifier: MIT

// Package residency keeps in memory the models that requests ask for. It loads a model on its
// first use, and unloads the least recently used ones when another needs their place, and those
// that were idle for long. A model that is in use is never unloaded.
//
// # Why is an API's answer for a model that cannot be loaded a 422?
//
// Clients repeat a request that got a 5xx. For a broken file that is useless, and each try takes
// a child process. For the same reason the failure is remembered for ten seconds.
package residency

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// Errors of Use and Unload. That of a model which does not load is the loader's.
var (
	// ErrBusy: all models that are loaded are in use, and there is no room for another.
	ErrBusy = errors.New("the models that are loaded are all in use")
	// ErrNoRoom: what never leaves for another leaves no room for the model.
	ErrNoRoom = errors.New("there is no room for the model")
	// ErrQueue: too many requests wait for models.
	ErrQueue = errors.New("too many requests wait for models to load")
	// ErrInUse: the model is in use.
	ErrInUse = errors.New("the model is in use")
	// ErrClosed: the server is shutting down.
	ErrClosed = errors.New("no more models are loaded: the server is shutting down")
)

// Options are how models are loaded and how many stay.
type Options[M io.Closer] struct {
	Load func(ctx context.Context, name string) (M, error)
	// Need is how many bytes a model will take, 0 if unknown. It may read files, and start a
	// process that does.
	Need func(ctx context.Context, name string) uint64
	// Available is how many bytes the system has left, 0 if unknown.
	Available func() uint64
	Budget    uint64                 // bytes that all models may take together; 0: any number
	Most      int                    // models loaded at once; 0: any number
	Idle      time.Duration          // after so long without a request a model is unloaded; 0: never
	Keeps     func(name string) bool // whether a model never leaves for another; nil: none
	KeptIdle  time.Duration          // after so long without a request even such a model is unloaded; 0: never
	Wait      time.Duration          // how long a request waits for room; 0: two minutes
	Queue     int                    // requests that may wait; 0: 256
	Rest      func()                 // called once nobody has used a model for a second, and after a model was unloaded; nil: nothing is
	Log       *slog.Logger
}

const (
	defaultWait  = 2 * time.Minute
	defaultQueue = 256
	// A model that did not load is not tried again for so long, so that requests for it do not
	// keep the machine busy.
	failurePause = 10 * time.Second
)

// State is what a model is doing.
type State string

// The states, by llama-server's names.
const (
	Unloaded State = "unloaded"
	Loading  State = "loading"
	Loaded   State = "loaded"
)

// Set is the models that are loaded. It is safe for concurrent use.
type Set[M io.Closer] struct {
	Options[M]
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	turn   chan struct{} // full while a model is loaded: one at a time

	mu      sync.Mutex
	closed  bool
	waiting int // requests
	models  map[string]*model[M]
	closing closing
	changed chan struct{} // closed and replaced when room may have come
	rest    *time.Timer   // see restSoon
	loads   sync.WaitGroup
}

// closing counts the models that are being unloaded: they still take their place.
type closing struct {
	count int
	bytes uint64
}

// model is one that is loaded, is being loaded or did not load.
type model[M io.Closer] struct {
	name    string
	state   State
	loaded  M
	users   int
	waiters int           // requests for it
	need    uint64        // bytes
	used    time.Time     // last
	done    chan struct{} // closed when loading ends
	err     error         // of the last load
	failed  time.Time
	idle    *time.Timer
}

// New makes a set without models.
func New[M io.Closer](o Options[M]) *Set[M] {
	if o.Wait == 0 {
		o.Wait = defaultWait
	}
	if o.Queue == 0 {
		o.Queue = defaultQueue
	}
	if o.Keeps == nil {
		o.Keeps = func(string) bool { return false }
	}
	if o.Rest == nil {
		o.Rest = func() {}
	}
	s := &Set[M]{Options: o, turn: make(chan struct{}, 1), models: map[string]*model[M]{}, changed: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background()) //nolint:gosec // Stop calls it
	return s
}

// Use returns a model, which is loaded first if it is not. It stays loaded until release is
// called, once. A caller that goes away does not end the loading, since another will come.
func (s *Set[M]) Use(ctx context.Context, name string) (_ M, release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var none M
	m := s.models[name]
	for m == nil || m.state != Loaded {
		if s.closed {
			return none, nil, ErrClosed
		}
		if m == nil || m.state == Unloaded {
			if m != nil && m.err != nil && time.Since(m.failed) < failurePause {
				return none, nil, m.err
			}
			if s.waiting >= s.Queue {
				return none, nil, ErrQueue
			}
			m = s.begin(name)
		}
		if s.waiting >= s.Queue {
			return none, nil, ErrQueue
		}
		if err := s.await(ctx, m); err != nil {
			return none, nil, err
		}
		if m.err != nil {
			return none, nil, m.err
		}
		m = s.models[name] // it may have been unloaded meanwhile, if its turn was over before this one's came
	}
	m.users++
	m.used = time.Now()
	s.stopIdle(m)
	return m.loaded, sync.OnceFunc(func() { s.release(m) }), nil
}

// await waits until a model's loading has ended. s.mu is held, but not while it waits.
func (s *Set[M]) await(ctx context.Context, m *model[M]) error {
	s.waiting++
	m.waiters++
	done := m.done
	s.mu.Unlock()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.mu.Lock()
	s.waiting--
	m.waiters--
	return err
}

func (s *Set[M]) release(m *model[M]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.used = time.Now()
	s.letGo(m)
	if m.users == 0 {
		s.restSoon()
	}
}

// letGo counts one user less. s.mu is held.
func (s *Set[M]) letGo(m *model[M]) {
	if m.users--; m.users > 0 {
		return
	}
	s.awaitIdle(m)
	s.tell()
}

// awaitIdle has a model that nobody uses unloaded when it was idle for long. s.mu is held.
func (s *Set[M]) awaitIdle(m *model[M]) {
	if after := s.idleAfter(m); after > 0 {
		m.idle = time.AfterFunc(after-time.Since(m.used), func() { s.unloadIdle(m) })
	}
}

// idleAfter is how long a model stays without a request; 0: forever.
func (s *Set[M]) idleAfter(m *model[M]) time.Duration {
	if s.Keeps(m.name) {
		return s.KeptIdle
	}
	return s.Idle
}

// stopIdle ends the wait for idleness. s.mu is held.
func (s *Set[M]) stopIdle(m *model[M]) {
	if m.idle != nil {
		m.idle.Stop()
		m.idle = nil
	}
}

func (s *Set[M]) unloadIdle(m *model[M]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.state == Loaded && m.users == 0 && time.Since(m.used) >= s.idleAfter(m) && !s.closed {
		s.unload(m, "it was idle")
	}
}

// tell wakes those that wait for room. s.mu is held.
func (s *Set[M]) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Unload unloads a model that is loaded and not in use.
func (s *Set[M]) Unload(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.models[name]
	switch {
	case s.closed:
		return ErrClosed
	case m == nil || m.state == Unloaded:
		return nil
	case m.state == Loading || m.users > 0:
		return fmt.Errorf("%w: %d requests use it", ErrInUse, m.users+m.waiters)
	}
	s.unload(m, "it was asked for")
	return nil
}

// unload closes a model that nobody uses. s.mu is held, but not while it closes.
func (s *Set[M]) unload(m *model[M], why string) {
	delete(s.models, m.name)
	m.state = Unloaded
	s.stopIdle(m)
	s.loads.Add(1)
	s.closing.count++
	s.closing.bytes += m.need
	s.mu.Unlock()
	begin := time.Now()
	err := m.loaded.Close()
	s.Log.Info("model unloaded", slog.String("model", m.name), slog.String("because", why), slog.Duration("took", time.Since(begin).Round(time.Millisecond)))
	if err != nil {
		s.Log.Warn("a model was not closed as it should", slog.String("model", m.name), slog.Any("error", err))
	}
	s.loads.Done()
	s.mu.Lock()
	s.closing.count--
	s.closing.bytes -= m.need
	s.restSoon()
	s.tell()
}

// Status describes one model.
type Status struct {
	State State
	Users int   // requests that it answers
	Err   error // why it did not load the last time
}

// Status tells what a model is doing.
func (s *Set[M]) Status(name string) Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.models[name]
	if m == nil {
		return Status{State: Unloaded}
	}
	return Status{m.state, m.users, m.err}
}

// Loaded returns a model without using it: it may be unloaded at any time.
func (s *Set[M]) Loaded(name string) (_ M, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.models[name]
	if m == nil || m.state != Loaded {
		var none M
		return none, false
	}
	return m.loaded, true
}

// Presence is a model that is loaded, or is being loaded.
type Presence[M any] struct {
	Name    string
	State   State
	Waiting int // requests that wait for it to load
	Loaded  M   // of a loaded one; it may be unloaded at any time
}

// Present returns the models that are loaded or are being loaded, by name.
func (s *Set[M]) Present() []Presence[M] {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Presence[M]
	for _, m := range s.models {
		if m.state != Unloaded {
			all = append(all, Presence[M]{m.name, m.state, m.waiters, m.loaded})
		}
	}
	slices.SortFunc(all, func(a, b Presence[M]) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// All returns the models that are loaded, the least recently used last. They may be unloaded at
// any time.
func (s *Set[M]) All() []M {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*model[M]
	for _, m := range s.models {
		if m.state == Loaded {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b *model[M]) int { return b.used.Compare(a.used) })
	list := make([]M, len(all))
	for i, m := range all {
		list[i] = m.loaded
	}
	return list
}

// Stop refuses models that are not loaded, and ends the loading of others.
func (s *Set[M]) Stop() {
	s.mu.Lock()
	s.closed = true
	if s.rest != nil {
		s.rest.Stop()
	}
	s.tell()
	s.mu.Unlock()
	s.cancel()
}

// Close unloads all models. No request may use one any more.
func (s *Set[M]) Close() error {
	s.Stop()
	s.loads.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for name, m := range s.models {
		s.stopIdle(m)
		if m.state == Loaded {
			errs = append(errs, m.loaded.Close())
		}
		delete(s.models, name)
	}
	return errors.Join(errs...)
}

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

// restAfter is how long nobody uses a model before Rest is called. A pause between two requests of
// a conversation is longer, so what Rest does delays nobody; in a busy second it would.
const restAfter = time.Second

// restSoon has Rest called when nobody comes for a while. s.mu is held.
func (s *Set[M]) restSoon() {
	switch {
	case s.closed:
	case s.rest == nil:
		s.rest = time.AfterFunc(restAfter, s.takeRest)
	default:
		s.rest.Reset(restAfter)
	}
}

func (s *Set[M]) takeRest() {
	if !s.isUsed() {
		s.Rest()
	}
}

// isUsed reports whether any model is in use or on its way.
func (s *Set[M]) isUsed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.models {
		if m.users > 0 || m.state == Loading {
			return true
		}
	}
	return s.closed
}

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
