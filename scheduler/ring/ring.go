// SPDX-License-Identifier: MIT

// Package ring is the ring buffer between the tick, which must never wait, and the reader of an
// answer, which may.
//
// A Ring allocates nothing per item but while it grows. Its write and read indices only grow; an
// item's place is its index modulo the number of places. Its capacity is how many unread items it
// should hold; it has places for as many as there once were. The writer reserves room before a
// tick; if the tick produces more, the ring has more: no item is lost.
//
// # Why a ring and not a Go channel?
//
// A channel cannot tell the tick how full it is without a race. The ring has one producer and one
// consumer, and adding a token allocates nothing. Its places have room for a token and its text,
// and point to the rarer events: whole events, of over 100 bytes, would make the rings of 256 slots
// larger than the processor's caches, and a tick writes to all of them. For the same reason a ring
// begins with few places: a reader that keeps up has them written again and again, while 256 places
// of 256 slots are 2.5 MB that go through the caches.
//
// # Why can a ring grow?
//
// Before a tick, a slot's ring must have room for what a tick usually adds: the start, one token,
// the end. But a tick may add much more, such as a plugin's whole hold window when the answer
// ends, or a splice of a thousand tokens. Keeping that much room free for every token would make
// each ring as large as the context, and letting a finished answer wait for room would block its
// slot. So the ring grows, which the context bounds, and the slot is parked until the reader has
// caught up.
package ring

import (
	"context"
	"iter"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/penstock/penstock/scheduler/panics"
)

// Ring carries items from one writer to one reader. The writer never blocks.
//
// A mutex guards the indices: it costs the writer about 20 ns an item, and lets it overwrite the
// oldest item without racing with a reader that is copying it. The writer reads what only itself
// writes without it.
type Ring[T any] struct {
	mu       sync.Mutex
	items    []T           // a power of two
	capacity int           // unread items from which on Reserve refuses
	write    uint64        // items written so far, by the writer alone
	read     atomic.Uint64 // items read so far
	asked    bool          // the writer's own: wanted may be set
	missed   uint64        // items overwritten before they were read
	sleeping bool          // the reader waits for wake
	wanted   int           // free places the writer waits for; 0: it does not

	wake   chan struct{}
	onRoom func()
}

// firstPlaces is how many a ring has at first: a reader that keeps up needs a few.
const firstPlaces = 16

// New makes a ring for capacity items, at least 4. onRoom, which may be nil, is called from the
// reader's goroutine when the reader has made the room that a failed Reserve asked for.
func New[T any](capacity int, onRoom func()) *Ring[T] {
	capacity = max(capacity, 4)
	return &Ring[T]{items: make([]T, 1<<bits.Len(uint(min(capacity, firstPlaces)-1))), capacity: capacity, wake: make(chan struct{}, 1), onRoom: onRoom}
}

// Reserve reports whether n more items fit. If they do not, onRoom is called once the reader has
// made the room.
func (r *Ring[T]) Reserve(n int) bool {
	if !r.asked && r.free() >= n {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked = r.free() < n; !r.asked {
		r.wanted = 0
		return true
	}
	r.wanted = min(n, r.capacity)
	return false
}

// Push writes an item and returns its index. No unread item is lost: if there are as many as
// places, the ring grows.
func (r *Ring[T]) Push(item T) uint64 {
	r.mu.Lock()
	return r.put(item)
}

// Overwrite writes an item and returns its index; with as many unread ones as the capacity the
// oldest of them is lost.
func (r *Ring[T]) Overwrite(item T) uint64 {
	r.mu.Lock()
	if r.free() <= 0 {
		r.read.Add(1)
		r.missed++
	}
	return r.put(item)
}

// put writes an item and unlocks.
func (r *Ring[T]) put(item T) uint64 {
	index := r.write
	if index-r.read.Load() == uint64(len(r.items)) {
		r.grow()
	}
	*r.place(index) = item
	r.write++
	wake := r.sleeping
	r.sleeping = false
	r.mu.Unlock()
	if wake {
		r.signal()
	}
	return index
}

// grow doubles the places.
func (r *Ring[T]) grow() {
	items := r.items
	r.items = make([]T, 2*len(items))
	for i := r.read.Load(); i < r.write; i++ {
		*r.place(i) = items[i&uint64(len(items)-1)]
	}
}

// place finds where an item is.
func (r *Ring[T]) place(index uint64) *T { return &r.items[index&uint64(len(r.items)-1)] }

func (r *Ring[T]) free() int { return r.capacity - int(r.write-r.read.Load()) }

func (r *Ring[T]) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// TryNext takes the next item, with its index, if there is one.
func (r *Ring[T]) TryNext() (item T, index uint64, ok bool) {
	item, index, ok, room := r.take(false)
	r.made(room)
	return item, index, ok
}

// Next takes the next item, with its index, and waits for it if need be. The only error is the
// context's.
func (r *Ring[T]) Next(ctx context.Context) (item T, index uint64, err error) {
	for {
		item, index, ok, room := r.take(true)
		if ok {
			r.made(room)
			return item, index, nil
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			return item, 0, ctx.Err()
		}
	}
}

// Missed counts the items that were overwritten before they were read.
func (r *Ring[T]) Missed() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.missed
}

// Len is the number of items ready to be read.
func (r *Ring[T]) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int(r.write - r.read.Load())
}

func (r *Ring[T]) take(sleep bool) (item T, index uint64, ok, room bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read.Load() == r.write {
		r.sleeping = sleep
		return item, 0, false, false
	}
	index = r.read.Load()
	item = *r.place(index)
	r.read.Store(index + 1)
	return item, index, true, r.roomMade()
}

// roomMade tells, once, that the writer's wish for room is fulfilled.
func (r *Ring[T]) roomMade() bool {
	if r.wanted == 0 || r.free() < r.wanted {
		return false
	}
	r.wanted = 0
	return true
}

func (r *Ring[T]) made(room bool) {
	if room && r.onRoom != nil {
		r.onRoom()
	}
}

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
