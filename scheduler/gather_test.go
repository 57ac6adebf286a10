// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// newTimed makes a scheduler on the clock of a synctest bubble, whose passes take so long.
func newTimed(t *testing.T, took time.Duration, c scheduler.Config) (*scheduler.Scheduler, *schedulertest.Machine) {
	b := schedulertest.NewMachine(schedulertest.New(scheduler.Limits{Cells: 4096, Batch: 512}), 2)
	b.Cost = func(int, int) time.Duration { return took }
	s, err := scheduler.New(b, c)
	if err != nil {
		t.Fatal(err)
	}
	return s, b
}

// untilPass is Run up to the next pass.
func untilPass(t *testing.T, s *scheduler.Scheduler, b *schedulertest.Machine) {
	for passes := b.Passes; b.Passes == passes; {
		if s.Tick(); b.Passes == passes {
			scheduler.Sleep(t.Context(), s)
		}
	}
}

// Requests of a burst share the first pass, though the first one is there before the other.
func TestScheduler_Burst_SharesTheFirstPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := newTimed(t, 0, scheduler.Config{Slots: 8})
		first, second, given := s.Expect(), s.Expect(), s.Expect()
		submit(t, s, request(20, 1, 4))
		first()
		first() // twice is once
		var late *scheduler.Stream
		go func() {
			time.Sleep(2 * time.Millisecond) // the tick waits by then
			late = submit(t, s, request(20, 2, 4))
			second()
			given() // up
		}()
		if untilPass(t, s, b); b.Largest != 40 {
			t.Errorf("the first pass has %d tokens", b.Largest)
		}
		defer s.Expect()()
		begin := time.Now()
		if s.Tick(); b.Passes != 2 || time.Since(begin) != 0 {
			t.Errorf("%d passes; the second waited %v for a request that does not come", b.Passes, time.Since(begin))
		}
		if a := finish(t, s, late)[0]; a.end.Timing.Queued < 0 {
			t.Errorf("a request that came while the tick waited was in the queue for %v", a.end.Timing.Queued)
		}
	})
}

// A request of the burst that has not reached the host yet shares the first pass, too.
func TestScheduler_Burst_SettlesBeforeTheFirstPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := newTimed(t, time.Hour, scheduler.Config{Slots: 8})
		finish(t, s, submit(t, s, request(20, 3, 1))) // its cost is learned
		s.Expect()()
		submit(t, s, request(20, 1, 4))
		go func() {
			time.Sleep(time.Millisecond / 2) // the tick waits by then
			defer s.Expect()()
			submit(t, s, request(20, 2, 4))
		}()
		if untilPass(t, s, b); b.Largest <= 20 {
			t.Errorf("the first pass has %d tokens: those of one prompt", b.Largest)
		}
	})
}

// One that never comes holds nobody up for long. Where a pass takes long, more time for it to come
// costs little.
func TestScheduler_Expected_MayNotCome(t *testing.T) {
	for _, test := range []struct{ pass, want time.Duration }{
		{2 * time.Millisecond, 4 * time.Millisecond}, {100 * time.Millisecond, 25 * time.Millisecond}, {time.Minute, 50 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, b := newTimed(t, test.pass, scheduler.Config{Slots: 8})
			finish(t, s, submit(t, s, request(20, 1, 4)))
			defer s.Expect()()
			submit(t, s, request(20, 2, 4))
			begin := time.Now()
			untilPass(t, s, b)
			if waited := (time.Since(begin) - test.pass).Round(time.Millisecond); waited != test.want {
				t.Errorf("with passes of %v, the next one came after %v, not %v", test.pass, waited, test.want)
			}
		})
	}
}

// One that has come back to the queue holds nobody up, nor does it wait itself: it has had its
// turn to share a pass.
func TestScheduler_Gather_OnlyTheFirstAfterARest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := newTimed(t, time.Second, scheduler.Config{Slots: 1})
		s.Expect()()
		paused := submit(t, s, request(100, 1, 100))
		untilPass(t, s, b)
		_ = control(t, s, paused.Pause)
		finish(t, s, submit(t, s, request(50, 2, 2))) // it takes the slot
		defer s.Expect()()                            // somebody is on the way
		_ = control(t, s, paused.Resume)
		begin := time.Now()
		if untilPass(t, s, b); time.Since(begin) != time.Second {
			t.Errorf("the answer went on after %v", time.Since(begin)-time.Second)
		}
	})
}

// What wakes the tick is never lost while requests are held back, nor does anything but the tick
// look at answers then: one that has lost its slot is injected into while its background sampler is
// at work.
func TestScheduler_Gather_LosesNoWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newTimed(t, time.Second, scheduler.Config{Slots: 1})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		s.Expect()()
		r := request(100, 1, 3000)
		r.Logprobs, r.Buffer = 1, 5000 // so that it has a background sampler
		paused, err := s.Submit(r)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			if _, err := paused.Next(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if err := paused.Pause(ctx); err != nil {
			t.Fatal(err)
		}
		other, err := s.Submit(request(50, 2, 2)) // it takes the slot
		if err != nil {
			t.Fatal(err)
		}
		for e := (scheduler.Event{}); e.Kind != scheduler.KindEnd; {
			if e, err = other.Next(ctx); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait() // the scheduler is at rest
		begin := time.Now()
		if err := paused.Inject(ctx, make([]scheduler.Token, 1500)); err != nil || time.Since(begin) != 0 {
			t.Errorf("Inject has returned %v after %v", err, time.Since(begin))
		}
		stop()
		<-done
	})
}

// However small the best chunk is, the last tokens of a burst's prompts are computed: here there
// are twice as many.
func TestScheduler_Burst_OfMorePromptsThanAChunk(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 1 << 14, Batch: 512, Sequences: 64})
	b.Cost = func(tokens, _ int) time.Duration {
		if tokens <= 40 {
			return 10 * time.Millisecond
		}
		return time.Duration(tokens) * 10 * time.Millisecond
	}
	s := newScheduler(t, b, scheduler.Config{Slots: 64})
	for burst := range 4 { // the costs are learned in the first ones
		var all []*scheduler.Stream
		for i := range 64 {
			all = append(all, submit(t, s, request(20, 1000*burst+i, 2)))
		}
		for i, a := range finish(t, s, all...) {
			if a.end.Err != nil {
				t.Errorf("request %d of burst %d ended with %+v", i, burst, a.end)
			}
		}
	}
}

// Prompts of a burst that take several passes end in the same one: an answer that began with the
// first would wait for the others at once.
func TestScheduler_BurstOfSeveralPasses_HoldsNobodyUp(t *testing.T) {
	const streams, answer = 16, 20
	billion := machine{name: "a model of 1B on two cores", separate: true, curve: schedulertest.Curve{{1, 35}, {8, 60}, {64, 480}, {2048, 15000}}}
	for _, machine := range []machine{machines[0], machines[1], billion} { // on the last one a chunk has few tokens
		b := schedulertest.New(scheduler.Limits{Cells: 1 << 14, Batch: 2048, Sequences: streams, SeparatePasses: machine.separate})
		b.Cost = machine.curve.Cost
		s := newScheduler(t, b, scheduler.Config{Slots: streams})
		most := 2 * machine.curve.Cost(streams, 0)
		for _, longer := range []int{0, 0, 0, 5, 5} { // the costs are learned in the first burst; of the last ones not all prompts are short
			m := &mixed{b: b, s: s, last: make([]time.Time, streams)}
			for i := range streams {
				r := request(55+longer*(i%4), i, answer)
				r.CachePrompt = false
				m.streams = append(m.streams, submit(t, s, r))
			}
			for m.tokens < streams*answer {
				m.step()
			}
			if longest := slices.Max(m.gaps); longest > most {
				t.Errorf("%s, prompts of 55 to %d tokens: a stream waited %v for its next token; a pass with 16 tokens takes %v",
					machine.name, 55+3*longer, longest, most/2)
			}
		}
	}
}
