// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// flat is a machine on which further rows of a pass cost little.
func flat(n, _ int) time.Duration { return 5*time.Millisecond + time.Duration(n)*200*time.Microsecond }

// embellished are requests with all that may end or change an answer in the middle of a draft.
func embellished(seed uint64) (requests []scheduler.Request) {
	for i := range 8 {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		r := request(5+rng.IntN(100), i, 1+rng.IntN(120))
		switch i {
		case 0:
			r.Stop = []string{"1 1", " 9"}
		case 1, 2:
			r.Chain = []chain.Stage{&weaver{rng: rng, hold: (i - 1) * (1 + rng.IntN(30))}, schedulertest.Sampled{}}
		case 3:
			r.Logprobs = 2
		case 4:
			r.Rules = []answer.StopRule{&withholder{rng: rng}}
		case 5:
			r.MaxTokens = 0 // the context ends it
		case 6:
			r.MaxTokens, r.Shift = 400, &answer.Shift{Keep: 5}
		case 7:
			r.Trace = 3
		}
		requests = append(requests, r)
	}
	return requests
}

// shown is what a client sees of an answer, without times.
func shown(a received) (events []string) {
	for _, e := range a.events {
		switch e.Kind {
		case scheduler.KindToken:
			line := fmt.Sprintf("%d %q %v %+v", e.Token, e.Text, e.Origin, e.Logprobs)
			if e.Trace != nil {
				line += fmt.Sprint(len(e.Trace.Stages))
			}
			events = append(events, line)
		case scheduler.KindRewound:
			events = append(events, fmt.Sprintf("back %+v", *e.Rewound))
		case scheduler.KindEnd:
			u, last := e.End.Usage, scheduler.Token(-1)
			if e.End.EndToken != nil {
				last = e.End.EndToken.Token
			}
			events = append(events, fmt.Sprintf("%v %q %q %d %v %v", e.End.Reason, e.Text, e.End.Stop, u.Generated, last, e.End.Err))
		}
	}
	return events
}

// TestSpeculate_AnyDrafter_SameEvents: whatever a drafter guesses, each answer shows the same as
// without it, event by event.
func TestSpeculate_AnyDrafter_SameEvents(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 3))
		limits := scheduler.Limits{Context: 256, SeparatePasses: seed%2 == 0}
		slots := 1 + rng.IntN(8)
		texts := func(d func(*schedulertest.Backend) draft.Drafter) (all [][]string, contexts []int, drafted, accepted int) {
			b := schedulertest.New(limits)
			b.Cost, b.End = flat, 300*int(seed%3)/2
			if seed%3 == 1 {
				b.Recurrent, b.Snapshots = true, 1+int(seed)%9
			}
			drafter := d(b)
			s := newScheduler(t, b, scheduler.Config{Slots: slots, Drafter: drafter, Log: logOf(drafter)})
			var streams []*scheduler.Stream
			for _, r := range embellished(seed) {
				streams = append(streams, submit(t, s, r))
			}
			for _, a := range finish(t, s, streams...) {
				all, contexts = append(all, shown(a)), append(contexts, a.end.Usage.Context)
				drafted, accepted = drafted+a.end.Usage.Drafted, accepted+a.end.Usage.Accepted
			}
			if got, want := scheduler.Held(s), b.Used(); got != want {
				t.Errorf("seed %d: the books have %d cells in use, the cache %d", seed, got, want)
			}
			return all, contexts, drafted, accepted
		}
		want, wantContexts, _, _ := texts(func(*schedulertest.Backend) draft.Drafter { return nil })
		got, gotContexts, drafted, accepted := texts(func(b *schedulertest.Backend) draft.Drafter { return anyDrafter(b, rng) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d, %d of %d guessed tokens accepted: -without +with\n%s", seed, accepted, drafted, diff)
		}
		for i, got := range gotContexts {
			// One that was preempted while its sampler was late may end without a sequence.
			if want := wantContexts[i]; got != want && got != 0 && want != 0 {
				t.Errorf("seed %d, answer %d: %d tokens in the KV cache at its end, %d without a drafter", seed, i, got, want)
			}
		}
	}
}

// A drafter that is right makes an answer of few passes; one that is never right costs next to
// nothing.
func TestSpeculate_Passes(t *testing.T) {
	const most = 400
	took := func(d func(*schedulertest.Backend) draft.Drafter) (time.Duration, scheduler.Usage) {
		b := schedulertest.New(scheduler.Limits{})
		b.Cost = flat
		s := newScheduler(t, b, scheduler.Config{Drafter: d(b)})
		a := finish(t, s, submit(t, s, request(20, 1, most)))[0]
		return b.Now().Sub(time.Unix(0, 0)), a.end.Usage
	}
	without, usage := took(func(*schedulertest.Backend) draft.Drafter { return nil })
	if usage.Drafted != 0 {
		t.Errorf("without a drafter %d tokens are drafted", usage.Drafted)
	}
	right, usage := took(func(b *schedulertest.Backend) draft.Drafter {
		return &seer{backend: b, rng: rand.New(rand.NewPCG(1, 1))}
	})
	if right > without/8 || usage.Accepted < most*8/10 {
		t.Errorf("with a seer %v instead of %v, %d of %d accepted", right, without, usage.Accepted, usage.Drafted)
	}
	wrong, usage := took(func(b *schedulertest.Backend) draft.Drafter {
		return &seer{backend: b, rng: rand.New(rand.NewPCG(1, 1)), errs: 1}
	})
	if wrong > without*100/98 || usage.Drafted == 0 {
		t.Errorf("with a drafter that is wrong %v instead of %v, %d drafted", wrong, without, usage.Drafted)
	}
}

// On a machine where each row costs as much as a pass, nothing is to be gained, also from a
// drafter that is right.
func TestSpeculate_RowsCostAsMuchAsPasses_NotSlower(t *testing.T) {
	took := func(d bool) time.Duration {
		b := schedulertest.New(scheduler.Limits{})
		b.Cost = func(n, _ int) time.Duration { return time.Duration(n) * 5 * time.Millisecond }
		c := scheduler.Config{}
		if d {
			c.Drafter = &seer{backend: b, rng: rand.New(rand.NewPCG(1, 1)), errs: 0.5}
		}
		s := newScheduler(t, b, c)
		finish(t, s, submit(t, s, request(20, 1, 400)))
		return b.Now().Sub(time.Unix(0, 0))
	}
	if with, without := took(true), took(false); with > without*100/98 {
		t.Errorf("%v instead of %v", with, without)
	}
}

// Many streams with a drafter that is wrong, or sometimes right, are hardly slower than without
// it, also where slots with drafts have passes of their own.
func TestSpeculate_ManyStreams_NotSlower(t *testing.T) {
	for _, separate := range []bool{false, true} {
		for _, errs := range []float64{1, 0.8, 0.5} {
			took := func(d bool) time.Duration {
				b := schedulertest.New(scheduler.Limits{SeparatePasses: separate})
				b.Cost = func(n, _ int) time.Duration { return 5*time.Millisecond + time.Duration(n)*2*time.Millisecond }
				c := scheduler.Config{}
				if d {
					c.Drafter = &seer{backend: b, rng: rand.New(rand.NewPCG(1, 1)), errs: errs}
				}
				s := newScheduler(t, b, c)
				var streams []*scheduler.Stream
				for i := range 8 {
					streams = append(streams, submit(t, s, request(20, i, 400)))
				}
				finish(t, s, streams...)
				return b.Now().Sub(time.Unix(0, 0))
			}
			if with, without := took(true), took(false); with > without*100/98 {
				t.Errorf("separate passes %v, %v of the tokens wrong: %v instead of %v", separate, errs, with, without)
			}
		}
	}
}

// No tick takes longer than the target because of drafts.
func TestSpeculate_ITLTarget_IsKept(t *testing.T) {
	for _, target := range []time.Duration{6 * time.Millisecond, 8 * time.Millisecond} {
		b, ticks := schedulertest.New(scheduler.Limits{}), &longestTick{}
		b.Cost = flat
		s := newScheduler(t, b, scheduler.Config{ITLTarget: target, Drafter: &seer{backend: b, rng: rand.New(rand.NewPCG(1, 1))}})
		s.Listen(scheduler.Listener{Tick: ticks.Tick})
		a := finish(t, s, submit(t, s, request(20, 1, 300)))[0]
		if ticks.drafting > target+time.Millisecond || a.end.Usage.Accepted == 0 {
			t.Errorf("target %v: a pass with drafts took %v, %d tokens were accepted", target, ticks.drafting, a.end.Usage.Accepted)
		}
	}
}

// longestTick is told of ticks.
type longestTick struct {
	drafting time.Duration // the longest pass with drafts
	beside   int           // drafted tokens in ticks with prompts
	most     int           // in one of these
	written  int           // tokens of answers in ticks with prompts

	longestBeside time.Duration // of these with drafts
}

func (l *longestTick) Tick(r scheduler.TickRecord) {
	if r.Prefill > 0 {
		l.written += r.Decode + r.Accepted
	}
	if r.Drafted > 0 {
		l.drafting = max(l.drafting, r.Forward)
		if r.Prefill > 0 {
			l.beside += r.Drafted
			l.most = max(l.most, r.Drafted)
			l.longestBeside = max(l.longestBeside, r.Forward)
		}
	}
}

// While prompts wait, ticks are theirs where one pass computes all.
func TestSpeculate_PromptsWait_NoDrafts(t *testing.T) {
	ticks := &longestTick{}
	b := schedulertest.New(scheduler.Limits{Cells: 1 << 14})
	b.Cost = flat
	s := newScheduler(t, b, scheduler.Config{Drafter: &seer{backend: b, rng: rand.New(rand.NewPCG(1, 1))}})
	s.Listen(scheduler.Listener{Tick: ticks.Tick})
	first := submit(t, s, request(20, 1, 1000))
	for range 10 {
		s.Tick()
	}
	finish(t, s, first, submit(t, s, request(4000, 2, 3)))
	if ticks.drafting == 0 || ticks.beside != 0 {
		t.Errorf("the longest pass with drafts took %v; drafted tokens beside prompts: %d", ticks.drafting, ticks.beside)
	}
}

// Prompts give answers no time for drafts that do not come, however good the last ones were.
func TestSpeculate_PromptsWait_NoGuesses_NoTime(t *testing.T) {
	prompt := func(d func(*schedulertest.Backend) draft.Drafter) time.Duration {
		b := schedulertest.New(scheduler.Limits{Context: 1 << 14, Cells: 1 << 16, SeparatePasses: true})
		b.Cost = func(n, _ int) time.Duration { return 5*time.Millisecond + time.Duration(n)*400*time.Microsecond }
		s := newScheduler(t, b, scheduler.Config{Slots: 9, Drafter: d(b), ITLTarget: 40 * time.Millisecond})
		var streams []*scheduler.Stream
		for i := range 8 {
			streams = append(streams, submit(t, s, request(20, i, 1500)))
		}
		for range 20 {
			s.Tick()
		}
		return finish(t, s, append(streams, submit(t, s, request(8000, 9, 1)))...)[8].end.Timing.Prefill
	}
	alone := prompt(noDrafter)
	if with := prompt(func(b *schedulertest.Backend) draft.Drafter {
		return &fading{seer: seer{backend: b, rng: rand.New(rand.NewPCG(1, 1)), sure: true}, upTo: 60}
	}); with > alone*104/100 {
		t.Errorf("the prompt takes %v beside answers for which nothing is guessed any more, and %v without a drafter", with, alone)
	}
}

// Beside prompts that have passes of their own, an answer whose drafts are right has short ones: it
// is faster, no tick is longer than the target, and the prompt takes little longer. One whose
// drafts are wrong has none.
func TestSpeculate_PromptsWait_ShortDrafts(t *testing.T) {
	const target = 40 * time.Millisecond
	beside := func(d func(*schedulertest.Backend) draft.Drafter) (ticks *longestTick, prompt time.Duration, written int) {
		ticks = &longestTick{}
		b := schedulertest.New(scheduler.Limits{Context: 1 << 14, Cells: 1 << 15, SeparatePasses: true})
		b.Cost = flat
		s := newScheduler(t, b, scheduler.Config{Drafter: d(b), ITLTarget: target})
		s.Listen(scheduler.Listener{Tick: ticks.Tick})
		first := submit(t, s, request(20, 1, 3000))
		for range 20 {
			s.Tick()
		}
		got := finish(t, s, first, submit(t, s, request(8000, 2, 1)))
		return ticks, got[1].end.Timing.Prefill, ticks.written
	}
	seeing := func(errs float64) func(b *schedulertest.Backend) draft.Drafter {
		return func(b *schedulertest.Backend) draft.Drafter {
			return &seer{backend: b, rng: rand.New(rand.NewPCG(1, 1)), errs: errs, sure: true}
		}
	}
	_, alone, without := beside(noDrafter)
	ticks, prompt, with := beside(seeing(0))
	if ticks.longestBeside > target+time.Millisecond || with < without*2 || prompt > alone*115/100 || ticks.most != 2 {
		t.Errorf("with drafts of up to %d tokens %d tokens beside a prompt that takes %v, without %d and %v; the longest tick takes %v",
			ticks.most, with, prompt, without, alone, ticks.longestBeside)
	}
	if ticks, prompt, _ = beside(seeing(1)); ticks.beside != 0 || prompt > alone*102/100 {
		t.Errorf("of an answer whose drafts are wrong there are some beside a prompt, or it takes %v instead of %v", prompt, alone)
	}
}

// A request may have its tokens guessed in smaller steps, or not at all; and a backend that cannot
// drop tokens is not asked to.
func TestSpeculate_Limits(t *testing.T) {
	for name, c := range map[string]struct {
		most, drafted int // of the request; as many as there may be
		cannot        bool
	}{"the scheduler's": {0, 300, false}, "none": {-1, 0, false}, "the backend cannot": {0, 0, true}} {
		b := schedulertest.New(scheduler.Limits{})
		b.Cost, b.NoCutting = flat, c.cannot
		d := &seer{backend: b, rng: rand.New(rand.NewPCG(1, 1))}
		s := newScheduler(t, b, scheduler.Config{Drafter: d})
		r := request(20, 1, 100)
		r.MostDrafted = c.most
		u := finish(t, s, submit(t, s, r))[0].end.Usage
		if u.Drafted > c.drafted || (u.Drafted > 0) != (c.drafted > 0) || u.Generated != 100 {
			t.Errorf("%s: %+v", name, u)
		}
	}
	b := schedulertest.New(scheduler.Limits{})
	b.Cost = flat
	s := newScheduler(t, b, scheduler.Config{Drafter: &seer{backend: b, rng: rand.New(rand.NewPCG(1, 1))}})
	r := request(20, 1, 100)
	r.MostDrafted = 2
	finish(t, s, submit(t, s, r))
	if b.Largest > 20 || b.Passes < 100/3 {
		t.Errorf("%d passes, the largest of %d tokens", b.Passes, b.Largest)
	}
}

// A request may refuse guesses that are too few or too unlikely.
func TestSpeculate_LeastDraftedAndChance(t *testing.T) {
	drafted := func(most, least int, chance float64) int {
		b := schedulertest.New(scheduler.Limits{})
		b.Cost = flat
		d := &terse{seer{backend: b, rng: rand.New(rand.NewPCG(1, 1)), sure: true}, most}
		r := request(20, 1, 200)
		r.LeastDrafted, r.LeastChance = least, chance
		s := newScheduler(t, b, scheduler.Config{Drafter: d})
		return finish(t, s, submit(t, s, r))[0].end.Usage.Drafted
	}
	for name, c := range map[string]struct {
		most, least int
		chance      float64
		drafts      bool
	}{
		"any":           {4, 0, 0, true},
		"as many":       {4, 4, 0, true},
		"too few":       {4, 5, 0, false},
		"likely enough": {4, 0, 0.7, true}, // of this grade three of four are taken to be right before any was computed
		"too unlikely":  {4, 0, 0.8, false},
	} {
		if n := drafted(c.most, c.least, c.chance); n > 0 != c.drafts {
			t.Errorf("%s: %d tokens are drafted", name, n)
		}
	}
}

// A drafter that needs time is asked for short answers too, once others have saved what that may
// lose; where it is never right, such answers are hardly slower.
func TestSpeculate_PriceyDrafter_ShortAnswers(t *testing.T) {
	took := func(errs float64, drafts bool) (last time.Duration, drafted int) {
		b := schedulertest.New(scheduler.Limits{})
		b.Cost = flat
		var c scheduler.Config
		if drafts {
			c.Drafter = &seer{backend: b, rng: rand.New(rand.NewPCG(1, 1)), errs: errs, sure: true, takes: func(int) time.Duration { return flat(1, 1) / 4 }}
		}
		s := newScheduler(t, b, c)
		finish(t, s, submit(t, s, request(20, 1, 400)))
		began := b.Now()
		for i := range 30 {
			drafted += finish(t, s, submit(t, s, request(20, 2+i, 12)))[0].end.Usage.Drafted
		}
		return b.Now().Sub(began), drafted
	}
	without, _ := took(0, false)
	if right, drafted := took(0, true); drafted < 100 || right > without*3/4 {
		t.Errorf("30 answers of 12 tokens take %v instead of %v; %d tokens are drafted", right, without, drafted)
	}
	if wrong, drafted := took(1, true); wrong > without*100/98 {
		t.Errorf("with a drafter that is wrong %v instead of %v; %d tokens are drafted", wrong, without, drafted)
	}
}
