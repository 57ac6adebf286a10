// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

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
	s, err := scheduler.New(schedulertest.New(scheduler.Limits{}), scheduler.Config{Slots: 2})
	if err != nil {
		t.Fatal(err)
	}
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
