// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// asker submits prompts of so many tokens for one token each, none with anything that another has.
func asker(t *testing.T, s *scheduler.Scheduler) func(n int) *scheduler.Stream {
	seed := 0
	return func(n int) *scheduler.Stream {
		seed++
		r := request(n, seed, 1)
		r.CachePrompt = false
		return submit(t, s, r)
	}
}

// However many prompts of a few hundred tokens keep coming, a long one is overtaken by eight times
// its own tokens and no more.
func TestScheduler_LongPrompt_EndsAmongEndlessShorterOnes(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 1 << 14, Context: 1 << 14, Batch: 512})
	b.Cost = schedulertest.Measured.Cost
	s := newScheduler(t, b, scheduler.Config{})
	const size = 2000
	ask := asker(t, s)
	var others []*scheduler.Stream
	for range 4 {
		others = append(others, ask(200))
	}
	long, a := ask(size), new(received)
	for a.read(long); a.end == nil; a.read(long) {
		s.Tick()
		for i, st := range others {
			other := new(received)
			if other.read(st); other.end != nil {
				others[i] = ask(200)
			}
		}
		if b.Tokens > 11*size {
			t.Fatalf("%d tokens were computed, and the prompt of %d is not done", b.Tokens, size)
		}
	}
	if b.Tokens < 3*size {
		t.Errorf("only %d tokens were computed: shorter prompts do not go first", b.Tokens)
	}
}

// Equal prompts are computed one after the other: the first is done long before the last.
func TestScheduler_EqualPrompts_OneAfterTheOther(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 1 << 14, Context: 1 << 14, Batch: 512})
	b.Cost = schedulertest.Measured.Cost
	s := newScheduler(t, b, scheduler.Config{})
	var streams []*scheduler.Stream
	for i := range 4 {
		r := request(2000, i, 1)
		r.CachePrompt = false
		streams = append(streams, submit(t, s, r))
	}
	for a := new(received); a.end == nil; a.read(streams[0]) {
		s.Tick()
	}
	if b.Tokens > 2*2000 {
		t.Errorf("the first of four prompts of 2,000 tokens was done after %d tokens", b.Tokens)
	}
	finish(t, s, streams[1:]...)
}

// Every eighth tick goes to the prompt that has waited longest, whatever else waits: ticks of
// short prompts alone do not take its place.
func TestScheduler_LongestWait_HasEveryEighthTick(t *testing.T) {
	for before := range 4 {
		b := schedulertest.New(scheduler.Limits{Cells: 1 << 16, Context: 1 << 16, Batch: 512})
		b.Cost = schedulertest.Measured.Cost
		s := newScheduler(t, b, scheduler.Config{})
		ask := asker(t, s)
		ended := func(st *scheduler.Stream) bool {
			a := new(received)
			a.read(st)
			return a.end != nil
		}
		for range before { // the two rules shall not depend on which tick is the first
			for st := ask(10); !ended(st); {
				s.Tick()
			}
		}
		long := ask(20_000)
		sizes := []int{20, 600, 600}
		others := make([]*scheduler.Stream, len(sizes))
		served, computed := 0, 0
		const ticks = 160
		for range ticks {
			for i, st := range others {
				if st == nil || ended(st) {
					others[i] = ask(sizes[i])
				}
			}
			s.Tick()
			if now := scheduler.Computed(long); now > computed {
				served, computed = served+1, now
			}
		}
		if served < ticks/8-1 {
			t.Errorf("%d before: the long prompt was computed in %d of %d ticks", before, served, ticks)
		}
	}
}
