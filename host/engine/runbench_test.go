// SPDX-License-Identifier: MIT

package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
)

// runs is a program that lets n branches of the prompt run with the request's parameters and shows
// the first.
func runs(e *Engine, n, most int, scored bool) func(*program.Run) error {
	c := program.NewChain(func(branch uint64, _ int) ([]chain.Stage, error) { return e.NewChain(seeded(branch)) })
	return func(r *program.Run) error {
		root, err := r.Open(r.Prompt())
		if err != nil {
			return err
		}
		all := []*program.Branch{root}
		for len(all) < n {
			fork, err := root.Fork()
			if err != nil {
				return err
			}
			all = append(all, fork)
		}
		for _, b := range all {
			if err := b.Run(c, most, scored); err != nil {
				return err
			}
		}
		if _, err := r.Wait(0, false, all...); err != nil {
			return err
		}
		_, err = r.Show(0, root.Tokens()[len(r.Prompt()):], nil)
		return err
	}
}

func seeded(n uint64) sampling.Params {
	p := sampling.Default()
	p.Seed = uint32(n)
	return p
}

// BenchmarkProgram_Run compares branches that go on by themselves with as many answers to the same
// prompt, alternating. scored: with log-probabilities, as who takes the best of several answers
// wants them. ratio is the programs' tokens in a second by those of the answers.
func BenchmarkProgram_Run(b *testing.B) {
	const most = 256
	for _, c := range []struct {
		n      int
		scored bool
	}{{1, false}, {8, false}, {8, true}} {
		b.Run(fmt.Sprintf("%d/scored=%v", c.n, c.scored), func(b *testing.B) {
			e := opened(b, Options{Slots: 8, ContextSize: 8 * 1024})
			s, stop := scheduled(b, e, 8)
			defer stop()
			logprobs := -1
			if c.scored {
				logprobs = 0
			}
			ask := func(i int) scheduler.Request {
				r := greedy(b, e, "Once upon a time there was a little frog who lived by a pond", most)
				chain.Close(r.Chain)
				var err error
				if r.Chain, err = e.NewChain(seeded(uint64(i))); err != nil {
					b.Fatal(err)
				}
				r.Logprobs = logprobs
				return r
			}
			plain := func() {
				var all []scheduler.Request
				for i := range c.n {
					all = append(all, ask(i))
				}
				said(b, s, all...)
			}
			written := func() {
				r := ask(0)
				r.Logprobs, r.Program = -1, &program.Program{Main: runs(e, c.n, most, c.scored), Branches: c.n}
				said(b, s, r)
			}
			plain()
			written()
			var took [2][]time.Duration
			for b.Loop() {
				for i, f := range []func(){plain, written} {
					start := time.Now()
					f()
					took[i] = append(took[i], time.Since(start))
				}
			}
			slices.Sort(took[0])
			slices.Sort(took[1])
			half := len(took[0]) / 2
			b.ReportMetric(took[0][half].Seconds()/took[1][half].Seconds(), "ratio")
			b.ReportMetric(float64(c.n*most)/took[1][half].Seconds(), "tokens/s")
		})
	}
}
