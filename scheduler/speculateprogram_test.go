// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// runTime is how long a program takes whose branches go on by themselves side by side, in runs of
// so many tokens each, with a drafter that errs for a part of its tokens; below 0: without.
func runTime(t *testing.T, errs float64, native, shared bool, branches, runs, tokens int) (took time.Duration, u scheduler.Usage) {
	t.Helper()
	limits, c := scheduler.Limits{SeparatePasses: !shared}, scheduler.Config{Slots: branches}
	if errs >= 0 {
		c.Drafter = &seer{backend: schedulertest.New(limits), rng: rand.New(rand.NewPCG(1, 1)), errs: errs, sure: true}
	}
	inBubble(t, limits, c, func(b bubble) {
		began := time.Now()
		a := b.read(submit(t, b.Scheduler, written(20, 1, branches, func(r *program.Run) error {
			chain := greedy(!native)
			var all []*program.Branch
			for i := range branches {
				all = append(all, mustOpen(r, append(r.Prompt(), scheduler.Token(2+i))))
			}
			for range runs {
				var err error
				for _, of := range all {
					err = errors.Join(err, of.Run(chain, tokens, false))
				}
				if _, waits := r.Wait(0, false, all...); errors.Join(err, waits) != nil {
					return errors.Join(err, waits)
				}
			}
			for i, of := range all {
				if err := b.ran(of, append(r.Prompt(), scheduler.Token(2+i)), runs*tokens, program.Ran); err != nil {
					return fmt.Errorf("branch %d: %w", i, err)
				}
			}
			return nil
		})))
		if took, u = time.Since(began), a.end.Usage; a.end.Err != nil {
			t.Error(a.end.Err)
		}
	})
	return took, u
}

// Branches that go on by themselves have drafts: they write the same, and sooner if these are
// right, whoever draws for them. If they are never right, a program of many short runs loses a
// fiftieth.
func TestSpeculate_SelfRun_TheSameAndSooner(t *testing.T) {
	for _, native := range []bool{true, false} {
		for _, shared := range []bool{true, false} {
			for _, c := range []struct{ branches, runs, tokens int }{{1, 1, 300}, {3, 25, 12}} {
				name := fmt.Sprintf("native %v, shared cells %v, %d branches with %d runs", native, shared, c.branches, c.runs)
				without, none := runTime(t, -1, native, shared, c.branches, c.runs, c.tokens)
				right, all := runTime(t, 0, native, shared, c.branches, c.runs, c.tokens)
				if right > without/2 || none.Drafted > 0 || all.Accepted < c.branches*c.runs*c.tokens/2 {
					t.Errorf("%s: always right it takes %v instead of %v, with %d of %d drafted tokens", name, right, without, all.Accepted, all.Drafted)
				}
				if wrong, all := runTime(t, 1, native, shared, c.branches, c.runs, c.tokens); wrong > without*102/100 || all.Drafted == 0 {
					t.Errorf("%s: never right it takes %v instead of %v, with %d drafted tokens", name, wrong, without, all.Drafted)
				}
			}
		}
	}
}
