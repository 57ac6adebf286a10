// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

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
