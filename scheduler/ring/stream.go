// SPDX-License-Identifier: MIT

package ring

import (
	"context"
	"iter"
	"sync"

	"github.com/penstock/penstock/scheduler/panics"
)

// Stream is a loop over what produce pushes, which goes on beside it on a goroutine of its own.
//
// # Notes
//
//   - Nothing begins before the loop does. Each loop over the same stream runs produce anew.
//   - push never waits, and one goroutine calls it at a time, which may be another than produce's.
//     produce calls room before it has more computed. It waits while capacity items, 4 or more, are
//     unread: a slow reader holds produce up, and memory stays bounded by them and what is computed
//     at once.
//   - When the loop is left, or ctx is done, the context of produce is done, and room returns its
//     cause. The loop ends after produce has: nothing runs on behind it.
//
// # Errors
//
//   - the cause of ctx
//   - that of produce, or its panic as a *panics.Error, after all that it has pushed
func Stream[T any](ctx context.Context, capacity int, produce func(ctx context.Context, push func(T), room func() error) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		within, leave := context.WithCancel(ctx)
		made := make(chan struct{}, 1)
		r := New[pushed[T]](capacity, func() {
			select {
			case made <- struct{}{}:
			default:
			}
		})
		push := func(item T) { r.Push(pushed[T]{item: item}) }
		room := func() error {
			for within.Err() == nil && !r.Reserve(1) {
				select {
				case <-made:
				case <-within.Done():
				}
			}
			return context.Cause(within)
		}
		var producing sync.WaitGroup
		producing.Go(func() {
			r.Push(pushed[T]{last: true, err: panics.Try(func() error { return produce(within, push, room) })})
		})
		defer producing.Wait()
		defer leave()
		for {
			next, _, err := r.Next(ctx)
			switch {
			case err != nil:
				yield(next.item, context.Cause(ctx))
				return
			case next.last:
				if next.err != nil {
					yield(next.item, next.err)
				}
				return
			case !yield(next.item, nil):
				return
			}
		}
	}
}

// pushed is an item of a stream, or its end.
type pushed[T any] struct {
	item T
	last bool
	err  error // with last
}
