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

	mu     sync.RWMutex // guards closed
	closed bool
	users  sync.WaitGroup // stages and templates at work

	loading sync.Mutex // one module is loaded at a time: compiling takes memory in proportion to the module
}

// NewRuntime sets up wazero and the host functions.
func NewRuntime(ctx context.Context, o Options) (*Runtime, error) {
	r := &Runtime{
		limits: o.Limits, vocabulary: o.Vocabulary, grammars: o.Grammars, topK: o.TopK, observer: o.Observer, log: o.Log,
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
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		return ErrClosed
	}
	r.users.Add(1)
	return nil
}

func (r *Runtime) leave() { r.users.Done() }

// Close waits until every Stage is closed, and frees everything.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.users.Wait()
	err := r.wazero.Close(ctx)
	if r.cache != nil {
		err = errors.Join(err, r.cache.Close(ctx))
	}
	return err
}
