// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/steadytest"
)

// Two programs have all cells, and each wants more. The earlier one may take the later one's, but
// something else would be computed first: then that waits, and nobody sleeps. (In a bubble nobody
// can: it would be a deadlock.)
func TestProgram_CellsRunOut_TheEarlierGoesOn(t *testing.T) {
	table, picture := piece.NewTable(), schedulertest.NewPiece("a", piece.Shape{Rows: 40, Positions: 40})
	rows, err := table.Add(picture)
	if err != nil {
		t.Fatal(err)
	}
	type branches [2][]program.Token // the two have at first, and later
	for name, c := range map[string]struct {
		first, later branches
		opens        bool // the earlier one opens another branch with what it wants later
		adapters     bool
	}{
		"alike":           {first: branches{own(80, 5), own(136, 6)}, later: branches{own(80, 7), own(60, 8)}},
		"adapters":        {first: branches{own(80, 5), own(136, 6)}, later: branches{own(80, 7), own(60, 8)}, adapters: true},
		"a picture":       {first: branches{own(80, 5), own(136, 6)}, later: branches{append(slices.Concat(rows, rows), 5), own(60, 8)}},
		"a short prompt":  {first: branches{own(80, 5), own(136, 6)}, later: branches{own(150, 7), own(60, 8)}},
		"a common prefix": {first: branches{own(80, 5), own(136, 6)}, later: branches{slices.Concat(prompt(20, 1)[0].Tokens, own(136, 6), own(60, 8)), own(60, 8)}, opens: true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, scheduler.Limits{Cells: 256, Context: 256, Batch: 64}, scheduler.Config{Slots: 3, Pieces: table}, func(b bubble) {
				var streams [2]*scheduler.Stream
				start := time.Now()
				for i := range streams {
					r := written(20, i, 2-i, func(r *program.Run) error {
						root := mustOpen(r, r.Prompt())
						grow := func(tokens []program.Token) error {
							if err := root.Append(tokens, false); err != nil {
								return err
							}
							_, err := r.Wait(1, false, root)
							return err
						}
						if err := grow(c.first[i]); err != nil {
							return err
						}
						time.Sleep(time.Until(start.Add(time.Minute))) // the later one wants more first
						if time.Sleep(time.Duration(1-i) * time.Second); !c.opens || i > 0 {
							return grow(c.later[i])
						}
						_, err := r.Wait(1, false, mustOpen(r, c.later[i]))
						return err
					})
					r.Pieces, r.Program.Tokens = []*piece.Piece{picture}, 1000
					if c.adapters {
						r.Adapters = schedulertest.Adapters([]string{"x", "y"}[i])
					}
					streams[i] = submit(t, b.Scheduler, r)
				}
				for i, st := range streams {
					if a := b.read(st); a.end.Err != nil {
						t.Errorf("answer %d: %v", i, a.end.Err)
					}
				}
			}, func(b *schedulertest.Backend) { b.Pieces = table })
		})
	}
}

// Branches that do not fit into the cells together are computed one after the other, and not again
// and again, however close to the limit they are.
func TestProgram_BranchesBeyondTheCells_AreComputedInTurn(t *testing.T) {
	for _, c := range []struct{ cells, batch, each, branches int }{
		{192, 16, 186, 2}, {192, 16, 171, 3}, {2048, 64, 1942, 2}, {2048, 64, 1088, 3}, {2048, 64, 1515, 4}, {2048, 64, 1515, 8}, {8192, 512, 8185, 6},
	} {
		l := scheduler.Limits{Cells: c.cells, Context: c.cells, Batch: c.batch, Sequences: c.branches + 2}
		inBubble(t, l, scheduler.Config{Slots: c.branches}, func(b bubble) {
			r := written(20, 1, c.branches, func(r *program.Run) error {
				var all []*program.Branch
				for i := range c.branches {
					all = append(all, mustOpen(r, own(c.each, 3+i)))
				}
				_, err := r.Wait(1, false, all...)
				return err
			})
			r.Program.Tokens = 1 << 20
			if a := b.read(submit(t, b.Scheduler, r)); a.end.Err != nil {
				t.Error(a.end.Err)
			}
			if work := c.branches * c.each; b.host.Tokens > 2*work {
				t.Errorf("%d branches of %d tokens in %d cells: %d tokens are computed, %d are wanted", c.branches, c.each, c.cells, b.host.Tokens, work)
			}
		})
	}
}

// Branches that write until the cells run out, and a branch beside an answer that takes one cell
// after the other: what has lost its cells is computed again when there is room for all of it, and
// not each time that there is some.
func TestProgram_WithoutCells_IsNotComputedInVain(t *testing.T) {
	for name, c := range map[string]struct {
		beside int // tokens of an earlier answer
		most   int // tokens that may be computed
		main   func(l *lifetimes) func(r *program.Run) error
	}{
		"runs": {most: 3500, main: func(l *lifetimes) func(r *program.Run) error {
			return func(r *program.Run) error {
				var all []*program.Branch
				for i := range 4 {
					all = append(all, mustOpen(r, own(440, 3+i)))
					if err := all[i].Run(l.chain(true), 100, false); err != nil {
						return err
					}
				}
				_, err := r.Wait(1, false, all...)
				return err
			}
		}},
		"beside an answer": {beside: 400, most: 6000, main: func(*lifetimes) func(r *program.Run) error {
			return func(r *program.Run) error {
				_, err := r.Wait(1, false, mustOpen(r, own(1900, 3)))
				return err
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, scheduler.Limits{Cells: 2000, Context: 2000}, scheduler.Config{Slots: 5}, func(b bubble) {
				if c.beside > 0 {
					st := submit(t, b.Scheduler, request(100, 1, c.beside))
					defer b.read(st)
					time.Sleep(50 * time.Millisecond)
				}
				r := written(20, 2, 4, c.main(new(lifetimes)))
				r.Program.Tokens = 1 << 20
				if a := b.read(submit(t, b.Scheduler, r)); a.end.Err != nil {
					t.Error(a.end.Err)
				}
				if b.host.Tokens > c.most {
					t.Errorf("%d tokens are computed, at most %d are to be", b.host.Tokens, c.most)
				}
			})
		})
	}
}

// crowd is some programs whose branches do not fit together, and answers that grow, at random.
type crowd struct {
	cells, branches, runs int
	rows                  []scheduler.Token // of a picture
	work                  atomic.Int64      // tokens that were asked for
}

// main is a program that has all its branches computed, perhaps has them write, and makes them
// longer.
func (c *crowd) main(rng *rand.Rand, seed int) func(*program.Run) error {
	return func(r *program.Run) error {
		all := make([]*program.Branch, c.branches)
		for step := range 3 {
			for i := range all {
				tokens := own(1+rng.IntN(c.cells/3), seed+i+c.branches*step)
				if step == 0 {
					tokens = own(c.cells/4+rng.IntN(c.cells/3), seed+i)
					all[i] = mustOpen(r, tokens[:1])
				}
				if rng.IntN(3) == 0 && c.rows != nil {
					tokens = append(append(tokens, c.rows...), 5)
				}
				if err := all[i].Append(tokens, false); errors.Is(err, program.ErrContextFull) {
					continue
				}
				if c.work.Add(int64(1 + len(tokens) + c.runs)); c.runs > 0 {
					if err := all[i].Run(new(lifetimes).chain(true), c.runs, false); err != nil && !errors.Is(err, program.ErrContextFull) {
						return err
					}
				}
			}
			if _, err := r.Wait(1, false, all...); err != nil {
				return err
			}
		}
		return nil
	}
}

// Programs whose branches do not fit together, beside others and beside answers that grow, come to
// their ends, and cost no more than what they ask for and some of it again. Where somebody waits
// for ever, the bubble is a deadlock.
func TestProgram_RandomCells_WorkIsInProportion(t *testing.T) {
	rng := steadytest.Rand(t)
	table, picture := piece.NewTable(), schedulertest.NewPiece("a", piece.Shape{Rows: 12, Positions: 12})
	rows, err := table.Add(picture)
	if err != nil {
		t.Fatal(err)
	}
	for range steadytest.InLongTest(2000, 60) {
		c := &crowd{cells: 256 << rng.IntN(4), branches: 1 + rng.IntN(4)}
		c.runs = rng.IntN(2) * rng.IntN(c.cells/8)
		if rng.IntN(2) == 0 {
			c.rows = rows
		}
		l := scheduler.Limits{Cells: c.cells, Context: c.cells, Batch: 16 << rng.IntN(4), Sequences: 24}
		answers, programs, adapters := rng.IntN(3), 1+rng.IntN(3), rng.IntN(2) == 0
		inBubble(t, l, scheduler.Config{Slots: 16, Pieces: table}, func(b bubble) {
			var streams []*scheduler.Stream
			for i := range answers {
				n := 1 + rng.IntN(c.cells/3)
				c.work.Add(int64(20 + n))
				streams = append(streams, submit(t, b.Scheduler, request(20, 90+i, n)))
			}
			time.Sleep(50 * time.Millisecond)
			for i := range programs {
				r := written(20, 2+i, c.branches, c.main(rand.New(rand.NewPCG(rng.Uint64(), 1)), 100*i))
				if r.Program.Tokens, r.Pieces = 1<<20, []*piece.Piece{picture}; adapters {
					r.Adapters = schedulertest.Adapters([]string{"x", "y", "z"}[i])
				}
				streams = append(streams, submit(t, b.Scheduler, r))
			}
			for _, st := range streams {
				if a := b.read(st); a.end.Err != nil {
					t.Error(a.end.Err)
				}
			}
			if work := int(c.work.Load()); b.host.Tokens > 4*work {
				t.Errorf("%d cells, passes of %d, %d answers, %d programs of %d branches, runs of %d: %d tokens are computed, %d are wanted",
					c.cells, l.Batch, answers, programs, c.branches, c.runs, b.host.Tokens, work)
			}
		}, func(b *schedulertest.Backend) { b.Pieces = table })
	}
}

// own is a prompt of n tokens that no other seed has.
func own(n, seed int) []scheduler.Token {
	tokens := prompt(n, seed)[0].Tokens
	tokens[0] = scheduler.Token(seed % 256)
	if n > 1 {
		tokens[1] = scheduler.Token(seed / 256)
	}
	return tokens
}
