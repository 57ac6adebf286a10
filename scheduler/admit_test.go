// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

// However many requests of higher priority keep coming, one of a lower priority has its turn.
func TestScheduler_Priority_Ages(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{Slots: 1})
	urgent := func() *scheduler.Stream {
		r := request(10, 1, 3)
		r.Priority = 2
		return submit(t, s, r)
	}
	running, waiting := urgent(), urgent()
	low := submit(t, s, request(10, 2, 3))
	var a, first received
	for range 100 { // seconds
		for first.end == nil {
			s.Tick()
			first.read(running)
		}
		running, waiting, first = waiting, urgent(), received{}
		if a.read(low); a.end != nil {
			break
		}
		b.Advance(time.Second)
	}
	waited := a.end
	if waited == nil {
		t.Fatal("the request of lower priority never had its turn")
	}
	if q := waited.Timing.Queued; q < 15*time.Second || q > 30*time.Second {
		t.Errorf("it waited for %v, with two steps of priority less", q)
	}
	running.Cancel()
	waiting.Cancel()
	s.Tick()
}

// Of several deadlines each ends its own request, whichever came first, in a slot or in the queue.
func TestScheduler_Deadlines_EachAtItsTime(t *testing.T) {
	for _, seconds := range [][]int{{1, 100}, {100, 1}, {100, 1, 50}, {50, 100, 1}} {
		b := schedulertest.New(scheduler.Limits{})
		s := newScheduler(t, b, scheduler.Config{Slots: 1})
		var streams []*scheduler.Stream
		for i, n := range seconds {
			r := request(10, i, 0)
			r.Deadline = b.Now().Add(time.Duration(n) * time.Second)
			streams = append(streams, submit(t, s, r))
		}
		answers := make([]received, len(streams))
		for now := range 101 {
			s.Tick()
			for i, st := range streams {
				answers[i].read(st)
				if late := now >= seconds[i]; late != (answers[i].end != nil && errors.Is(answers[i].end.Err, scheduler.ErrDeadline)) {
					t.Fatalf("deadlines after %v seconds: after %d, request %d has ended as %+v", seconds, now, i, answers[i].end)
				}
			}
			b.Advance(time.Second)
		}
	}
}

// The turn of the prompt that has waited longest for a chunk goes round.
func TestScheduler_LongestWait_GoesRound(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 1 << 15, Context: 1 << 14, Batch: 64})
	s := newScheduler(t, b, scheduler.Config{Slots: 4})
	var streams []*scheduler.Stream
	for i, n := range []int{2500, 6000, 6000, 6000} { // the first is the shortest all the time
		streams = append(streams, submit(t, s, scheduler.Request{Prompt: []scheduler.Segment{{Tokens: own(n, i)}}, Ending: scheduler.Ending{MaxTokens: 1}, Chain: request(1, 1, 1).Chain, Reports: scheduler.Reports{Logprobs: -1}}))
	}
	for range 33 { // of which every eighth is the turn of another
		s.Tick()
	}
	for i, st := range streams {
		if scheduler.Computed(st) == 0 {
			t.Errorf("nothing of prompt %d is computed", i)
		}
		st.Cancel()
	}
	s.Tick()
}

// A slot that is preempted in the middle of a plan gives back what was reserved for it: one whose
// cells just suffice keeps them.
func TestScheduler_Preempt_ReturnsWhatWasReserved(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 128, Context: 128, Batch: 128})
	s := newScheduler(t, b, scheduler.Config{Slots: 3})
	var streams []*scheduler.Stream
	for i := range 3 {
		r := request(10, 0, 0)
		r.Prompt[0].Tokens = own(10, i)
		streams = append(streams, submit(t, s, r))
	}
	for range 6 {
		s.Tick()
	}
	free := 128 - scheduler.Held(s)
	last := scheduler.Computed(streams[2])
	more := make([]scheduler.Token, free+last-1-1) // with the one that is pending, all but a cell for the second
	must.Do(t, control(t, s, func(ctx context.Context) error { return streams[0].Inject(ctx, more) }))
	s.Tick()
	snap := scheduler.SnapshotWithTicks(s, 1)
	if tick := snap.Ticks[0]; tick.Preempted != 1 || tick.Prefill != len(more)+1 || tick.Decode != 1 {
		t.Errorf("%d of %d tokens are computed beside %d others; %d slots are preempted for them", tick.Prefill, len(more)+1, tick.Decode, tick.Preempted)
	}
	for _, st := range streams {
		st.Cancel()
	}
	s.Tick()
}

// newTimed makes a scheduler on the clock of a synctest bubble, whose passes take so long.
func newTimed(t *testing.T, took time.Duration, c scheduler.Config) (*scheduler.Scheduler, *schedulertest.Machine) {
	b := schedulertest.NewMachine(schedulertest.New(scheduler.Limits{Cells: 4096, Batch: 512}), 2)
	b.Cost = func(int, int) time.Duration { return took }
	s := must.Get(scheduler.New(b, c))(t)
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
		paused := must.Get(s.Submit(r))(t)
		for range 4 {
			must.Get(paused.Next(ctx))(t)
		}
		must.Do(t, paused.Pause(ctx))
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
	s := newScheduler(t, b, scheduler.Config{Slots: 4})
	s.Listen(scheduler.Listener{Tick: counter.Tick})
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
		s := newScheduler(t, b, scheduler.Config{Slots: 4})
		s.Listen(scheduler.Listener{Tick: counter.Tick})
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
		s := newScheduler(t, b, scheduler.Config{Slots: 4})
		s.Listen(scheduler.Listener{Tick: counter.Tick})
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
