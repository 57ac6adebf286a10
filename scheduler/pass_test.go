// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

// While two generate and a third computes its prompt in a second pass, the first pass finds no
// cells: the third loses its slot between the two. It goes on later, and every answer is what it
// is alone.
func TestScheduler_TwoPasses_PreemptionBetweenThem(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{SeparatePasses: true, Batch: 64})
	s := newScheduler(t, b, scheduler.Config{})
	streams := []*scheduler.Stream{submit(t, s, request(10, 1, 30)), submit(t, s, request(10, 2, 30))}
	for range 3 {
		s.Tick()
	}
	streams = append(streams, submit(t, s, request(200, 3, 10)))
	failed := false
	b.Fail = func(batch *scheduler.Batch) error {
		if !failed && batch.Len() == 2 && batch.Positions[0] > 12 {
			failed = true
			return scheduler.ErrNoCells
		}
		return nil
	}
	answers := finish(t, s, streams...)
	if !failed {
		t.Fatal("no pass has failed")
	}
	for i, r := range []scheduler.Request{request(10, 1, 30), request(10, 2, 30), request(200, 3, 10)} {
		if want := alone(t, r); answers[i].text != want.text {
			t.Errorf("answer %d is %q (%v), alone %q", i, answers[i].text, answers[i].end.Err, want.text)
		}
	}
}

// The halves of a failed pass run one after the other; a job of the second may lose its slot to
// one of the first.
func TestScheduler_FailedPass_PreemptionBetweenHalves(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{})
	var streams []*scheduler.Stream
	for i := range 4 {
		streams = append(streams, submit(t, s, request(10, i, 20)))
	}
	for range 3 {
		s.Tick()
	}
	broken, fails := errors.New("broken"), 0
	b.Fail = func(batch *scheduler.Batch) error {
		switch n := batch.Len(); {
		case fails == 0 && n == 4:
			fails++
			return broken
		case fails == 1 && n == 2:
			fails++
			return scheduler.ErrNoCells
		}
		return nil
	}
	for i, a := range finish(t, s, streams...) {
		if want := alone(t, request(10, i, 20)); a.text != want.text {
			t.Errorf("answer %d is %q (%v), alone %q", i, a.text, a.end.Err, want.text)
		}
	}
	if fails != 2 {
		t.Errorf("%d passes have failed, want 2", fails)
	}
}

// A job that lost its slot finds its own cells again, also where it takes nobody else's.
func TestScheduler_Preempted_KeepsItsCellsWithoutPromptCache(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{Slots: 1})
	first := request(500, 1, 40)
	first.CachePrompt = false
	st, a := begin(t, s, first, 5)
	must.Do(t, control(t, s, st.Pause))
	finish(t, s, submit(t, s, request(10, 2, 5))) // takes the slot
	must.Do(t, control(t, s, st.Resume))
	before := b.Tokens
	for s.Tick() {
		a.read(st)
	}
	if n := b.Tokens - before; n > 40 {
		t.Errorf("%d tokens were computed for the rest of an answer of 40", n)
	}
	if want := alone(t, request(500, 1, 40)); a.text != want.text {
		t.Errorf("%q, without the break %q", a.text, want.text)
	}
}

// adapted is a request with adapters that count from a position on; "" is none.
func adapted(name string, from, n, seed, most int) scheduler.Request {
	r := request(n, seed, most)
	if name != "" {
		r.Adapters, r.AdaptersFrom = schedulertest.Adapters(name), from
	}
	return r
}

// Requests with several sets of adapters at once get the answers that each gets alone, in either
// way to arrange passes.
func TestScheduler_Adapters_AnswersAreThoseOfEachAlone(t *testing.T) {
	for _, separate := range []bool{false, true} {
		t.Run(fmt.Sprintf("separate %v", separate), func(t *testing.T) {
			var requests []scheduler.Request
			for i, name := range []string{"a", "", "b", "a", "c", ""} {
				requests = append(requests, adapted(name, 0, 40+i, i%2, 20), adapted(name, 30, 70, i%2, 20))
			}
			limits := scheduler.Limits{Batch: 64, SeparatePasses: separate}
			var alone, together [][]scheduler.Token
			for _, r := range requests {
				s := newScheduler(t, schedulertest.New(limits), scheduler.Config{})
				alone = append(alone, finish(t, s, submit(t, s, r))[0].tokens)
			}
			s := newScheduler(t, schedulertest.New(limits), scheduler.Config{Slots: 12})
			var streams []*scheduler.Stream
			for _, r := range requests {
				streams = append(streams, submit(t, s, r))
			}
			for _, a := range finish(t, s, streams...) {
				together = append(together, a.tokens)
			}
			if diff := cmp.Diff(alone, together); diff != "" {
				t.Errorf("the answers alone (-) and together (+) differ:\n%s", diff)
			}
			if slices.Equal(alone[0], alone[2]) {
				t.Error("with adapters the answer is that without, so nothing was tested")
			}
		})
	}
}

// What one set of adapters computed, running, idle or archived, is not there for another, but for
// the cells before it began to count.
func TestScheduler_Adapters_PartPrefixes(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 1000, Context: 600})
	s := newScheduler(t, b, scheduler.Config{Slots: 2, ArchiveBytes: 1 << 20})
	finish(t, s, submit(t, s, adapted("a", 0, 300, 1, 10)))
	for _, tc := range []struct {
		name    string
		request scheduler.Request
		want    int
	}{
		{"another", adapted("b", 0, 300, 1, 10), 0},
		{"its own", adapted("b", 0, 300, 1, 10), 299},
		{"another of the same name that counts later", adapted("b", 100, 300, 1, 10), 0},
		{"none", adapted("", 0, 300, 1, 10), 100},
		{"others take the cells", adapted("c", 0, 300, 2, 10), 0},
		{"and these", adapted("c", 0, 300, 3, 10), 0},
		{"archived, of another", adapted("d", 0, 300, 1, 10), 0},
		{"archived, of its own", adapted("a", 0, 300, 1, 10), 299},
	} {
		got := finish(t, s, submit(t, s, tc.request))[0]
		if cached := got.end.Usage.Cached; cached != tc.want {
			t.Errorf("%s: %d tokens found, want %d", tc.name, cached, tc.want)
		}
	}
	if b.Restored == 0 {
		t.Error("nothing came back from the archive, so it was not tried")
	}
	both := finish(t, s, submit(t, s, adapted("e", 0, 300, 4, 10)), submit(t, s, adapted("f", 0, 300, 4, 10)))
	if slices.ContainsFunc(both, func(a received) bool { return a.end.Usage.Cached != 0 }) {
		t.Error("two sets of adapters at the same time shared a prompt")
	}
}

// A tick has one pass for each set that generates and one chunk; without adapters there is one
// pass, as before.
func TestScheduler_Adapters_OnePassATickForEachSet(t *testing.T) {
	for _, tc := range []struct {
		names []string
		want  int
	}{{[]string{"", "", ""}, 1}, {[]string{"a", "a", "a"}, 1}, {[]string{"a", "", "b", "a"}, 3}} {
		b := schedulertest.New(scheduler.Limits{})
		s := newScheduler(t, b, scheduler.Config{})
		for i, name := range tc.names {
			submit(t, s, adapted(name, 0, 4, i, 50))
		}
		for range 10 {
			s.Tick()
		}
		before := b.Passes
		s.Tick()
		if got := b.Passes - before; got != tc.want {
			t.Errorf("%q generate with %d passes in a tick, want %d", tc.names, got, tc.want)
		}
	}
}

// Long prompts with other adapters than those that generate are computed in turns: no prompt waits
// for ever while others of another set keep coming, and streams keep the target.
func TestScheduler_Adapters_PromptsTakeTurnsBesideStreams(t *testing.T) {
	for _, separate := range []bool{false, true} {
		b := schedulertest.New(scheduler.Limits{Cells: 1 << 16, Context: 1 << 13, SeparatePasses: separate})
		b.Cost = func(tokens, _ int) time.Duration {
			return 2*time.Millisecond + time.Duration(tokens)*time.Millisecond/4
		}
		const target = 40 * time.Millisecond
		s := newScheduler(t, b, scheduler.Config{Slots: 8, ITLTarget: target})
		stream := submit(t, s, adapted("", 0, 4, 0, 4000))
		other := submit(t, s, adapted("s", 0, 4, 0, 4000))
		for range 40 {
			s.Tick()
		}
		waiting := submit(t, s, adapted("a", 0, 2000, 1, 1))
		begin, last, longest := b.Now(), b.Now(), time.Duration(0)
		var done received
		for i := 0; done.end == nil; i++ {
			if i%3 == 0 { // prompts of another set, each shorter than what is left of the waiting one
				_, _ = s.Submit(adapted("b", 0, 200, 10+i, 1)) // or the queue is full of such
			}
			s.Tick()
			done.read(waiting)
			for _, st := range []*scheduler.Stream{stream, other} {
				for _, ok := st.TryNext(); ok; _, ok = st.TryNext() {
				}
			}
			longest = max(longest, b.Now().Sub(last))
			last = b.Now()
			if i > 5000 {
				t.Fatal("the prompt is never computed")
			}
		}
		if took := b.Now().Sub(begin); took > time.Minute {
			t.Errorf("separate %v: a prompt of 2000 tokens took %v beside prompts of another set", separate, took)
		}
		if longest > 2*target {
			t.Errorf("separate %v: a tick took %v, the target is %v", separate, longest, target)
		}
	}
}

// A pass that fails may cost a job all of its sequence. It is then computed again as at first: up
// to where its adapters begin, without them.
func TestScheduler_Adapters_AfterAFailedPass(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	b.NoCutting = true
	failed := false
	b.Fail = func(batch *scheduler.Batch) error {
		if failed || batch.Len() != 2 || batch.Rows() != 2 {
			return nil
		}
		failed = true
		return errors.New("once")
	}
	s := newScheduler(t, b, scheduler.Config{Slots: 2})
	requests := []scheduler.Request{adapted("a", 30, 70, 1, 20), adapted("a", 30, 70, 2, 20)}
	answers := finish(t, s, submit(t, s, requests[0]), submit(t, s, requests[1]))
	for i, r := range requests {
		if want := alone(t, r); answers[i].text != want.text {
			t.Errorf("answer %d: %q, alone %q", i, answers[i].text, want.text)
		}
	}
	if !failed {
		t.Error("no pass has failed")
	}
}

// Where the adapters begin to count within the answer, what is guessed of it ends before them: one
// pass computes with the model alone.
func TestScheduler_Adapters_DraftsEndBeforeThem(t *testing.T) {
	run := func(d func(*schedulertest.Backend) draft.Drafter) received {
		b := schedulertest.New(scheduler.Limits{})
		b.Cost = flat
		s := newScheduler(t, b, scheduler.Config{Drafter: d(b)})
		return finish(t, s, submit(t, s, adapted("a", 130, 90, 1, 80)))[0]
	}
	want := run(func(*schedulertest.Backend) draft.Drafter { return nil })
	got := run(func(b *schedulertest.Backend) draft.Drafter {
		return &seer{backend: b, rng: rand.New(rand.NewPCG(1, 1)), sure: true}
	})
	if !slices.Equal(got.tokens, want.tokens) || got.end.Usage.Accepted == 0 {
		t.Errorf("with drafts, %d of them accepted, the answer is %v, without %v", got.end.Usage.Accepted, got.tokens, want.tokens)
	}
}

// uncuttable are memories that cannot be cut everywhere, by what they are.
var uncuttable = map[string]func(*schedulertest.Backend){
	"recurrent": func(b *schedulertest.Backend) { b.Recurrent = true },
	"window":    func(b *schedulertest.Backend) { b.Window = 16 },
}

// eachUncuttable runs a test with each such memory and checkpoints.
func eachUncuttable(t *testing.T, f func(t *testing.T, b *schedulertest.Backend, s *scheduler.Scheduler)) {
	for name, set := range uncuttable {
		t.Run(name, func(t *testing.T) {
			b := schedulertest.New(scheduler.Limits{})
			set(b)
			f(t, b, newScheduler(t, b, scheduler.Config{Slots: 2, ArchiveBytes: 1 << 20, Checkpoints: kvcache.CheckpointOptions{Most: 32, MinStep: 256, Bytes: 1 << 20}}))
		})
	}
}

// A rewind computes no more than some dozens of tokens again, however long prompt and answer are.
func TestCheckpoint_Rewind(t *testing.T) {
	eachUncuttable(t, func(t *testing.T, b *schedulertest.Backend, s *scheduler.Scheduler) {
		for _, n := range []int{1, 20, 100} {
			r := request(500, 1, 300)
			r.Buffer = 1000
			st := submit(t, s, r)
			var a received
			for len(a.tokens) < 200 {
				s.Tick()
				a.read(st)
			}
			computed := b.Tokens
			must.Do(t, control(t, s, func(ctx context.Context) error { return st.Rewind(ctx, n) }))
			got := a
			for got.end == nil {
				s.Tick()
				got.read(st)
			}
			if again := b.Tokens - computed - (300 - 200); again < n || again > 2*n+64 {
				t.Errorf("%d tokens were computed again after %d were taken back", again, n)
			}
			if want := alone(t, request(500, 1, 300)); got.text != want.text {
				t.Errorf("after a rewind of %d: %q, alone %q", n, got.text, want.text)
			}
		}
	})
}

// A turn that parts from the conversation near the end of the last prompt computes what it has
// more, and a few tokens besides.
func TestCheckpoint_TurnThatParts(t *testing.T) {
	eachUncuttable(t, func(t *testing.T, b *schedulertest.Backend, s *scheduler.Scheduler) {
		finish(t, s, submit(t, s, request(400, 1, 150)))
		turn := request(0, 0, 10)
		turn.Prompt = slices.Concat(prompt(398, 1), prompt(30, 9)) // the answer is told otherwise
		a := finish(t, s, submit(t, s, turn))[0]
		if c := a.end.Usage.Cached; c < 390 {
			t.Errorf("%d tokens of 398 were found", c)
		}
		turn.Chain = []chain.Stage{schedulertest.Greedy{}}
		if want := alone(t, turn); a.text != want.text {
			t.Errorf("%q, alone %q", a.text, want.text)
		}
	})
}

// The second prompt that begins like another notes where they part: from the third on that
// beginning is shared.
func TestCheckpoint_CommonBeginning(t *testing.T) {
	eachUncuttable(t, func(t *testing.T, b *schedulertest.Backend, s *scheduler.Scheduler) {
		for i := range 4 {
			r := request(0, 0, 100)
			r.Prompt = slices.Concat(prompt(200, 1), prompt(250, 5+i))
			a := finish(t, s, submit(t, s, r))[0]
			if c := a.end.Usage.Cached; i >= 2 && c < 200 {
				t.Errorf("prompt %d found %d tokens of 200", i, c)
			}
			r.Chain = []chain.Stage{schedulertest.Greedy{}}
			if want := alone(t, r); a.text != want.text {
				t.Errorf("prompt %d: %q, alone %q", i, a.text, want.text)
			}
		}
	})
}

// Eight answers to one prompt compute it once.
func TestCheckpoint_Followers(t *testing.T) {
	for name, set := range uncuttable {
		t.Run(name, func(t *testing.T) {
			b := schedulertest.New(scheduler.Limits{})
			set(b)
			s := newScheduler(t, b, scheduler.Config{Slots: 8, Checkpoints: kvcache.CheckpointOptions{Most: 32, MinStep: 256, Bytes: 1 << 20}})
			var streams []*scheduler.Stream
			for range 8 {
				streams = append(streams, submit(t, s, request(300, 1, 5)))
			}
			finish(t, s, streams...)
			if most := 300 + 8*(1+5); b.Tokens > most {
				t.Errorf("%d tokens were computed, want %d at most", b.Tokens, most)
			}
		})
	}
}

// A conversation that has left the cache comes back although its next turn parts from it.
func TestCheckpoint_Archive(t *testing.T) {
	for name, set := range uncuttable {
		t.Run(name, func(t *testing.T) {
			b := schedulertest.New(scheduler.Limits{Cells: 600, Context: 600})
			set(b)
			s := newScheduler(t, b, scheduler.Config{Slots: 1, ArchiveBytes: 1 << 20, Checkpoints: kvcache.CheckpointOptions{Most: 32, MinStep: 256, Bytes: 1 << 20}})
			for seed := range 3 { // the last ones evict the first
				finish(t, s, submit(t, s, request(300, seed, 100)))
			}
			turn := request(0, 0, 10)
			turn.Prompt = slices.Concat(prompt(298, 0), prompt(30, 9))
			a := finish(t, s, submit(t, s, turn))[0]
			if c := a.end.Usage.Cached; c < 290 || b.Restored == 0 {
				t.Errorf("%d tokens of 298 were found, %d states put back", c, b.Restored)
			}
			turn.Chain = []chain.Stage{schedulertest.Greedy{}}
			if want := alone(t, turn); a.text != want.text {
				t.Errorf("%q, alone %q", a.text, want.text)
			}
		})
	}
}

// However long a checkpoint takes, the ticks of others become longer by no more than is said, and
// all of them together by an eighth.
func TestCheckpoint_TakesLittleOfTheTime(t *testing.T) {
	const pass = 20 * time.Millisecond
	for _, cost := range []time.Duration{time.Millisecond, 9 * time.Millisecond, time.Second} {
		t.Run(fmt.Sprint(cost), func(t *testing.T) {
			b := schedulertest.New(scheduler.Limits{})
			b.Recurrent, b.CheckpointCost = true, cost
			b.Cost = func(int, int) time.Duration { return pass }
			s := newScheduler(t, b, scheduler.Config{Slots: 8, Checkpoints: kvcache.CheckpointOptions{Most: 32, MinStep: 256, Bytes: 1 << 20}})
			var streams []*scheduler.Stream
			for i := range 8 {
				r := request(100, i, 300)
				r.Buffer = 1000
				streams = append(streams, submit(t, s, r))
			}
			longest, began := time.Duration(0), b.Now()
			for last := began; s.Tick(); last = b.Now() {
				longest = max(longest, b.Now().Sub(last))
			}
			finish(t, s, streams...)
			if cost < time.Second && b.Checkpoints < 20 {
				t.Errorf("%d checkpoints", b.Checkpoints)
			}
			if cost == time.Second && b.Checkpoints > 3 { // nobody knows before the first what one costs
				t.Errorf("%d checkpoints", b.Checkpoints)
			}
			spent, all := time.Duration(b.Checkpoints)*cost, b.Now().Sub(began)
			if cost < time.Second && (spent > all/8 || longest > pass+10*time.Millisecond) {
				t.Errorf("%v of %v went into checkpoints, the longest tick took %v", spent, all, longest)
			}
		})
	}
}
