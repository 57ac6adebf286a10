// SPDX-License-Identifier: MIT

package turns

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// The client for whom the least was done goes first; a rest earns nothing.
func TestQueue_Turns(t *testing.T) {
	var q Queue[string]
	for _, x := range []string{"a1", "a2", "a3", "b1", "b2", "c1"} {
		q.Add(x[:1], x)
	}
	var order []string
	serve := func(cost int64) {
		t.Helper()
		x, found := q.Next()
		if !found {
			t.Fatal("nothing waits")
		}
		order = append(order, x)
		q.Served(x[:1], cost)
	}
	serve(10)
	serve(1)
	serve(1) // c1, as b had 1
	serve(1) // b2
	q.Add("d", "d1")
	serve(1) // d1 begins where b2 began
	serve(1)
	if !q.Remove("a", "a3") || q.Remove("a", "a3") || q.Remove("x", "a3") {
		t.Error("what waits is removed, and nothing else")
	}
	if want := []string{"a1", "b1", "c1", "b2", "d1", "a2"}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
	if _, found := q.Next(); found || q.Len() != 0 || len(q.clients) != 0 {
		t.Errorf("something is left: %+v", q)
	}
}

// Whoever leaves takes no permit along, even one that has just come.
func TestPermits_Take_Leaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPermits(2)
		had := make(chan func(), 100)
		for i := range 100 {
			ctx, leave := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
			defer leave()
			go func() {
				if give, err := p.Take(ctx, string(rune('a'+i%7))); err == nil {
					had <- give
				}
			}()
		}
		for range 20 {
			time.Sleep(3 * time.Millisecond)
			synctest.Wait()
			select {
			case give := <-had:
				give()
			default:
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		for len(had) > 0 {
			(<-had)()
		}
		if p.free != 2 || p.waiting.Len() != 0 || len(p.waiting.clients) != 0 {
			t.Errorf("%d are free, %d wait: %+v", p.free, p.waiting.Len(), p.waiting)
		}
	})
}
