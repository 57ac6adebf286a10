// SPDX-License-Identifier: MIT

package load

import (
	"context"
	"fmt"
	"sync"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/plugin/guest"
)

// Loader loads plugins for one model, and knows how many requests use one. It is safe for concurrent use.
type Loader struct {
	host     *guest.Host
	compiler *compile.Compiler
	loading  sync.Mutex // one module is loaded at a time: compiling takes memory in proportion to the module

	mu     sync.Mutex // guards users and closed
	users  int        // stages and templates at work
	closed bool
	unused chan struct{} // closed once the loader is closed and nobody uses a plugin any more
}

// New makes a loader for plugins that are offered o.
func New(o plugin.Options) *Loader {
	h := guest.NewHost(o)
	return &Loader{host: h, compiler: compile.New(h.CacheDir, h.Limits.Module, h.Limits.Compile, h.Log), unused: make(chan struct{})}
}

// Limits are what its plugins may use.
func (l *Loader) Limits() plugin.Limits { return l.host.Limits }

// MemoryUse tells how many bytes all instances have together, and how many they may have.
func (l *Loader) MemoryUse() (used, limit int64) { return l.host.MemoryUse() }

// enter notes that a guest is to be run, until leave. It returns ErrClosed after Close.
func (l *Loader) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return plugin.ErrClosed
	}
	l.users++
	return nil
}

func (l *Loader) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users--; l.closed && l.users == 0 {
		close(l.unused)
	}
}

// Close waits until no request uses a plugin any more, or the context is done: then the error tells how many still do. What a
// plugin holds is freed with its last Release. Close may be called again.
func (l *Loader) Close(ctx context.Context) error {
	l.mu.Lock()
	users := l.users
	if users == 0 && !l.closed {
		close(l.unused)
	}
	l.closed = true
	l.mu.Unlock()
	l.compiler.Close()
	if users > 0 {
		select {
		case <-l.unused:
		case <-ctx.Done():
			return fmt.Errorf("failed to close the plugins: %d requests still use one: %w", users, ctx.Err())
		}
	}
	return nil
}
