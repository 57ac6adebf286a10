// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/penstock/penstock/scheduler"
)

// desk is where the text of requests is worked on: templates, tokens, grammars. That is done in C or by a guest, where it cannot
// be interrupted, so only some of it goes on at a time, whoever sends how many requests. Long texts have places of their
// own, behind which short ones do not wait.
type desk struct{ short, long chan struct{} }

// shortText is up to how many bytes a text keeps nobody waiting for more than some milliseconds.
const shortText = 32 << 10

// newDesk has places for a quarter of the cores each, so that half of them is left for answers.
func newDesk() *desk {
	places := max(1, runtime.GOMAXPROCS(0)/4)
	return &desk{short: make(chan struct{}, places), long: make(chan struct{}, places)}
}

// result is what work at the desk came to.
type result[T any] struct {
	value T
	err   error
	panic any // with its stack
}

// atDesk does work on a text of size bytes. When ctx is done or the deadline has passed (zero: none), it returns at once; work that
// has begun then goes on to its end, and drop, which may be nil, is given what it came to.
func atDesk[T any](ctx context.Context, d *desk, deadline time.Time, size int, work func() (T, error), drop func(T)) (T, error) {
	if !deadline.IsZero() {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadlineCause(ctx, deadline, scheduler.ErrDeadline)
		defer stop()
	}
	places := d.short
	if size > shortText {
		places = d.long
	}
	select {
	case places <- struct{}{}:
	case <-ctx.Done():
		return *new(T), given(ctx)
	}
	done := make(chan result[T])
	go func() {
		r := carefully(work)
		<-places
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
			panic(r.panic) // where the handler's is caught
		}
		return r.value, r.err
	case <-ctx.Done():
		return *new(T), given(ctx)
	}
}

// given is why a request is not worked on any more.
func given(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return errGone
}

func carefully[T any](work func() (T, error)) (r result[T]) {
	defer func() {
		if p := recover(); p != nil {
			r.panic = fmt.Sprintf("%v, at the desk:\n%s", p, debug.Stack())
		}
	}()
	r.value, r.err = work()
	return r
}
