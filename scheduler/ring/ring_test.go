// SPDX-License-Identifier: MIT

package ring_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/penstock/penstock/scheduler/panics"
	"github.com/penstock/penstock/scheduler/ring"
	"github.com/penstock/penstock/tools/must"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRing_Next_WaitsForAnItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := ring.New[int](4, nil)
		got := make(chan int)
		go func() {
			v, _, err := r.Next(t.Context())
			if err != nil {
				t.Error(err)
			}
			got <- v
		}()
		synctest.Wait() // the reader sleeps
		r.Push(7)
		if v := <-got; v != 7 {
			t.Errorf("got %d", v)
		}
	})
}

func TestRing_Next_EndsWithTheContext(t *testing.T) {
	r := ring.New[int](4, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestRing_Reserve_CallsBackOnceWhenThereIsRoom(t *testing.T) {
	calls := 0
	r := ring.New[int](4, func() { calls++ })
	for i := range 3 {
		r.Push(i)
	}
	if r.Reserve(3) {
		t.Fatal("three places where there is one")
	}
	r.TryNext()
	if calls != 0 {
		t.Fatal("called back with two places free of the three asked for")
	}
	r.TryNext()
	r.TryNext()
	if calls != 1 {
		t.Errorf("called back %d times", calls)
	}
	if !r.Reserve(3) {
		t.Error("an empty ring has no room")
	}
}

func TestRing_Overwrite_LosesTheOldest(t *testing.T) {
	r := ring.New[int](4, nil)
	for i := range 10 {
		if index := r.Overwrite(i); index != uint64(i) {
			t.Errorf("item %d has index %d", i, index)
		}
	}
	if got := drain(r, nil); !slices.Equal(got, []int{6, 7, 8, 9}) || r.Missed() != 6 {
		t.Errorf("%v, %d missed", got, r.Missed())
	}
}

// A writer that was let have one more item may turn out to have a hundred.
func TestRing_Push_GrowsRatherThanLose(t *testing.T) {
	r := ring.New[int](4, nil)
	for i := range 3 {
		r.Push(i)
	}
	r.TryNext() // the items lie around the end of the places
	for i := 3; i < 100; i++ {
		r.Push(i)
	}
	if r.Reserve(1) {
		t.Error("a ring with more items than its capacity has room")
	}
	got := drain(r, nil)
	for i, item := range got {
		if item != i+1 {
			t.Fatalf("item %d is %d", i, item)
		}
	}
	if len(got) != 99 || r.Missed() != 0 || !r.Reserve(4) || r.Reserve(5) {
		t.Errorf("%d items, %d missed", len(got), r.Missed())
	}
}

func TestRing_Hammer_LosesNothing(t *testing.T) {
	const n = 200_000
	room := make(chan struct{}, 1)
	r := ring.New[int](8, func() { room <- struct{}{} })
	go func() {
		for i := range n {
			for !r.Reserve(1) {
				<-room
			}
			r.Push(i)
		}
	}()
	next := 0
	var buffer []int
	for next < n {
		v, _ := must.Both(r.Next(t.Context()))(t)
		buffer = drain(r, append(buffer[:0], v))
		for _, got := range buffer {
			if got != next {
				t.Fatalf("got %d, want %d", got, next)
			}
			next++
		}
	}
	if r.Missed() != 0 {
		t.Errorf("%d missed", r.Missed())
	}
}

func BenchmarkRing(b *testing.B) {
	r := ring.New[int](256, nil)
	b.ReportAllocs()
	for i := range b.N {
		r.Push(i)
		r.TryNext()
	}
}

// drain appends all items that are there to dst.
func drain(r *ring.Ring[int], dst []int) []int {
	for {
		item, _, ok := r.TryNext()
		if !ok {
			return dst
		}
		dst = append(dst, item)
	}
}

// count pushes the numbers from 0 on, below most, and notes how many it has pushed.
func count(most int, n *int) func(context.Context, func(int), func() error) error {
	return func(_ context.Context, push func(int), room func() error) error {
		for i := range most {
			push(i)
			*n = i + 1
			if err := room(); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestStream_AllInOrder(t *testing.T) {
	var n int
	numbers := ring.Stream(t.Context(), 4, count(1000, &n))
	for range 2 { // each loop is one of its own
		next := 0
		for i, err := range numbers {
			if err != nil || i != next {
				t.Fatalf("%d, %v; want %d", i, err, next)
			}
			next++
		}
		if next != 1000 {
			t.Errorf("%d items", next)
		}
	}
}

// Who reads slowly holds up who computes; it is never ahead by more than what fits.
func TestStream_SlowReader_HoldsProduceUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n int
		read := 0
		for _, err := range ring.Stream(t.Context(), 8, count(100, &n)) {
			if err != nil {
				t.Fatal(err)
			}
			read++
			synctest.Wait() // it has pushed what it may
			if want := min(read+8, 100); n != want {
				t.Fatalf("%d items are read and %d pushed, want %d", read, n, want)
			}
		}
	})
}

// Whoever leaves ends the computing, whether it waits for room, for something else, or for nothing.
func TestStream_Left_EndsProduce(t *testing.T) {
	for name, then := range map[string]func(ctx context.Context, push func(int), room func() error) error{
		"it pushes": func(_ context.Context, push func(int), room func() error) error {
			for room() == nil {
				push(2)
			}
			return nil
		},
		"it waits":  func(ctx context.Context, _ func(int), _ func() error) error { <-ctx.Done(); return nil },
		"it panics": func(context.Context, func(int), func() error) error { panic("boom") },
	} {
		ended := false
		for range ring.Stream(t.Context(), 4, func(ctx context.Context, push func(int), room func() error) error {
			defer func() { ended = true }()
			push(1)
			return then(ctx, push, room)
		}) {
			break
		}
		if !ended {
			t.Errorf("%s: it goes on", name)
		}
	}
}

func TestStream_Errors(t *testing.T) {
	own, why := errors.New("no more"), errors.New("the reader has to go")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	for _, c := range []struct {
		name string
		then func(context.Context) error
		is   func(error) bool
	}{
		{"of produce", func(context.Context) error { return own }, func(err error) bool { return errors.Is(err, own) }},
		{"a panic", func(context.Context) error { panic("boom") }, func(err error) bool { return errors.As(err, new(*panics.Error)) }},
		{"the context", func(within context.Context) error {
			cancel(why) // the last case, since it is the context of all
			<-within.Done()
			return context.Cause(within)
		}, func(err error) bool { return errors.Is(err, why) }},
	} {
		var got []int
		var last error
		for i, err := range ring.Stream(ctx, 4, func(ctx context.Context, push func(int), _ func() error) error {
			push(1)
			push(2)
			return c.then(ctx)
		}) {
			if last = err; err == nil {
				got = append(got, i)
			}
		}
		if !c.is(last) || !slices.Equal(got, []int{1, 2}) {
			t.Errorf("%s: %d, then %v", c.name, got, last)
		}
	}
}
