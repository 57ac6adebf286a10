// SPDX-License-Identifier: MIT

package load

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
)

// Model is a model that plugins are used with. It knows the plugins that were warmed for it, and
// how many requests use one. It is safe for concurrent use.
type Model struct {
	loader *Loader
	host   *guest.Environment

	mu      sync.Mutex // guards what follows
	users   int        // stages and templates at work, and plugins that are being warmed
	closed  bool
	unused  chan struct{} // closed once the model is closed and has no users any more
	plugins map[*loaded]*warmed

	plans plans // of its plugins
}

// warmed is a plugin for one model.
type warmed struct {
	turn   sync.Mutex // held while it is warmed; the fields below are changed with Model.mu held too
	plugin *Plugin    // nil: it is not warmed
	err    error      // why it cannot be
}

func newModel(l *Loader, h *guest.Environment) *Model {
	return &Model{loader: l, host: h, unused: make(chan struct{}), plugins: map[*loaded]*warmed{}, plans: newPlans(h.Limits.Memory)}
}

// Name returns the model's name in the API.
func (m *Model) Name() string { return m.host.Model.Name }

// Alone reports whether the host has no other model.
func (m *Model) Alone() bool { return m.host.Alone }

// For returns the plugin for use with a model, for all configurations. The first call warms it for
// the model's vocabulary; a failure is remembered. It shares p's users: releasing p is enough, and
// it is usable until m is closed.
//
// # Errors
//
//   - A *plugin.ModelError if the plugin fails on this model.
//   - A blameless *plugin.Fault, or the context's error: the next call may succeed.
//   - plugin.ErrClosed once m is closed.
func (p *Plugin) For(ctx context.Context, m *Model) (*Plugin, error) {
	if p.of != nil {
		p = p.of
	}
	if err := m.enter(); err != nil {
		return nil, err
	}
	defer m.leave()
	w := m.entryOf(p.loaded)
	w.turn.Lock()
	defer w.turn.Unlock()
	if w.plugin != nil || w.err != nil {
		return w.plugin, w.err
	}
	module, err := p.warmModule(ctx, m)
	if err != nil {
		if mayWorkLater(ctx, err) {
			return nil, err
		}
		var failed *plugin.ModelError // the error of the plugin that runs this script
		if errors.As(err, &failed) {
			err = failed.Err
		}
		err = &plugin.ModelError{Plugin: p.Name, Model: m.Name(), Err: err}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if w.err = err; err == nil {
		w.plugin = &Plugin{loaded: p.loaded, Module: module, Manifest: p.Manifest, Exports: p.Exports, model: m}
	}
	return w.plugin, w.err
}

// warmModule returns the plugin's module, warmed for a model. A script's is its interpreter's.
func (p *loaded) warmModule(ctx context.Context, m *Model) (*guest.Module, error) {
	if p.runs != nil {
		runs, err := p.runs.For(ctx, m)
		if err != nil {
			return nil, err
		}
		return runs.Module.As(p.Name, p.configure, p.quarantine.Faulted), nil
	}
	module := p.base.For(m.host)
	if err := module.Warm(ctx); err != nil {
		module.Close()
		return nil, err
	}
	return module, nil
}

// mayWorkLater reports whether warming may succeed another time, since the plugin was not at fault.
func mayWorkLater(ctx context.Context, err error) bool {
	var fault *plugin.Fault
	var refusal *plugin.Refusal
	return ctx.Err() != nil || !errors.As(err, &refusal) && (!errors.As(err, &fault) || fault.Blameless())
}

// Failed returns why a plugin cannot be used with the model; nil: it can, or was not tried yet.
func (m *Model) Failed(p *Plugin) *plugin.ModelError {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.plugins[p.loaded]
	if w == nil {
		return nil
	}
	var failed *plugin.ModelError
	errors.As(w.err, &failed)
	return failed
}

// entryOf returns the entry of a plugin, and makes one if there is none.
func (m *Model) entryOf(p *loaded) *warmed {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.plugins[p]
	if w == nil {
		w = &warmed{}
		m.plugins[p] = w
	}
	return w
}

// forget frees what a plugin has for the model. It must have no users.
func (m *Model) forget(p *loaded) {
	m.plans.forget(p)
	m.mu.Lock()
	defer m.mu.Unlock()
	if w := m.plugins[p]; w != nil && w.plugin != nil {
		w.plugin.Module.Close()
	}
	delete(m.plugins, p)
}

// enter adds a user, until leave. It returns ErrClosed after Close.
func (m *Model) enter() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return plugin.ErrClosed
	}
	m.users++
	return nil
}

func (m *Model) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.users--; m.closed && m.users == 0 {
		close(m.unused)
	}
}

// Close waits until no request uses a plugin with this model any more, or the context is done. Then
// the error tells how many requests still do. It frees what the plugins have for the model, and may
// be called again.
func (m *Model) Close(ctx context.Context) error {
	m.loader.remove(m)
	m.mu.Lock()
	users := m.users
	if users == 0 && !m.closed {
		close(m.unused)
	}
	m.closed = true
	m.mu.Unlock()
	if users > 0 {
		select {
		case <-m.unused:
		case <-ctx.Done():
			return fmt.Errorf("failed to close the plugins: %d requests still use one: %w", users, ctx.Err())
		}
	}
	m.plans.forget(nil)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.plugins {
		if w.plugin != nil {
			w.plugin.Module.Close()
		}
	}
	clear(m.plugins)
	return nil
}
