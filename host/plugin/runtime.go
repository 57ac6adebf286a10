// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Runtime compiles modules and runs them for one model. It is safe for concurrent use.
type Runtime struct {
	wazero     wazero.Runtime
	cache      wazero.CompilationCache
	limits     Limits
	vocabulary Vocabulary
	grammars   Grammars
	topK       TopK
	observer   Observer
	log        *slog.Logger
	pieces     func() []byte // the ABI's vocab, built when first asked for

	mu     sync.Mutex // guards users and closed
	users  int        // stages and templates at work
	closed bool
	idle   chan struct{} // closed when the runtime is, and nobody uses it any more

	loading sync.Mutex // one module is loaded at a time: compiling takes memory in proportion to the module
}

// NewRuntime sets up wazero and the host functions.
func NewRuntime(ctx context.Context, o Options) (*Runtime, error) {
	r := &Runtime{
		limits: o.Limits, vocabulary: o.Vocabulary, grammars: o.Grammars, topK: o.TopK, observer: o.Observer, log: o.Log,
		idle: make(chan struct{}),
	}
	if r.limits == (Limits{}) {
		r.limits = DefaultLimits()
	}
	if r.vocabulary == nil {
		r.vocabulary = noWords{}
	}
	if r.observer == nil {
		r.observer = nobody{}
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.pieces = sync.OnceValue(r.layPieces)
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2).
		WithMemoryLimitPages(r.limits.Module.MemoryPages).
		WithDebugInfoEnabled(false)
	if o.CacheDir != "" {
		cache, err := openCache(o.CacheDir)
		if err != nil {
			return nil, err
		}
		r.cache, config = cache, config.WithCompilationCache(cache)
	}
	r.wazero = wazero.NewRuntimeWithConfig(ctx, config)
	if err := r.offer(ctx); err != nil {
		return nil, errors.Join(err, r.Close(ctx))
	}
	return r, nil
}

// openCache opens the folder of compiled code, which nobody else may write to: it is run as it is. wazero names an entry
// by the rewritten module, its own version and the processor's features, so no entry outlives what it was made from.
func openCache(dir string) (wazero.CompilationCache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("failed to make the cache of compiled plugins: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("failed to close the cache of compiled plugins to others: %w", err)
	}
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, fmt.Errorf("failed to open the cache of compiled plugins: %w", err)
	}
	return cache, nil
}

// enter notes that a guest is to be run, until leave. It returns ErrClosed after Close.
func (r *Runtime) enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	r.users++
	return nil
}

func (r *Runtime) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.users--; r.closed && r.users == 0 {
		close(r.idle)
	}
}

// Close waits until every Stage is closed, and frees everything. Where one is not by the time the context is done, it
// gives up and frees nothing, since a guest may be running: the error tells how many there are. It may be called again.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	users := r.users
	if users == 0 && !r.closed {
		close(r.idle)
	}
	r.closed = true
	r.mu.Unlock()
	if users > 0 {
		select {
		case <-r.idle:
		case <-ctx.Done():
			return fmt.Errorf("failed to close the plugins: %d requests still use one: %w", users, ctx.Err())
		}
	}
	err := r.wazero.Close(ctx)
	if r.cache != nil {
		err = errors.Join(err, r.cache.Close(ctx))
	}
	return err
}
