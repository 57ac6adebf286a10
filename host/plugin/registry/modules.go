// SPDX-License-Identifier: MIT

package registry

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/turns"
)

// ModulesOfClient is how many modules a client may have at a time.
const ModulesOfClient = 16

var (
	// ErrNoModule means that the client does not have the module, whether others do or not.
	ErrNoModule = errors.New("no such module")
	// ErrQuota refuses a module for which its client has no room.
	ErrQuota = errors.New("no room for another module")
)

// Modules keeps the modules that clients bring for their own requests. They are only in memory, and
// gone with the server. It is safe for concurrent use.
//
// A client cannot tell whether there are others: it does not see a module that another has brought,
// and bringing it takes as long. Only the queue for loading is shared, in which clients take turns.
type Modules struct {
	loader *load.Loader
	lock   plugin.Lock
	life   time.Duration
	log    *slog.Logger
	turn   *turns.Permits // one permit, to load a module

	mu     sync.Mutex
	all    map[moduleKey]*owned
	closed bool
	loads  sync.WaitGroup // loads in progress
}

// moduleKey is a client's module, by its SHA-256 in hexadecimal digits.
type moduleKey struct{ client, sum string }

// owned is a module of a client.
type owned struct {
	plugin        *load.Plugin
	size          int
	came, expires time.Time
	end           *time.Timer
}

// ModuleInfo describes a module of a client. Info.File is empty.
type ModuleInfo struct {
	Info
	Came, Expires time.Time
}

func newModules(l *load.Loader, o Options) *Modules {
	return &Modules{loader: l, lock: o.Lock, life: o.ModuleLife, log: o.Log, turn: turns.NewPermits(1), all: map[moduleKey]*owned{}}
}

// Upload checks a module, loads it and keeps it for its client until it was unused for a lifetime.
// created tells that the client did not have it.
//
// # Errors
//
//   - Those of load.Loader.LoadOwned, or of warming if the module works with no model in memory.
//   - One that wraps ErrQuota, plugin.ErrLocked, plugin.ErrBusy or ErrLate.
func (s *Modules) Upload(ctx context.Context, client string, wasm []byte) (_ ModuleInfo, created bool, _ error) {
	if err := s.lock.Allows(wasm); err != nil {
		return ModuleInfo{}, false, err
	}
	sum := sha256.Sum256(wasm)
	key := moduleKey{client, hex.EncodeToString(sum[:])}
	if !s.beginLoad() {
		return ModuleInfo{}, false, plugin.ErrClosed
	}
	defer s.loads.Done()
	within, cancel := context.WithTimeout(ctx, s.loader.Limits().Upload)
	defer cancel()
	give, err := s.turn.Take(within, client)
	if err != nil {
		return ModuleInfo{}, false, cmp.Or(ctx.Err(), fmt.Errorf("%w: it is loading others", plugin.ErrBusy))
	}
	defer give()
	if has, err := s.hasRoom(key); has || err != nil {
		info, _ := s.Get(client, key.sum)
		return info, false, err
	}
	p, err := s.load(within, key, wasm)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return ModuleInfo{}, false, ctx.Err()
	case within.Err() != nil:
		return ModuleInfo{}, false, fmt.Errorf("%w: loading it %w, %v; try again when the machine has less to do", plugin.ErrLimit, ErrLate, s.loader.Limits().Upload)
	case errors.Is(err, plugin.CauseBudget):
		return ModuleInfo{}, false, fmt.Errorf("%w: %s", ErrQuota, plugin.Told(err))
	default:
		return ModuleInfo{}, false, err
	}
	info, err := s.keep(key, p, len(wasm))
	return info, err == nil, err
}

// beginLoad counts a load in progress. It returns false after close.
func (s *Modules) beginLoad() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.loads.Add(1)
	return true
}

// hasRoom reports whether a client has a module already, and renews it. The error wraps ErrQuota if
// the client has too many others.
func (s *Modules) hasRoom(key moduleKey) (has bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.all[key]; m != nil {
		s.renew(m)
		return true, nil
	}
	n := 0
	for other := range s.all {
		if other.client == key.client {
			n++
		}
	}
	if n >= ModulesOfClient {
		return false, fmt.Errorf("%w: you have %d, and may have %d; remove one of them, or wait until one has expired", ErrQuota, n, ModulesOfClient)
	}
	return false, nil
}

// load loads a module for the models in memory.
func (s *Modules) load(ctx context.Context, key moduleKey, wasm []byte) (*load.Plugin, error) {
	p, err := s.loader.LoadOwned(ctx, key.client, wasm)
	if err != nil {
		return nil, err
	}
	models := s.loader.Models()
	if err = s.lock.AllowsName(p.Name, p.SHA256); err == nil {
		err = tryModels(ctx, models, p, func(*load.Model, error) {}) // ModuleInfo tells its client of failures
	}
	if err != nil && (ctx.Err() != nil || !mayWork(models, err)) {
		p.Release()
		return nil, err
	}
	return p, nil
}

// keep adds a module, which expires after its lifetime.
func (s *Modules) keep(key moduleKey, p *load.Plugin, size int) (ModuleInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		p.Release()
		return ModuleInfo{}, plugin.ErrClosed
	}
	m := &owned{plugin: p, size: size, came: time.Now()}
	m.end = time.AfterFunc(s.life, func() { s.expire(key, m) })
	m.expires = m.came.Add(s.life)
	s.all[key] = m
	s.log.Info("a client has brought a module", "sha256", key.sum, "bytes", size)
	return s.describeModule(m), nil
}

// renew restarts the lifetime of a module. The caller holds mu.
func (s *Modules) renew(m *owned) {
	m.expires = time.Now().Add(s.life)
	m.end.Reset(s.life)
}

// expire drops a module, unless it was used meanwhile or still is.
func (s *Modules) expire(key moduleKey, m *owned) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed || s.all[key] != m || time.Until(m.expires) > 0:
	case m.plugin.InUse():
		s.renew(m)
	default:
		s.drop(key, m)
		s.log.Info("a module of a client has expired", "sha256", key.sum)
	}
}

// drop removes a module. Requests that use it keep it until they end. The caller holds mu.
func (s *Modules) drop(key moduleKey, m *owned) {
	delete(s.all, key)
	m.end.Stop()
	m.plugin.Release()
}

// FindFor returns a module of a client for use with a model. The caller must Release it. The error
// wraps ErrNoModule, or is that of load.Plugin.For.
func (s *Modules) FindFor(ctx context.Context, client, sum string, of *load.Model) (*load.Plugin, error) {
	p, err := s.find(client, sum)
	if err != nil {
		return nil, err
	}
	used, err := p.For(ctx, of)
	if err != nil {
		p.Release()
		return nil, err
	}
	return used, nil
}

// find returns a module, and renews it. The caller must Release it.
func (s *Modules) find(client, sum string) (*load.Plugin, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.all[moduleKey{client, sum}]
	if m == nil || !m.plugin.Retain() {
		return nil, s.unknownError(sum)
	}
	s.renew(m)
	return m.plugin, nil
}

func (s *Modules) unknownError(sum string) error {
	return fmt.Errorf("%w: you have none with the SHA-256 %.80s; POST /v1/modules uploads one, and it is gone when it was not used for %v, or with the server", ErrNoModule, sum, s.life)
}

// List describes the modules of a client, the oldest first.
func (s *Modules) List(client string) []ModuleInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []ModuleInfo{}
	for key, m := range s.all {
		if key.client == client {
			list = append(list, s.describeModule(m))
		}
	}
	slices.SortFunc(list, func(a, b ModuleInfo) int { return cmp.Or(a.Came.Compare(b.Came), cmp.Compare(a.SHA256, b.SHA256)) })
	return list
}

// Get describes a module of a client. The error wraps ErrNoModule.
func (s *Modules) Get(client, sum string) (ModuleInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.all[moduleKey{client, sum}]
	if m == nil {
		return ModuleInfo{}, s.unknownError(sum)
	}
	return s.describeModule(m), nil
}

// Remove drops a module of a client. The error wraps ErrNoModule.
func (s *Modules) Remove(client, sum string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := moduleKey{client, sum}
	m := s.all[key]
	if m == nil {
		return s.unknownError(sum)
	}
	s.drop(key, m)
	return nil
}

func (s *Modules) describeModule(m *owned) ModuleInfo {
	i := ModuleInfo{Info: Info{Size: int64(m.size)}, Came: m.came, Expires: m.expires}
	i.describe(m.plugin, s.loader.Models())
	return i
}

// close waits for loads in progress and drops all modules.
func (s *Modules) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.loads.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, m := range s.all {
		s.drop(key, m)
	}
}
