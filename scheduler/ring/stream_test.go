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
)

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
