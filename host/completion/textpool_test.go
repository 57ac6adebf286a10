// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
)

func TestTextPool_Deadline_WhileWaiting(t *testing.T) {
	d := newTextPool()
	for range cap(d.short) {
		d.short <- struct{}{}
	}
	_, err := inPool(t.Context(), d, time.Now().Add(time.Millisecond), 1, func(context.Context) (int, error) { return 1, nil }, nil)
	if !errors.Is(err, scheduler.ErrDeadline) {
		t.Errorf("got %v, want ErrDeadline", err)
	}
}

// TestTextPool_GivenUp: work that nobody waits for any more is told, and none begins for a request
// that is gone already.
func TestTextPool_GivenUp(t *testing.T) {
	d := newTextPool()
	gone := errors.New("gone")
	ctx, leave := context.WithCancelCause(t.Context())
	told := make(chan error, 1)
	_, err := inPool(ctx, d, time.Time{}, 1, func(ctx context.Context) (int, error) {
		leave(gone)
		<-ctx.Done()
		told <- context.Cause(ctx)
		return 0, ctx.Err()
	}, nil)
	if !errors.Is(err, gone) {
		t.Errorf("the request: got %v", err)
	}
	if err := <-told; !errors.Is(err, gone) {
		t.Errorf("its work: got %v", err)
	}
	for range 100 {
		_, err := inPool(ctx, d, time.Time{}, 1, func(context.Context) (int, error) {
			t.Error("work was begun that nobody waits for")
			return 0, nil
		}, nil)
		if !errors.Is(err, gone) {
			t.Errorf("afterwards: got %v", err)
		}
	}
}
