// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

func requestOf(caller string, prompt int) scheduler.Request {
	r := request(10, prompt, 3)
	r.Caller = caller
	return r
}

// served ticks until all answers have ended and gives their callers in the order of their starts.
func served(s *scheduler.Scheduler, streams map[*scheduler.Stream]string) (order []string) {
	answers := map[*scheduler.Stream]*received{}
	for st := range streams {
		answers[st] = &received{}
	}
	begun := map[*scheduler.Stream]bool{}
	for s.Tick() {
		for st, a := range answers {
			if a.read(st); len(a.events) > 0 && !begun[st] {
				begun[st] = true
				order = append(order, streams[st])
			}
		}
	}
	return order
}

// However many requests one caller has in the queue, another's single one is among the next.
func TestScheduler_Turns_OneBehindMany(t *testing.T) {
	for _, slots := range []int{1, 4} {
		s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{Slots: slots, QueueLimit: 600})
		streams := map[*scheduler.Stream]string{}
		for i := range 250 {
			streams[submit(t, s, requestOf("one", i))] = "one"
		}
		for range 3 {
			s.Tick()
		}
		streams[submit(t, s, requestOf("two", 1000))] = "two"
		order := served(s, streams)
		if at := slices.Index(order, "two"); len(order) != 251 || at < 0 || at > 2*slots+1 {
			t.Errorf("%d slots: the other caller's is number %d of %d", slots, at, len(order))
		}
	}
}

// Two callers with as many requests are served by turns, and each one's in its order.
func TestScheduler_Turns_AreEven(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{Slots: 1, QueueLimit: 100})
	streams := map[*scheduler.Stream]string{}
	for _, caller := range []string{"one", "two"} {
		for i := range 20 {
			streams[submit(t, s, requestOf(caller, 100*len(streams)+i))] = fmt.Sprintf("%s %02d", caller, i)
		}
	}
	order := served(s, streams)
	if len(order) != 40 {
		t.Fatalf("%d were served", len(order))
	}
	for i := 0; i < 40; i += 2 {
		pair := []string{order[i], order[i+1]}
		slices.Sort(pair)
		if want := []string{fmt.Sprintf("one %02d", i/2), fmt.Sprintf("two %02d", i/2)}; !slices.Equal(pair, want) {
			t.Fatalf("%v are served together, want %v", pair, want)
		}
	}
}

// A caller has the slots and half of the queue that others leave, and is told whose load it was
// refused for.
func TestScheduler_Queue_IsShared(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{Slots: 2, QueueLimit: 98})
	fill := func(caller string) (n int, err error) {
		for ; ; n++ {
			if _, err := s.Submit(requestOf(caller, n)); err != nil {
				return n, err
			}
		}
	}
	for _, c := range []struct {
		caller string
		want   int
	}{{"one", 51}, {"two", 26}, {"three", 13}} {
		if n, err := fill(c.caller); n != c.want || !errors.Is(err, scheduler.ErrQueueShare) {
			t.Errorf("%s has %d, then %v; want %d", c.caller, n, err, c.want)
		}
	}
	if _, err := s.SubmitBuilt("four", 8, nil); !errors.Is(err, scheduler.ErrQueueFull) {
		t.Errorf("refused for others: %v", err)
	}
	if _, err := s.SubmitBuilt("four", 52, nil); !errors.Is(err, scheduler.ErrTooMany) {
		t.Errorf("more than one may ever have: %v", err)
	}
	if n, err := fill(""); n != 10 || !errors.Is(err, scheduler.ErrQueueFull) {
		t.Errorf("nobody in particular has %d, then %v", n, err)
	}
	for s.Tick() { // all end, and give their room back
	}
	if n, err := fill("five"); n != 51 {
		t.Errorf("then another has %d, %v", n, err)
	}
}
