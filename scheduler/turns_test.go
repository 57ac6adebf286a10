// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
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

// One caller's answers may have all slots for minutes. Another then has one within a second or so,
// and each of the first one's answers goes on as it would have.
func TestScheduler_Turns_LongAnswersGiveWay(t *testing.T) {
	counter := &tokenCounter{}
	b := schedulertest.New(scheduler.Limits{Cells: 1 << 14})
	b.Cost = flat
	s := newScheduler(t, b, scheduler.Config{Slots: 4, Observer: counter})
	long := func(caller string, seed int) scheduler.Request {
		r := request(10, seed, 2000)
		r.Caller = caller
		return r
	}
	var ones []*scheduler.Stream
	for i := range 6 {
		ones = append(ones, submit(t, s, long("one", i)))
	}
	for range 10 {
		s.Tick()
	}
	asked := b.Now()
	two := submit(t, s, requestOf("two", 1000))
	got, others := received{}, make([]received, len(ones))
	read := func() {
		got.read(two)
		for i, st := range ones { // an answer that nobody reads is parked, and gives way anyway
			others[i].read(st)
		}
	}
	for got.end == nil {
		s.Tick()
		read()
	}
	if wait := b.Now().Sub(asked); wait > 1200*time.Millisecond || counter.preempted != 1 {
		t.Errorf("another caller's answer has ended after %v, and %d have given way", wait, counter.preempted)
	}
	for s.Tick() {
		read()
	}
	read()
	for i, a := range others {
		if a.end.Reason != answer.ReasonLength || !slices.Equal(a.tokens, b.GoesOn(prompt(10, i)[0].Tokens, 2000)) {
			t.Errorf("number %d: %d tokens, %v", i, len(a.tokens), a.end)
		}
	}
}

// Where each caller has one slot, who comes next waits: nobody has one to spare. Nor does one who
// is more urgent give way.
func TestScheduler_Turns_OneSlotIsKept(t *testing.T) {
	for _, callers := range [][]string{{"one", "two", "three", "four"}, {"urgent", "urgent", "urgent", "urgent"}} {
		counter := &tokenCounter{}
		b := schedulertest.New(scheduler.Limits{Cells: 1 << 14})
		b.Cost = flat
		s := newScheduler(t, b, scheduler.Config{Slots: 4, Observer: counter})
		var streams []*scheduler.Stream
		for i, caller := range append(slices.Clone(callers), "five") {
			r := request(10, i, 2000)
			if r.Caller = caller; caller == "urgent" {
				r.Priority = 100
			}
			streams = append(streams, submit(t, s, r))
		}
		finish(t, s, streams...)
		if counter.preempted != 0 {
			t.Errorf("%v: %d have given way", callers, counter.preempted)
		}
	}
}

// Whoever gives way comes after the one that it gives way to, however long ago it came and whatever
// the priorities are: they do not take a slot from each other for ever.
func TestScheduler_Turns_GivingWayEnds(t *testing.T) {
	for _, lower := range []int{0, -1, -50} {
		counter := &tokenCounter{}
		b := schedulertest.New(scheduler.Limits{Cells: 1 << 16})
		b.Cost = flat
		s := newScheduler(t, b, scheduler.Config{Slots: 4, Observer: counter})
		var streams []*scheduler.Stream
		for i := range 4 {
			r := request(10, i, 4000)
			r.Caller, r.Priority = "one", lower
			streams = append(streams, submit(t, s, r))
		}
		answers := make([]received, len(streams))
		read := func() {
			for i, st := range streams {
				answers[i].read(st)
			}
		}
		for began := b.Now(); b.Now().Sub(began) < 12*time.Second; read() {
			s.Tick()
		}
		streams, answers = append(streams, submit(t, s, requestOf("two", 1000))), append(answers, received{})
		for s.Tick() {
			read()
		}
		read()
		for i, a := range answers {
			if a.end == nil || a.end.Reason != answer.ReasonLength {
				t.Errorf("priority %d: number %d ended as %+v", lower, i, a.end)
			}
		}
		if counter.preempted > 1 {
			t.Errorf("priority %d: %d have given way", lower, counter.preempted)
		}
	}
}
