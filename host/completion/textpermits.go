// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/turns"
)

// textPermits bounds how much work on the text of requests goes on at a time: on templates, tokens
// and grammars. Callers take turns. The work ends when its caller has left, though in C and in a
// guest not at once. Long texts have permits of their own, so that short ones do not wait behind
// them.
type textPermits struct{ short, long *turns.Permits }

// shortText is up to how many bytes a text keeps nobody waiting for more than some milliseconds.
const shortText = 32 << 10

// newTextPermits has permits for a quarter of the cores each, so that half of the cores is left for
// answers.
func newTextPermits() *textPermits {
	permits := max(1, runtime.GOMAXPROCS(0)/4)
	return &textPermits{short: turns.NewPermits(permits), long: turns.NewPermits(permits)}
}

// result is what work with a permit came to.
type result[T any] struct {
	value T
	err   error
	panic any // with its stack
}

// withPermit does work on a text of size bytes for a caller. When ctx is done or the deadline has
// passed (zero: none), it returns at once. Work that has begun is told by its context, and drop,
// which may be nil, is given its value if it still comes to one. The caller may write meanwhile to
// what it asked with, so work must have copies of that.
func withPermit[T any](ctx context.Context, p *textPermits, caller Caller, deadline time.Time, size int, work func(context.Context) (T, error), drop func(T)) (T, error) {
	ctx, stop := withDeadline(ctx, deadline)
	defer stop()
	ctx = sampling.WithSalt(ctx, caller.CacheSalt)
	if ctx.Err() != nil {
		return *new(T), causeOf(ctx) // before it takes a permit that is free
	}
	permits := p.short
	if size > shortText {
		permits = p.long
	}
	give, err := permits.Take(ctx, caller.ID)
	if err != nil {
		return *new(T), causeOf(ctx)
	}
	done := make(chan result[T])
	go func() {
		r := runRecovered(ctx, work)
		give()
		select {
		case done <- r:
		case <-ctx.Done():
			if drop != nil && r.err == nil && r.panic == nil {
				drop(r.value)
			}
		}
	}()
	select {
	case r := <-done:
		if r.panic != nil {
			panic(r.panic) // on the handler's goroutine, where it is caught
		}
		return r.value, r.err
	case <-ctx.Done():
		return *new(T), causeOf(ctx)
	}
}

// causeOf tells why a request is not worked on any more.
func causeOf(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return refusal.ErrGone
}

func runRecovered[T any](ctx context.Context, work func(context.Context) (T, error)) (r result[T]) {
	defer func() {
		if p := recover(); p != nil {
			r.panic = fmt.Sprintf("%v, in work on a text:\n%s", p, debug.Stack())
		}
	}()
	r.value, r.err = work(ctx)
	return r
}

// Work does work on a text of size bytes with a permit for a caller, for requests that are not
// for an answer. It ends with ctx, of which the work is told.
func Work[T any](ctx context.Context, s *Service, caller Caller, size int, work func(context.Context) (T, error)) (T, error) {
	return withPermit(ctx, s.permits, caller, time.Time{}, size, work, nil)
}
