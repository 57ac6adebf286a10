// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/turns"
	"github.com/penstock/penstock/scheduler"
)

// oneByOne has one permit for each length.
func oneByOne() *textPermits {
	return &textPermits{short: turns.NewPermits(1), long: turns.NewPermits(1)}
}

func TestTextPermits_Deadline_WhileWaiting(t *testing.T) {
	d := oneByOne()
	give, err := d.short.Take(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer give()
	_, err = withPermit(t.Context(), d, Caller{}, time.Now().Add(time.Millisecond), 1, func(context.Context) (int, error) { return 1, nil }, nil)
	if !errors.Is(err, scheduler.ErrDeadline) {
		t.Errorf("got %v, want ErrDeadline", err)
	}
}

// TestTextPermits_GivenUp: work that nobody waits for any more is told, and none begins for a
// request that is gone already.
func TestTextPermits_GivenUp(t *testing.T) {
	d := oneByOne()
	gone := errors.New("gone")
	ctx, leave := context.WithCancelCause(t.Context())
	told := make(chan error, 1)
	_, err := withPermit(ctx, d, Caller{}, time.Time{}, 1, func(ctx context.Context) (int, error) {
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
		_, err := withPermit(ctx, d, Caller{}, time.Time{}, 1, func(context.Context) (int, error) {
			t.Error("work was begun that nobody waits for")
			return 0, nil
		}, nil)
		if !errors.Is(err, gone) {
			t.Errorf("afterwards: got %v", err)
		}
	}
}

// A value that comes when its client has gone is dropped, unless there is none.
func TestTextPermits_Drop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for failed, want := range map[error][]int{nil: {7}, errors.New("failed"): nil} {
			ctx, leave := context.WithCancel(t.Context())
			left := make(chan struct{})
			var dropped []int
			_, err := withPermit(ctx, oneByOne(), Caller{}, time.Time{}, 1, func(context.Context) (int, error) {
				leave()
				<-left
				return 7, failed
			}, func(v int) { dropped = append(dropped, v) })
			if err == nil {
				t.Error("who left has a value")
			}
			close(left)
			synctest.Wait()
			if !slices.Equal(dropped, want) {
				t.Errorf("%v: %v is dropped, want %v", failed, dropped, want)
			}
		}
	})
}

// Callers take turns: one with many texts does not keep another waiting for more than one of them.
func TestTextPermits_CallersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := oneByOne()
		var order []string
		do := func(caller string, takes time.Duration) {
			go func() {
				_, err := withPermit(t.Context(), d, Caller{ID: caller, CacheSalt: "salt of " + caller}, time.Time{}, 1, func(ctx context.Context) (int, error) {
					time.Sleep(takes)
					order = append(order, caller) // one at a time
					if salt, _ := sampling.SaltOf(ctx); salt != "salt of "+caller {
						t.Errorf("%s works with %q", caller, salt)
					}
					return 0, nil
				}, nil)
				if err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		for range 4 {
			do("a", time.Second)
		}
		do("b", time.Millisecond)
		do("b", time.Millisecond)
		do("c", 2*time.Second)
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []string{"a", "b", "c", "b", "a", "a", "a"}; !slices.Equal(order, want) {
			t.Errorf("%v, want %v", order, want)
		}
	})
}
