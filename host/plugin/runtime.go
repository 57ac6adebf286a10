// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
)

// Runtime compiles modules and runs them for one model. It is safe for concurrent use.
type Runtime struct {
	cache      *codeCache // nil: none
	limits     Limits
	budget     budget
	turns      turns
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

// NewRuntime sets up what modules are loaded with.
func NewRuntime(_ context.Context, o Options) (*Runtime, error) {
	r := &Runtime{
		limits: o.Limits, vocabulary: o.Vocabulary, grammars: o.Grammars, topK: o.TopK, observer: o.Observer, log: o.Log,
		idle: make(chan struct{}),
	}
	if r.limits == (Limits{}) {
		r.limits = DefaultLimits()
	}
	r.budget.limit, r.turns = r.limits.Memory, newTurns()
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
	if o.CacheDir != "" {
		var err error
		if r.cache, err = openCache(o.CacheDir, cacheBytes, r.log); err != nil {
			r.log.Warn("plugins are compiled anew at each start", "because", err)
		}
	}
	return r, nil
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

// Close waits until every Stage is closed; what a module holds is freed with its last Release. Where a Stage is not closed by
// the time the context is done, it gives up: the error tells how many there are. It may be called again.
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
	return nil
}
