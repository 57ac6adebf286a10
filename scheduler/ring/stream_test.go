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

// count gives the numbers from 0 on, below most, and notes how many it has given.
func count(most int, n *int) func(context.Context, func(int) error) error {
	return func(_ context.Context, give func(int) error) error {
		for i := range most {
			if err := give(i); err != nil {
				return err
			}
			*n = i + 1
		}
		return nil
	}
}

func TestStream_GivesAllInOrder(t *testing.T) {
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
			synctest.Wait() // it has given what it can
			if want := min(read+8, 100); n != want {
				t.Fatalf("%d items are read and %d given, want %d", read, n, want)
			}
		}
	})
}

// Whoever leaves ends the computing: it waits for room, for something else, or for nothing.
func TestStream_Left_EndsProduce(t *testing.T) {
	for name, then := range map[string]func(context.Context, func(int) error) error{
		"it gives":  func(_ context.Context, give func(int) error) error { return forever(give) },
		"it waits":  func(ctx context.Context, _ func(int) error) error { <-ctx.Done(); return nil },
		"it panics": func(context.Context, func(int) error) error { panic("boom") },
	} {
		ended := false
		for range ring.Stream(t.Context(), 4, func(ctx context.Context, give func(int) error) error {
			defer func() { ended = true }()
			if err := give(1); err != nil {
				return err
			}
			return then(ctx, give)
		}) {
			break
		}
		if !ended {
			t.Errorf("%s: it goes on", name)
		}
	}
}

// forever gives until it may not.
func forever(give func(int) error) error {
	for {
		if err := give(2); err != nil {
			return err
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
		for i, err := range ring.Stream(ctx, 4, func(ctx context.Context, give func(int) error) error {
			if err := errors.Join(give(1), give(2)); err != nil {
				return err
			}
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
