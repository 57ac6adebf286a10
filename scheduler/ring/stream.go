// SPDX-License-Identifier: MIT

package ring

import (
	"context"
	"iter"
	"sync"

	"github.com/penstock/penstock/scheduler/panics"
)

// Stream is a loop over what produce gives, which goes on beside it on a goroutine of its own.
//
// # Notes
//
//   - Nothing begins before the loop does. Each loop over the same stream runs produce anew.
//   - give waits while capacity items, at least 4, are unread: a slow reader holds produce up, and
//     memory stays bounded. One goroutine calls it at a time.
//   - When the loop is left, or ctx is done, the context of produce is done, and give returns its
//     cause. The loop ends after produce has: nothing runs on behind it.
//
// # Errors
//
//   - the cause of ctx
//   - that of produce, or its panic as a *panics.Error, after all that it has given
func Stream[T any](ctx context.Context, capacity int, produce func(ctx context.Context, give func(T) error) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		within, leave := context.WithCancel(ctx)
		room := make(chan struct{}, 1)
		r := New[given[T]](capacity, func() {
			select {
			case room <- struct{}{}:
			default:
			}
		})
		give := func(item T) error {
			for within.Err() == nil && !r.Reserve(1) {
				select {
				case <-room:
				case <-within.Done():
				}
			}
			if within.Err() != nil {
				return context.Cause(within)
			}
			r.Push(given[T]{item: item})
			return nil
		}
		var producing sync.WaitGroup
		producing.Go(func() {
			r.Push(given[T]{last: true, err: panics.Try(func() error { return produce(within, give) })})
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

// given is an item of a stream, or its end.
type given[T any] struct {
	item T
	last bool
	err  error // with last
}
