// SPDX-License-Identifier: MIT

package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

// preemptions counts the jobs that lost their slot.
type preemptions int

func (n *preemptions) Tick(r scheduler.TickRecord) { *n += preemptions(r.Preempted) }

// answering is a request and what came of it so far.
type answering struct {
	*scheduler.Stream
	prompt, said []scheduler.Token
	most         int
	ended        bool
}

// TestLayout_RandomWork_SameTokensAsAlone: however the layout places long and short prompts while
// cells are scarce, sequences are saved and jobs are preempted, each answer has the tokens that
// the model says after its prompt alone.
func TestLayout_RandomWork_SameTokensAsAlone(t *testing.T) {
	var preempted preemptions
	restored := 0
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			sequences, cells := 2+rng.IntN(7), []int{1000, 4000}[rng.IntN(2)]
			b := schedulertest.New(scheduler.Limits{Vocabulary: 2000, Cells: cells, Batch: []int{64, 512}[rng.IntN(2)], Sequences: sequences,
				SeparatePasses: rng.IntN(2) == 0})
			b.Cost, b.CopyCost = schedulertest.Measured.Cost, time.Duration(rng.IntN(3))*20*time.Microsecond
			s := must.Get(scheduler.New(placed{b, layout{sequences: sequences}}, scheduler.Config{Slots: 1 + rng.IntN(sequences),
				ArchiveBytes: int64(rng.IntN(3)) << 15, Clock: b.Now}))(t)
			s.Listen(scheduler.Listener{Tick: preempted.Tick})
			for i, a := range randomAnswers(t, s, rng, cells) {
				want := b.After(slices.Concat(a.prompt, a.said), len(a.prompt), scheduler.Request{})
				if len(a.said) != a.most || !slices.Equal(a.said, want) {
					t.Errorf("answer %d has %d tokens, want %d:\n%v; alone\n%v", i, len(a.said), a.most, a.said, want)
				}
			}
			restored += b.Restored
		})
	}
	if preempted == 0 || restored == 0 {
		t.Errorf("%d jobs lost their slot and %d sequences came back from the archive; want some of both", preempted, restored)
	}
}

// randomAnswers submits requests now and then, and ticks until all have ended.
func randomAnswers(t *testing.T, s *scheduler.Scheduler, rng *rand.Rand, cells int) (answers []*answering) {
	for range 100 {
		if rng.IntN(3) == 0 {
			answers = append(answers, submitAny(t, s, rng, cells))
		}
		s.Tick()
		read(answers)
	}
	for slices.ContainsFunc(answers, func(a *answering) bool { return !a.ended }) {
		if s.Tick(); !read(answers) && !s.Tick() && !s.Tick() {
			t.Fatal("the answers do not end")
		}
	}
	return answers
}

// submitAny asks for an answer to a short prompt, or to one that is long for the layout. Many
// begin like an earlier one.
func submitAny(t *testing.T, s *scheduler.Scheduler, rng *rand.Rand, cells int) *answering {
	n := 1 + rng.IntN(60)
	if rng.IntN(3) == 0 {
		n = longPrompt + 1 + rng.IntN(cells/4)
	}
	a := &answering{prompt: story(n, int32(rng.IntN(8))), most: 1 + rng.IntN(300)}
	var err error
	a.Stream, err = s.Submit(scheduler.Request{Prompt: []scheduler.Segment{{Tokens: a.prompt}}, Ending: scheduler.Ending{MaxTokens: a.most}, Reports: scheduler.Reports{Logprobs: -1}, Caching: scheduler.Caching{CachePrompt: true},
		Service: scheduler.Service{Priority: rng.IntN(3) - 1}, Delivery: scheduler.Delivery{Buffer: 500}, Chain: []chain.Stage{schedulertest.Greedy{}}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// read takes what the answers have to say, and reports whether there was anything.
func read(answers []*answering) (some bool) {
	for _, a := range answers {
		for e, ok := a.TryNext(); ok; e, ok = a.TryNext() {
			some = true
			switch e.Kind {
			case scheduler.KindToken:
				a.said = append(a.said, e.Token)
			case scheduler.KindEnd:
				a.ended = true
			}
		}
	}
	return some
}
