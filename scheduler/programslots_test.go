// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/background"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// A program gets its slots all at once or waits. Others may overtake it for ten seconds, then
// nobody, and nobody waits for it once it is served.
func TestProgram_Admission_IsAllOrNothing(t *testing.T) {
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 3}, func(b bubble) {
		var long []*scheduler.Stream
		for seed := range 2 {
			r := request(10, 1+seed, 1400)
			r.Buffer = 2000 // nobody reads it, and it is not parked for that
			long = append(long, submit(t, b.Scheduler, r))
		}
		time.Sleep(time.Second)
		st := submit(t, b.Scheduler, written(10, 3, 3, greedily(3)))
		began := time.Now()
		overtook := 0
		for time.Since(began) < 9*time.Second { // there is a slot, and the program needs three
			if a := b.read(submit(t, b.Scheduler, request(10, 4, 5))); a.end.Err != nil {
				t.Fatal(a.end.Err)
			}
			overtook++
		}
		time.Sleep(2 * time.Second)
		late := submit(t, b.Scheduler, request(10, 5, 5))
		written, other := b.read(st), b.read(late)
		if wait := written.end.Timing.Queued; overtook < 10 || wait < 10*time.Second {
			t.Errorf("%d requests have overtaken it, and it has waited for %v", overtook, wait)
		}
		if gap := written.end.Timing; other.end.Timing.Queued < gap.Queued-12*time.Second {
			t.Errorf("a later request waited for %v behind a program that waited for %v: it took the slot that was free", other.end.Timing.Queued, gap.Queued)
		}
		for i, st := range long {
			if a := b.read(st); a.end.Reason != answer.ReasonLength {
				t.Errorf("answer %d ended as %v", i, a.end.Reason)
			}
		}
	})
}

// A program that is paused gives all its slots to those who wait, and goes on later where it was.
func TestProgram_Paused_IsPreemptedAsAWhole(t *testing.T) {
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 3}, func(b bubble) {
		want := alone(t, request(100, 1, 60))
		st := submit(t, b.Scheduler, written(100, 1, 3, func(r *program.Run) error {
			other, err := r.Open(r.Prompt())
			if err != nil {
				return err
			}
			if _, err := favourite(r, other); err != nil {
				return err
			}
			return greedily(60)(r)
		}))
		time.Sleep(300 * time.Millisecond)
		must.Do(t, st.Pause(b.Context()))
		var others []*scheduler.Stream
		for seed := range 3 {
			others = append(others, submit(t, b.Scheduler, request(50, 2+seed, 30)))
		}
		for _, other := range others {
			if a := b.read(other); a.end.Reason != answer.ReasonLength || a.end.Timing.Queued > time.Second {
				t.Errorf("another ended as %v after %v in the queue", a.end.Reason, a.end.Timing.Queued)
			}
		}
		for name, err := range map[string]error{
			"injecting": st.Inject(b.Context(), []scheduler.Token{1}), "rewinding": st.Rewind(b.Context(), 1),
			"another chain": st.SetChain(b.Context(), request(1, 1, 1).Chain),
		} {
			if !errors.Is(err, scheduler.ErrBadRequest) {
				t.Errorf("%s: %v", name, err)
			}
		}
		must.Do(t, st.Resume(b.Context()))
		if a := b.read(st); a.text != want.text {
			t.Errorf("%q, want %q: %v", a.text, want.text, a.end.Err)
		}
	})
}

// When cells run out, a program's own branches make room: the answers beside it are not computed
// again, and it comes to its end all the same.
func TestProgram_WithoutCells_ShelvesItsOwnBranches(t *testing.T) {
	inBubble(t, scheduler.Limits{Cells: 640}, scheduler.Config{Slots: 5}, func(b bubble) {
		neighbour := submit(t, b.Scheduler, request(100, 2, 150))
		r := written(100, 1, 4, func(r *program.Run) error {
			var all []*program.Branch
			for seed := range 4 { // 800 tokens in all
				one, err := r.Open(prompt(190, 10+seed)[0].Tokens)
				if err != nil {
					return err
				}
				all = append(all, one)
			}
			for range 5 {
				ready, err := r.Wait(1, false, all...)
				if err != nil {
					return err
				}
				for i, one := range ready {
					best, err := one.Best(1)
					if err != nil {
						return err
					}
					if want := b.says(one.Tokens()); best.IDs[0] != want {
						t.Errorf("branch %d says %d, the model %d", i, best.IDs[0], want)
					}
					if err := one.Append(best.IDs, false); err != nil {
						return err
					}
				}
			}
			return nil
		})
		st := submit(t, b.Scheduler, r)
		if a := b.read(st); a.end.Err != nil {
			t.Fatal(a.end.Err)
		}
		snap := must.Get(b.Inspect(b.Context(), 4096))(t)
		for _, tick := range snap.Ticks {
			if tick.Preempted > 0 {
				t.Error("somebody was preempted for it")
			}
		}
		if a := b.read(neighbour); a.text != alone(t, request(100, 2, 150)).text {
			t.Error("the neighbour's answer is another")
		}
	})
}

// The tick does not wait for a program that thinks, and the rows that it reads meanwhile stay what
// they were.
func TestProgram_Slow_HoldsUpNobody(t *testing.T) {
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 4}, func(b bubble) {
		neighbour := submit(t, b.Scheduler, request(50, 2, 200))
		st := submit(t, b.Scheduler, written(100, 1, 2, func(r *program.Run) error {
			root, err := r.Open(r.Prompt())
			if err != nil {
				return err
			}
			for range 10 {
				if _, err := r.Wait(0, false, root); err != nil {
					return err
				}
				time.Sleep(100 * time.Millisecond) // some passes
				row := make([]float32, b.host.Limits().Vocabulary)
				if _, err := root.Logits(row); err != nil {
					return err
				}
				want := b.says(root.Tokens())
				if row[want] != 10 {
					t.Errorf("the row is another than that after %d tokens", len(root.Tokens()))
				}
				if err := root.Append([]program.Token{want}, false); err != nil {
					return err
				}
			}
			return nil
		}))
		var last time.Time
		for e := range schedulertest.Events(b.Context(), neighbour) {
			if gap := time.Since(last); e.Kind == scheduler.KindToken && !last.IsZero() && gap > 40*time.Millisecond {
				t.Errorf("a gap of %v", gap)
			}
			if e.Kind == scheduler.KindToken {
				last = time.Now()
			}
		}
		if a := b.read(st); a.end.Err != nil {
			t.Error(a.end.Err)
		}
	})
}

// What a slot does for a program is told by the branch, all under the one request.
func TestScheduler_Inspect_TellsBranches(t *testing.T) {
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 4}, func(b bubble) {
		forked, looked := make(chan struct{}), make(chan struct{})
		st := submit(t, b.Scheduler, written(20, 1, 3, func(r *program.Run) error {
			root, err := r.Open(r.Prompt())
			if err != nil {
				return err
			}
			fork, err := root.Fork()
			if err != nil {
				return err
			}
			if err := fork.Append([]program.Token{3, 4}, false); err != nil {
				return err
			}
			if _, err := r.Wait(0, false, root, fork); err != nil {
				return err
			}
			close(forked)
			<-looked
			return nil
		}))
		<-forked
		snap, err := b.Inspect(b.Context(), 0)
		close(looked)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []scheduler.SlotInfo{{Branch: 1, Tokens: 20}, {Branch: 2, Tokens: 22}, {}, {}} {
			s := snap.Slots[i]
			if s.Branch != want.Branch || s.Tokens != want.Tokens || (s.Request == 1) != (i < 3) || i < 2 && (s.State != "parked" || s.Wait != scheduler.WaitProgram) {
				t.Errorf("slot %d: %+v", i, s)
			}
		}
		if a := b.read(st); a.end.Usage.Opened != 2 {
			t.Errorf("%+v", a.end.Usage)
		}
	})
}

// A program that has returned is done, however much of its time it has used up: its client has the
// end, and others its slots.
func TestProgram_Returned_RestsNoMore(t *testing.T) {
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 2}, func(b bubble) {
		began := time.Now()
		a := b.read(submit(t, b.Scheduler, written(10, 1, 2, func(r *program.Run) error {
			for until := background.ThreadTime() + 500*time.Millisecond; background.ThreadTime() < until; { // time stands still meanwhile
			}
			return showTokens(r, []program.Token{7})
		})))
		if took := time.Since(began); a.text != " 7" || took > 100*time.Millisecond {
			t.Errorf("%q came after %v", a.text, took)
		}
	})
}

// TestProgram_Timing_ShownAtTheEnd wants the time in which a program computes to count as that of
// its tokens, although it shows all of them at the end.
func TestProgram_Timing_ShownAtTheEnd(t *testing.T) {
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 2}, func(b bubble) {
		const tokens = 5
		st, err := b.Submit(written(4, 1, 1, func(r *program.Run) error {
			root, err := r.Open(r.Prompt())
			if err != nil {
				return err
			}
			var all []program.Token
			for range tokens {
				next, err := favourite(r, root)
				if err != nil {
					return err
				}
				all = append(all, next)
				if err := root.Append([]program.Token{next}, false); err != nil {
					return err
				}
			}
			return showTokens(r, all)
		}))
		if err != nil {
			b.Fatal(err)
		}
		if took := b.read(st).end.Timing; took.Prefill < 10*time.Millisecond || took.Decode < (tokens-1)*10*time.Millisecond {
			b.Errorf("reading the prompt took %v, and %d tokens %v", took.Prefill, tokens, took.Decode)
		}
	})
}

// Two programs have all cells, and each wants more. The earlier one may take the later one's, but
// something else would be computed first: then that waits, and nobody sleeps. (In a bubble nobody
// can: it would be a deadlock.)
func TestProgram_CellsRunOut_TheEarlierGoesOn(t *testing.T) {
	table, picture := piece.NewTable(), schedulertest.NewPiece("a", piece.Shape{Rows: 40, Positions: 40})
	rows := must.Get(table.Add(picture))(t)
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
	rows := must.Get(table.Add(picture))(t)
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

// writtenOf has a program write the answer to a request with pictures.
func writtenOf(r scheduler.Request, branches int, main func(*program.Run) error) scheduler.Request {
	r.Chain, r.Program = nil, &program.Program{Main: main, Branches: branches}
	return r
}

// withPictures runs a scheduler in a bubble whose table has two pictures: one that its requests
// have, and one that they do not.
func withPictures(t *testing.T, shape piece.Shape, f func(b bubble, r scheduler.Request, rows, others []scheduler.Token)) {
	table := piece.NewTable()
	p, other := schedulertest.NewPiece("a", shape), schedulertest.NewPiece("b", shape)
	r := show(t, table, 0, p)
	others := must.Get(table.Add(other))(t)
	c := scheduler.Config{Slots: 8, Pieces: table}
	inBubble(t, scheduler.Limits{}, c, func(b bubble) { f(b, r, r.Prompt[1].Tokens, others) }, func(b *schedulertest.Backend) { b.Pieces = table })
}

// The branches of a program have the pictures of its request, also more of them, and share what is
// computed of those.
func TestProgram_Pieces_InBranches(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			withPictures(t, shape, func(b bubble, r scheduler.Request, rows, _ []scheduler.Token) {
				before := b.host.Tokens
				main := func(run *program.Run) error {
					root, err := run.Open(run.Prompt())
					if err != nil {
						return err
					}
					if err := root.Append(rows, true); err != nil { // the picture again
						return err
					}
					branches := []*program.Branch{root}
					for i := range 3 {
						fork, err := root.Fork()
						if err != nil {
							return err
						}
						if err := fork.Append([]program.Token{program.Token(3 + i), 9}, true); err != nil {
							return err
						}
						branches = append(branches, fork)
					}
					return b.checkForks(run, branches[1:], rows)
				}
				if a := b.read(submit(t, b.Scheduler, writtenOf(r, 4, main))); a.end.Err != nil {
					t.Fatal(a.end.Err)
				}
				if got, want := b.host.Tokens-before, 25+2*shape.Rows+3*2; got > want+3*shape.Rows || got < want {
					t.Errorf("%d tokens computed, not %d", got, want)
				}
			})
		})
	}
}

// checkForks checks that branches which part after a picture say what the model says, and have
// scores where there can be any.
func (b bubble) checkForks(run *program.Run, forks []*program.Branch, rows []scheduler.Token) error {
	if _, err := run.Wait(1, false, forks...); err != nil {
		return err
	}
	for _, f := range forks {
		n := len(f.Tokens())
		if best, err := f.Best(1); err != nil || best.IDs[0] != b.says(f.Tokens()) {
			return errors.Join(err, fmt.Errorf("a fork says %v, the model %d", best.IDs, b.says(f.Tokens())))
		}
		scores, err := f.Scores(n - 2 - len(rows))
		if err != nil {
			return err
		}
		for i, s := range scores {
			if known := s == s; known != (i == len(scores)-1) { // nothing is said of rows, nor after the last one
				return fmt.Errorf("the score of token %d of %d is %v", i, len(scores), s)
			}
		}
		if err := f.Cut(n - 2 - len(rows)); err != nil {
			return err
		}
	}
	_, err := run.Wait(1, false, forks...)
	return err
}

// What would cut a picture, or is none of the request's, is an error of that call and changes
// nothing.
func TestProgram_Pieces_AreNotCut(t *testing.T) {
	withPictures(t, causal, func(b bubble, r scheduler.Request, rows, others []scheduler.Token) {
		main := func(run *program.Run) error {
			root, err := run.Open(run.Prompt())
			if err != nil {
				return err
			}
			n := len(root.Tokens())
			for name, call := range map[string]func() error{
				"a part":       func() error { return root.Append(rows[:10], false) },
				"the end":      func() error { return root.Append(rows[10:], false) },
				"another's":    func() error { return root.Append(others, false) },
				"unknown":      func() error { return root.Append([]program.Token{-1}, false) },
				"open":         func() error { _, err := run.Open(others); return err },
				"cut":          func() error { return root.Cut(30) },
				"ends on it":   func() error { _, err := run.Wait(0, false, mustOpen(run, rows)); return err },
				"runs on it":   func() error { return mustOpen(run, rows).Run(greedy(false), 3, false) },
				"shown":        func() error { return showTokens(run, rows) },
				"adopted":      func() error { return run.Adopt(0, mustOpen(run, append(slices.Clone(rows), 1)), 10) },
				"prompt of it": func() error { return run.Adopt(0, mustOpen(run, append(slices.Clone(rows), 1)), len(rows)) },
			} {
				if err := call(); !errors.Is(err, program.ErrMisuse) {
					t.Errorf("%s: %v", name, err)
				}
				if len(root.Tokens()) != n {
					t.Errorf("%s: the branch has %d tokens, and had %d", name, len(root.Tokens()), n)
				}
			}
			if err := root.Cut(20); err != nil {
				return err
			}
			favourite, err := favourite(run, root)
			if want := b.says(root.Tokens()); err == nil && favourite != want {
				t.Errorf("before the picture %d, the model says %d", favourite, want)
			}
			return err
		}
		if a := b.read(submit(t, b.Scheduler, writtenOf(r, 8, main))); a.end.Err != nil {
			t.Error(a.end.Err)
		}
	})
}

// mustOpen opens a branch.
func mustOpen(run *program.Run, tokens []program.Token) *program.Branch {
	b, err := run.Open(tokens)
	if err != nil {
		panic(err)
	}
	return b
}

// An answer that goes on from a program's branch has the pictures of that.
func TestProgram_Adopt_GoesOnWithPictures(t *testing.T) {
	withPictures(t, square, func(b bubble, r scheduler.Request, rows, _ []scheduler.Token) {
		tokens := append(slices.Concat([]scheduler.Token{5, 6}, rows, rows), 7, 8)
		r.MaxTokens = 20
		adopts := r
		adopts.Program = &program.Program{Branches: 1, Main: func(run *program.Run) error {
			branch, err := run.Open(tokens)
			if err != nil {
				return err
			}
			return run.Adopt(0, branch, len(tokens))
		}}
		a := b.read(submit(t, b.Scheduler, adopts))
		if want := b.host.GoesOn(tokens, 20); !slices.Equal(a.tokens, want) || a.end.Reason != answer.ReasonLength {
			t.Errorf("%v, the model says %v: %+v", a.tokens, want, a.end)
		}
	})
}
