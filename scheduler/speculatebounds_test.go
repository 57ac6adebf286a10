// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// rowCosts are what a pass costs by its rows, on machines that differ in what further rows cost.
var rowCosts = map[string]schedulertest.Curve{
	"two cores":           {{1, 9.9}, {2, 10.5}, {4, 13.6}, {8, 16.8}, {16, 25}, {32, 48.8}, {64, 100}}, // as measured, a 135M model in Q4_K_M
	"two busy cores":      {{1, 9}, {2, 12}, {4, 22}, {8, 42}, {16, 60}, {32, 100}, {64, 190}},
	"many cores":          {{1, 20}, {8, 26}, {16, 36}, {32, 60}, {64, 110}},
	"a GPU":               {{1, 12}, {32, 12.5}, {64, 13}},
	"tiles of eight rows": {{1, 10}, {2, 19}, {8, 20}, {9, 29}, {16, 30}, {32, 45}, {64, 80}},
	"a row is a pass":     {{1, 10}, {64, 640}},
}

// decodeTimes is how long the answers to requests took after their first tokens, one answer after
// another or all at once.
func decodeTimes(t *testing.T, cost schedulertest.Curve, drafter func(*schedulertest.Backend) draft.Drafter, answers, tokens int, atOnce, separate bool) (all []time.Duration) {
	t.Helper()
	b := schedulertest.New(scheduler.Limits{SeparatePasses: separate})
	b.Cost = cost.Cost
	s := newScheduler(t, b, scheduler.Config{Drafter: drafter(b), ITLTarget: time.Second})
	var streams []*scheduler.Stream
	for i := range answers {
		streams = append(streams, submit(t, s, request(20, i, tokens)))
		if !atOnce || i == answers-1 {
			for _, a := range finish(t, s, streams...) {
				if a.end.Usage.Generated != tokens {
					t.Fatalf("%+v", a.end)
				}
				all = append(all, a.end.Timing.Decode)
			}
			streams = nil
		}
	}
	return all
}

func noDrafter(*schedulertest.Backend) draft.Drafter { return nil }

// Guesses that are never right cost each answer at most a fiftieth of its time, whatever rows
// cost, how sure the drafter says it is, and how short the answer is.
func TestSpeculate_NeverRight_LosesAFiftieth(t *testing.T) {
	for name, cost := range rowCosts {
		for _, sure := range []bool{false, true} {
			for _, tokens := range []int{64, 200, 800} {
				want := decodeTimes(t, cost, noDrafter, 6, tokens, false, false)
				got := decodeTimes(t, cost, func(b *schedulertest.Backend) draft.Drafter {
					return &seer{backend: b, rng: rand.New(rand.NewPCG(1, 1)), errs: 1, sure: sure}
				}, 6, tokens, false, false)
				for i := range want {
					if got[i] > want[i]*102/100 {
						t.Errorf("%s, sure %v: answer %d of %d tokens takes %v instead of %v", name, sure, i, tokens, got[i], want[i])
					}
				}
			}
		}
	}
}

// The same for answers that are written side by side, all in all.
func TestSpeculate_NeverRightSideBySide_LosesAFiftieth(t *testing.T) {
	for name, cost := range rowCosts {
		for _, separate := range []bool{false, true} {
			for _, answers := range []int{2, 8} {
				want := decodeTimes(t, cost, noDrafter, answers, 300, true, separate)
				got := decodeTimes(t, cost, func(b *schedulertest.Backend) draft.Drafter {
					return &seer{backend: b, rng: rand.New(rand.NewPCG(1, 1)), errs: 1, sure: true}
				}, answers, 300, true, separate)
				if last := answers - 1; got[last] > want[last]*102/100 {
					t.Errorf("%s, separate passes %v: %d answers take %v instead of %v", name, separate, answers, got[last], want[last])
				}
			}
		}
	}
}

// Guesses that are always right make an answer at least twice as fast where rows cost little
// enough for that.
func TestSpeculate_AlwaysRight_TwiceAsFast(t *testing.T) {
	for name, cost := range rowCosts {
		if name == "a row is a pass" {
			continue
		}
		for _, tokens := range []int{200, 800} {
			want := decodeTimes(t, cost, noDrafter, 3, tokens, false, false)
			got := decodeTimes(t, cost, func(b *schedulertest.Backend) draft.Drafter {
				return &seer{backend: b, rng: rand.New(rand.NewPCG(1, 1)), sure: true}
			}, 3, tokens, false, false)
			for i := range want {
				if got[i] > want[i]/2 {
					t.Errorf("%s: answer %d of %d tokens takes %v instead of %v", name, i, tokens, got[i], want[i])
				}
			}
		}
	}
}

// A text that begins to repeat in the middle is noticed, although all guesses before were wrong.
func TestSpeculate_BeginsToRepeat_IsNoticed(t *testing.T) {
	for name, cost := range rowCosts {
		if name == "a row is a pass" {
			continue
		}
		const tokens = 1600
		want := decodeTimes(t, cost, noDrafter, 1, tokens, false, false)[0]
		got := decodeTimes(t, cost, func(b *schedulertest.Backend) draft.Drafter {
			return &seer{backend: b, rng: rand.New(rand.NewPCG(1, 1)), errs: 1, wrongUpTo: 20 + tokens/4, sure: true}
		}, 1, tokens, false, false)[0]
		if got > want*8/10 {
			t.Errorf("%s: the last three quarters are known, and it takes %v instead of %v", name, got, want)
		}
	}
}
