// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// drawn is a tree as a reader of its entries draws it.
type drawn struct {
	testing.TB
	branches []drawnBranch
	chosen   program.Grown
	leftOut  int
}

type drawnBranch struct {
	tokens  []program.Token // those of its parents included
	logs    []float32       // of all but those that it was opened with
	score   float64
	dropped bool
}

// add reads entries, each of which must go on from those before.
func (d *drawn) add(b *scheduler.Branches, prompt []program.Token) {
	d.leftOut = b.LeftOut
	for _, g := range b.Grown {
		switch {
		case g.Chosen > 0:
			d.chosen = g
			continue
		case g.First && g.Branch != len(d.branches)+1 || !g.First && g.Branch > len(d.branches) || g.Parent >= g.Branch || len(g.Tokens) != len(g.Logprobs):
			d.Fatalf("after %d branches comes %+v", len(d.branches), g)
		case g.First && g.Parent == 0:
			d.branches = append(d.branches, drawnBranch{tokens: slices.Clone(prompt[:min(g.At, len(prompt))])})
		case g.First:
			p := &d.branches[g.Parent-1]
			d.branches = append(d.branches, drawnBranch{tokens: slices.Clone(p.tokens[:g.At]), logs: slices.Clone(p.logs[:max(0, g.At-len(prompt))])})
		}
		of := &d.branches[g.Branch-1]
		if of.dropped {
			d.Fatalf("branch %d was dropped before %+v", g.Branch, g)
		}
		of.tokens, of.logs = append(of.tokens, g.Tokens...), append(of.logs, g.Logprobs...)
		if g.Score != nil {
			of.score = *g.Score
		}
		of.dropped = g.Dropped
	}
}

// draw reads an answer, and draws its tree. At no time more is told than there may be.
func (b bubble) draw(st *scheduler.Stream, prompt []program.Token) (d drawn, a received) {
	d.TB = b.T
	a = b.read(st)
	for i, e := range a.events {
		if e.Kind != scheduler.KindBranches {
			continue
		}
		n := 0
		for _, g := range e.Branches.Grown {
			n += len(g.Tokens)
		}
		if n > 1024 || len(e.Branches.Grown) > 256 {
			b.Errorf("event %d has %d tokens and %d entries", i, n, len(e.Branches.Grown))
		}
		d.add(e.Branches, prompt)
	}
	return d, a
}

// wanderer is a program that forks, cuts, closes and grows branches at random, and notes what a
// tree of them has.
type wanderer struct {
	bubble
	*program.Run
	draw func(n int) int
	live []*program.Branch
	ends [][]program.Token // of branches that were closed, or cut
}

func (w *wanderer) step() error {
	i := w.draw(len(w.live))
	l := w.live[i]
	switch n := len(l.Tokens()); w.draw(5) {
	case 0:
		if len(w.live) > 1 {
			w.ends = append(w.ends, slices.Clone(l.Tokens()))
			l.Close()
			w.live = slices.Delete(w.live, i, i+1)
		}
	case 1:
		f, err := l.Fork()
		if errors.Is(err, program.ErrNoBranch) {
			return nil
		}
		w.live = append(w.live, f)
		return err
	case 2:
		if n > len(w.Prompt())+1 {
			w.ends = append(w.ends, slices.Clone(l.Tokens()))
			return l.Cut(n - 1 - w.draw(n-len(w.Prompt())-1))
		}
	default:
		tokens := make([]program.Token, 1+w.draw(3))
		for k := range tokens {
			tokens[k] = program.Token(w.draw(50))
		}
		if l.Ready() && w.draw(2) == 0 { // as the model says
			best, err := l.Best(1)
			if err != nil {
				return err
			}
			tokens[0] = best.IDs[0]
		}
		return l.Append(tokens, w.draw(2) == 0)
	}
	return nil
}

// What is told of the branches of a program is the tree that it has grown: each branch has its
// tokens, its log-probabilities are the model's, and what was closed or cut back is dropped.
func TestProgram_Trace_IsTheTree(t *testing.T) {
	random := steadytest.Rand(t)
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 6}, func(b bubble) {
		w := &wanderer{bubble: b, draw: random.IntN}
		r := written(20, 1, 6, func(r *program.Run) error {
			root, err := r.Open(r.Prompt())
			if err != nil {
				return err
			}
			w.Run, w.live = r, []*program.Branch{root}
			for range 60 {
				for range w.draw(4) {
					if err := w.step(); err != nil {
						return err
					}
				}
				if _, err := r.Wait(1, false, w.live...); err != nil {
					return err
				}
			}
			return nil
		})
		r.Trace = 1
		st := submit(t, b.Scheduler, r)
		d, a := b.draw(st, r.Prompt[0].Tokens)
		if a.end.Err != nil || d.leftOut != 0 {
			t.Fatalf("%v, %d tokens are left out", a.end.Err, d.leftOut)
		}
		var live, dropped [][]program.Token
		for i := range d.branches {
			if of := &d.branches[i]; of.dropped {
				dropped = append(dropped, of.tokens)
			} else {
				live = append(live, of.tokens)
			}
			b.checkLogs(i+1, &d.branches[i], 20)
		}
		var want [][]program.Token
		for _, l := range w.live {
			want = append(want, l.Tokens())
		}
		same(t, "that live", live, want)
		same(t, "that were dropped", dropped, w.ends)
	})
}

// same compares lists in any order.
func same(t *testing.T, what string, got, want [][]program.Token) {
	t.Helper()
	slices.SortFunc(got, slices.Compare[[]program.Token])
	slices.SortFunc(want, slices.Compare[[]program.Token])
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("branches %s: %v, want %v", what, got, want)
	}
}

// checkLogs compares the log-probabilities that a branch of a prompt was told with, as far as
// there are any. Of the rows of this model one logit is 10 and all others are 0.
func (b bubble) checkLogs(number int, of *drawnBranch, prompt int) {
	row := make([]float32, b.host.Limits().Vocabulary)
	row[0] = 10
	sum, score := program.Portable{}.Summarize(row, nil, nil).LogSum, 0.0
	for i, l := range of.logs {
		want := -sum
		if b.says(of.tokens[:prompt+i]) == of.tokens[prompt+i] {
			want += 10
		}
		switch {
		case l != l: // not told: it was not known then
		case math.Abs(float64(l-want)) > 1e-5:
			b.Errorf("branch %d: token %d has the log-probability %v, want %v", number, i, l, want)
		default:
			score += float64(l)
		}
	}
	if of.score > score+1e-4 { // scores that are known later than their tokens are told are in the sum alone
		b.Errorf("branch %d: the score is %v, and its log-probabilities are %v together", number, of.score, score)
	}
}

// What was shown is told as the first tokens of a branch; and an answer without a trace is told
// nothing.
func TestProgram_Trace_TellsWhatWasChosen(t *testing.T) {
	for name, trace := range map[string]int{"with a trace": 1, "without": 0} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 4}, func(b bubble) {
				r := written(20, 1, 2, func(r *program.Run) error {
					root, err := r.Open(r.Prompt())
					if err != nil {
						return err
					}
					other, err := root.Fork()
					if err != nil {
						return err
					}
					err = errors.Join(root.Append([]program.Token{3, 4}, false), other.Append([]program.Token{3, 5, 6}, false))
					if err != nil {
						return err
					}
					if _, err := r.Wait(0, false, root, other); err != nil {
						return err
					}
					other.Close()
					return showTokens(r, []program.Token{3, 5})
				})
				r.Trace = trace
				d, a := b.draw(submit(t, b.Scheduler, r), r.Prompt[0].Tokens)
				if a.text != " 3 5" {
					t.Errorf("%q", a.text)
				}
				if c := d.chosen; trace > 0 && (c.Branch != 2 || c.Chosen != 22 || c.Choice != 0) || trace == 0 && len(d.branches) > 0 {
					t.Errorf("%+v is chosen of %+v", c, d.branches)
				}
			})
		})
	}
}

// A program that grows more than is told is cut off, and the reader learns how much is missing.
func TestProgram_Trace_IsBounded(t *testing.T) {
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 4}, func(b bubble) {
		const forks = 5000
		r := written(20, 1, 2, func(r *program.Run) error {
			root, err := r.Open(r.Prompt())
			for i := 0; i < forks && err == nil; i++ {
				var f *program.Branch
				if f, err = root.Fork(); err == nil {
					err = f.Append([]program.Token{1, 2, 3}, false)
					f.Close()
				}
			}
			return err
		})
		r.Trace, r.Program.Tokens = 1, 100_000
		d, a := b.draw(submit(t, b.Scheduler, r), r.Prompt[0].Tokens)
		if a.end.Err != nil {
			t.Fatal(a.end.Err)
		}
		if told := len(d.branches) - 1; told != 4095 || d.leftOut != 3*(forks-told) {
			t.Errorf("%d branches are told, %d tokens are left out", told, d.leftOut)
		}
	})
}

// What a correct program can meet, and what only a wrong one does, are errors, which leave all as
// it was.
func TestProgram_Errors(t *testing.T) {
	inBubble(t, scheduler.Limits{Cells: 256}, scheduler.Config{Slots: 3}, func(b bubble) {
		r := written(10, 1, 2, func(r *program.Run) error {
			root, err := r.Open(r.Prompt())
			if err != nil {
				return err
			}
			fork, err := root.Fork()
			if err != nil {
				return err
			}
			_, other := root.Fork()
			_, empty := r.Open(nil)
			_, row := root.Best(1)
			_, many := r.Wait(257, false, root)
			for name, c := range map[string]struct{ got, want error }{
				"a third branch":           {other, program.ErrNoBranch},
				"no token":                 {empty, program.ErrMisuse},
				"no row":                   {row, program.ErrMisuse},
				"more than the vocabulary": {many, program.ErrMisuse},
				"the context":              {root.Append(make([]program.Token, 300), false), program.ErrContextFull},
				"the budget":               {root.Append(make([]program.Token, 41), false), program.ErrBudget},
				"a token":                  {root.Append([]program.Token{256}, false), program.ErrMisuse},
				"a cut":                    {root.Cut(11), program.ErrMisuse},
				"shown":                    {showTokens(r, []program.Token{-1}), program.ErrMisuse},
				"log-probabilities":        {showScored(r, []program.Token{1}, []float32{0, 0}), program.ErrMisuse},
			} {
				if !errors.Is(c.got, c.want) {
					t.Errorf("%s: %v, want %v", name, c.got, c.want)
				}
			}
			fork.Close()
			if _, err := r.Wait(0, false, root, fork); !errors.Is(err, program.ErrMisuse) {
				t.Errorf("waiting for what is closed: %v", err)
			}
			if _, err := favourite(r, root); err != nil {
				return err
			}
			return errors.New("enough")
		})
		r.Program.Tokens = 50
		if a := b.read(submit(t, b.Scheduler, r)); a.end.Reason != answer.ReasonError || a.end.Err == nil || a.text != "" {
			t.Errorf("it ended as %v: %v", a.end.Reason, a.end.Err)
		}
	})
}

// What cannot go with a program is refused before anything is queued.
func TestScheduler_Submit_RefusesWhatNoProgramCanHave(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{Slots: 4, QueueLimit: 2})
	for name, change := range map[string]func(*scheduler.Request){
		"no branches":       func(r *scheduler.Request) { r.Program.Branches = 0 },
		"too many branches": func(r *scheduler.Request) { r.Program.Branches = 5 },
		"a slot":            func(r *scheduler.Request) { r.Slot = new(int) },
		"a shift":           func(r *scheduler.Request) { r.Shift = &answer.Shift{} },
		"begun":             func(r *scheduler.Request) { r.Begun = answer.Begun{Tokens: []scheduler.Token{1}} },
		"a judged prompt":   func(r *scheduler.Request) { r.PromptLogprobs = true },
		"no answer":         func(r *scheduler.Request) { r.NoAnswer = true },
	} {
		r := written(10, 1, 2, greedily(1))
		change(&r)
		if _, err := s.Submit(r); !errors.Is(err, scheduler.ErrBadRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range 3 { // each counts as two: four slots and a queue of two
		if _, err := s.Submit(written(10, 1, 2, greedily(1))); err != nil {
			t.Errorf("program %d: %v", i, err)
		}
	}
	if _, err := s.Submit(request(1, 1, 1)); !errors.Is(err, scheduler.ErrQueueFull) {
		t.Errorf("behind three programs of two branches: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := s.Run(ctx); err != nil {
		t.Error(err)
	}
}

// What is computed for a program is bounded by its tokens, also where it adds none: the row of a
// fork counts, and that after a cut. A row that is there, and that of a token which was added, do
// not.
func TestProgram_Wait_RowsCountAsTokens(t *testing.T) {
	for name, again := range map[string]func(root, fork *program.Branch) error{
		"forks": func(root, fork *program.Branch) error { return nil },
		"cuts":  func(root, fork *program.Branch) error { return fork.Cut(len(fork.Tokens()) - 1) },
	} {
		inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 2}, func(b bubble) {
			rows := 0
			r := written(10, 1, 2, func(r *program.Run) error {
				root, err := r.Open(r.Prompt())
				if err != nil {
					return err
				}
				for {
					fork, err := root.Fork()
					if err != nil {
						return err
					}
					if err := again(root, fork); err != nil {
						return err
					}
					for range 2 { // the second is there
						if _, err := r.Wait(0, false, fork); err != nil {
							return err
						}
					}
					rows++
					fork.Close()
				}
			})
			r.Program.Tokens = 17
			if a := b.read(submit(t, b.Scheduler, r)); !errors.Is(a.end.Err, program.ErrBudget) || rows != 7 || a.end.Usage.Branches != 17 {
				t.Errorf("%s: %d rows of %d tokens, then %v", name, rows, a.end.Usage.Branches, a.end.Err)
			}
		})
	}
}

// A program is at work when its request is cancelled: what it does then is its own, and the end
// tells what the tick knew of it.
func TestProgram_Cancel_AtWork(t *testing.T) {
	s := must.Get(scheduler.New(schedulertest.New(scheduler.Limits{}), scheduler.Config{Slots: 2}))(t)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = s.Run(ctx) })
	busy := make(chan struct{})
	st := submit(t, s, written(10, 1, 2, func(r *program.Run) error {
		root, err := r.Open(r.Prompt())
		if err != nil {
			return err
		}
		if _, err := favourite(r, root); err != nil {
			return err
		}
		close(busy)
		for !errors.Is(err, program.ErrOver) {
			var fork *program.Branch
			if fork, err = root.Fork(); err == nil {
				err = errors.Join(fork.Append([]program.Token{1, 2}, true), showTokens(r, []program.Token{3}))
				fork.Close()
			}
		}
		return err
	}))
	<-busy
	st.Cancel()
	var a received
	for e := range schedulertest.Events(t.Context(), st) {
		a.take(e)
	}
	if a.end.Reason != answer.ReasonCancelled || a.end.Usage.Branches != 10 {
		t.Errorf("ended as %v with %d tokens in branches", a.end.Reason, a.end.Usage.Branches)
	}
	stop()
	running.Wait()
}

// leisurely is a grammar that allows all tokens, and takes its time to say so.
type leisurely struct{ asked *atomic.Int32 }

func (p leisurely) Mask(mask []uint32) error {
	p.asked.Add(1)
	time.Sleep(time.Millisecond) // others go on
	for i := range mask {
		mask[i] = 1<<32 - 1
	}
	return nil
}

func (p leisurely) After(program.Token) (program.GrammarState, bool) { return p, true }

// A branch that is waited for several times at once is one branch: one goroutine finds what its
// row says, and changes it.
func TestProgram_Wait_SameBranchTwice(t *testing.T) {
	inBubble(t, scheduler.Limits{Vocabulary: 1 << 14}, scheduler.Config{Slots: 4}, func(b bubble) {
		asked := &atomic.Int32{}
		st := submit(t, b.Scheduler, written(10, 1, 4, func(r *program.Run) error {
			root, err := r.Open(r.Prompt())
			if err != nil {
				return err
			}
			if err := root.Follow(leisurely{asked}); err != nil {
				return err
			}
			if ready, err := r.Wait(1, false, root, root, root, root); err != nil || len(ready) != 4 || asked.Load() != 1 {
				t.Errorf("%d are ready, and the grammar was asked %d times: %v", len(ready), asked.Load(), err)
			}
			best, err := root.Best(1)
			if want := b.says(root.Tokens()); err == nil && best.IDs[0] != want {
				t.Errorf("it says %d, the model %d", best.IDs[0], want)
			}
			return err
		}))
		if a := b.read(st); a.end.Err != nil {
			t.Error(a.end.Err)
		}
	})
}
