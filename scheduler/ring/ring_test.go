// SPDX-License-Identifier: MIT

package ring_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/penstock/penstock/scheduler/ring"
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
		v, _, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
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
