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

// computer is what passes take somewhere.
type computer struct {
	rows   schedulertest.Curve // by their rows
	replan float64             // milliseconds that one takes longer which is of another size than the one before
}

// computers differ in what further rows of a pass cost, and other sizes.
var computers = map[string]computer{
	"two cores":           {schedulertest.Curve{{1, 9.9}, {2, 10.5}, {4, 13.6}, {8, 16.8}, {16, 25}, {32, 48.8}, {64, 100}}, 0.5}, // as measured, a 135M model in Q4_K_M
	"two busy cores":      {schedulertest.Curve{{1, 9}, {2, 12}, {4, 22}, {8, 42}, {16, 60}, {32, 100}, {64, 190}}, 0.7},
	"many cores":          {schedulertest.Curve{{1, 20}, {8, 26}, {16, 36}, {32, 60}, {64, 110}}, 1},
	"a GPU":               {schedulertest.Curve{{1, 12}, {32, 12.5}, {64, 13}}, 1.2},
	"tiles of eight rows": {schedulertest.Curve{{1, 10}, {2, 19}, {8, 20}, {9, 29}, {16, 30}, {32, 45}, {64, 80}}, 0.5},
	"a row is a pass":     {schedulertest.Curve{{1, 10}, {64, 640}}, 0.5},
	"a small model":       {schedulertest.Curve{{1, 0.5}, {2, 0.55}, {8, 0.8}, {64, 4}}, 0.25},
}

// decodeTimes is how long the answers to requests took after their first tokens, one answer after
// another or all at once.
func decodeTimes(t *testing.T, m computer, drafter func(*schedulertest.Backend) draft.Drafter, answers, tokens int, atOnce, separate bool) (all []time.Duration) {
	t.Helper()
	b := schedulertest.New(scheduler.Limits{SeparatePasses: separate})
	b.Cost, b.Replan = m.rows.Cost, time.Duration(m.replan*float64(time.Millisecond))
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
	for name, m := range computers {
		for _, sure := range []bool{false, true} {
			for _, tokens := range []int{64, 200, 800} {
				want := decodeTimes(t, m, noDrafter, 6, tokens, false, false)
				got := decodeTimes(t, m, func(b *schedulertest.Backend) draft.Drafter {
					return &seer{backend: b, rng: rand.New(rand.NewPCG(1, 1)), errs: 1, sure: sure}
				}, 6, tokens, false, false)
				most := 1.02
				if tokens == 800 { // a first draft is nothing beside it
					most = 1.013
				}
				for i := range want {
					if got[i].Seconds() > want[i].Seconds()*most {
						t.Errorf("%s, sure %v: answer %d of %d tokens takes %v instead of %v", name, sure, i, tokens, got[i], want[i])
					}
				}
			}
		}
	}
}

// The same for answers that are written side by side, all in all.
func TestSpeculate_NeverRightSideBySide_LosesAFiftieth(t *testing.T) {
	for name, m := range computers {
		for _, separate := range []bool{false, true} {
			for _, answers := range []int{2, 8} {
				want := decodeTimes(t, m, noDrafter, answers, 300, true, separate)
				got := decodeTimes(t, m, func(b *schedulertest.Backend) draft.Drafter {
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
	for name, m := range computers {
		if name == "a row is a pass" {
			continue
		}
		for _, tokens := range []int{200, 800} {
			want := decodeTimes(t, m, noDrafter, 3, tokens, false, false)
			got := decodeTimes(t, m, func(b *schedulertest.Backend) draft.Drafter {
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
	for name, m := range computers {
		if name == "a row is a pass" {
			continue
		}
		const tokens = 1600
		want := decodeTimes(t, m, noDrafter, 1, tokens, false, false)[0]
		got := decodeTimes(t, m, func(b *schedulertest.Backend) draft.Drafter {
			return &seer{backend: b, rng: rand.New(rand.NewPCG(1, 1)), errs: 1, wrongUpTo: 20 + tokens/4, sure: true}
		}, 1, tokens, false, false)[0]
		if got > want*8/10 {
			t.Errorf("%s: the last three quarters are known, and it takes %v instead of %v", name, got, want)
		}
	}
}

// A drafter takes time, too, be it much or little: guesses that are never right cost an answer a
// fiftieth with it.
func TestSpeculate_NeverRightAndSlow_LosesAFiftieth(t *testing.T) {
	m := computers["many cores"]
	want := decodeTimes(t, m, noDrafter, 2, 800, false, false)
	for _, takes := range []time.Duration{50 * time.Microsecond, 350 * time.Microsecond, 6 * time.Millisecond, 60 * time.Millisecond} {
		for _, blocks := range []bool{false, true} {
			got := decodeTimes(t, m, func(b *schedulertest.Backend) draft.Drafter {
				return &seer{backend: b, rng: rand.New(rand.NewPCG(1, 1)), errs: 1, sure: true, takes: func(int) time.Duration { return takes }, blocks: blocks}
			}, 2, 800, false, false)
			for i := range want {
				if got[i] > want[i]*102/100 {
					t.Errorf("a guessed token takes %v, in blocks %v: answer %d takes %v instead of %v", takes, blocks, i, got[i], want[i])
				}
			}
		}
	}
}

// Where a guess takes as long whatever its length, answers come to long ones, though the first are
// short and seem dear.
func TestSpeculate_Blocks_BecomeLong(t *testing.T) {
	m := computers["many cores"]
	want := decodeTimes(t, m, noDrafter, 1, 800, false, false)[0]
	for _, takes := range []time.Duration{5 * time.Millisecond, 10 * time.Millisecond} {
		got := decodeTimes(t, m, func(b *schedulertest.Backend) draft.Drafter {
			return &seer{backend: b, rng: rand.New(rand.NewPCG(1, 1)), sure: true, takes: func(int) time.Duration { return takes }, blocks: true}
		}, 1, 800, false, false)[0]
		if got > want/3 {
			t.Errorf("a guess takes %v, of any length: an answer takes %v instead of %v", takes, got, want)
		}
	}
}

// A drafter of which one call took as long as many passes is asked again.
func TestSpeculate_SlowOnce_IsAskedAgain(t *testing.T) {
	m := computers["many cores"]
	want := decodeTimes(t, m, noDrafter, 1, 3000, false, false)[0]
	got := decodeTimes(t, m, func(b *schedulertest.Backend) draft.Drafter {
		return &seer{backend: b, rng: rand.New(rand.NewPCG(1, 1)), sure: true, takes: func(call int) time.Duration {
			if call == 1 {
				return time.Second
			}
			return time.Millisecond
		}}
	}, 1, 3000, false, false)[0]
	if got > want*8/10 {
		t.Errorf("it takes %v, without drafts %v", got, want)
	}
}

// needy is a seer with as many cells of its own as the model has, which it needs for its guesses.
type needy struct {
	seer
	t *testing.T
}

func (d *needy) Draft(asks []*draft.Ask) {
	cells := d.backend.Used()
	for _, a := range asks {
		cells += 1 + a.Most // with the token that it follows
	}
	if most := d.backend.Limits().Cells; cells > most {
		d.t.Errorf("%d answers with guesses need %d cells of %d", len(asks), cells, most)
	}
	d.seer.Draft(asks)
}

// A drafter with cells of its own, as many as the model has, has some for what it is asked for:
// where a head has none, it forgets what it knows of all answers.
func TestSpeculate_FewCells_FitTheDrafters(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 256, Context: 256})
	d := &needy{seer{backend: b, rng: rand.New(rand.NewPCG(1, 1)), sure: true}, t}
	s := newScheduler(t, b, scheduler.Config{Drafter: d, ITLTarget: time.Second, Slots: 4})
	var streams []*scheduler.Stream
	for i := range 4 {
		streams = append(streams, submit(t, s, request(16, i, 100)))
	}
	if finish(t, s, streams...); d.calls == 0 {
		t.Error("it was not asked")
	}
}
