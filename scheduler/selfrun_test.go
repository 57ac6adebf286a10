// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// greedy is a chain that takes the most likely token; a slow one needs a background sampler.
func greedy(slow bool) *program.Chain {
	return program.NewChain(func(uint64, int) ([]chain.Stage, error) {
		if slow {
			return []chain.Stage{schedulertest.Sampled{}}, nil
		}
		return []chain.Stage{schedulertest.Greedy{}}, nil
	})
}

// ran says what is wrong with a branch that has gone on from some tokens by itself.
func (b bubble) ran(of *program.Branch, from []program.Token, n int, end program.State) error {
	want := b.host.GoesOn(from, n)
	if i := slices.Index(want, schedulertest.EndToken); i >= 0 {
		want = want[:i]
	}
	if got := of.Tokens()[len(from):]; !slices.Equal(got, want) || of.State() != end {
		return fmt.Errorf("%d tokens, state %d; want %d, %d", len(got), of.State(), len(want), end)
	}
	return nil
}

// A branch that goes on by itself writes what an answer would, drawn by the backend or by a
// background sampler, beside others, with the scores of its tokens, and says how it ended.
func TestProgram_Run_WritesWhatAnAnswerDoes(t *testing.T) {
	for name, slow := range map[string]bool{"the backend draws": false, "background samplers draw": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 5}, func(b bubble) {
				neighbour := submit(t, b.Scheduler, request(50, 2, 60))
				st := submit(t, b.Scheduler, written(100, 1, 4, func(r *program.Run) error { return b.runSome(r, greedy(slow)) }))
				if a := b.read(st); a.end.Err != nil || a.end.Usage.Generated != 25 {
					t.Errorf("it shows %d tokens: %v", a.end.Usage.Generated, a.end.Err)
				}
				synctest.Wait() // no pass is under way
				if n := b.host.Passes; n > 100 {
					t.Errorf("%d passes", n)
				}
				if other := b.read(neighbour); other.text != alone(t, request(50, 2, 60)).text {
					t.Error("a neighbour's answer is another")
				}
			}, func(b *schedulertest.Backend) { b.End = 140 })
		})
	}
}

func (b bubble) runSome(r *program.Run, c *program.Chain) error {
	root, err := r.Open(r.Prompt())
	if err != nil {
		return err
	}
	forks := make([]*program.Branch, 3)
	for i := range forks {
		if forks[i], err = root.Fork(); err != nil {
			return err
		}
		if err := errors.Join(forks[i].Append([]program.Token{program.Token(10 + i)}, i == 0), forks[i].Run(c, 25, i == 0)); err != nil {
			return err
		}
		if forks[i].State() != program.Running {
			return fmt.Errorf("state %d", forks[i].State())
		}
	}
	if err := root.Run(c, 100, true); err != nil { // to the end of the model
		return err
	}
	for _, err := range []error{root.Append([]program.Token{1}, false), root.Cut(1), root.Run(c, 1, false), func() error { _, err := root.Fork(); return err }()} {
		if !errors.Is(err, program.ErrMisuse) {
			return fmt.Errorf("done to a branch that runs: %w", err)
		}
	}
	if ready, err := r.Wait(0, false, append(forks, root)...); err != nil || len(ready) != 4 {
		return fmt.Errorf("%d have run: %w", len(ready), err)
	}
	err = b.ran(root, r.Prompt(), 100, program.Ended)
	for i, f := range forks {
		err = errors.Join(err, b.ran(f, append(slices.Clone(r.Prompt()), program.Token(10+i)), 25, program.Ran))
	}
	scores, err2 := forks[0].Scores(100)
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	for i, score := range scores {
		if (score > -1) != (i > 0) { // the first was appended
			return fmt.Errorf("the scores are %v", scores)
		}
	}
	// Afterwards it can be waited for, go on, and draw.
	if _, err := r.Wait(1, false, forks[0]); err != nil {
		return err
	}
	t, err := forks[0].Sample(c)
	if want := b.says(forks[0].Tokens()); err != nil || t != want {
		return fmt.Errorf("token %d is drawn, want %d: %w", t, want, err)
	}
	from := slices.Clone(forks[0].Tokens())
	if err := forks[0].Run(c, 3, false); err != nil { // the first from the row
		return err
	}
	if _, err := r.Wait(0, false, forks[0]); err != nil {
		return err
	}
	return errors.Join(b.ran(forks[0], from, 3, program.Ran), showTokens(r, forks[1].Tokens()[101:]))
}

// One of several runs may be enough; those that are closed stop, and give back what they have not
// used.
func TestProgram_Run_AnyAndClosed(t *testing.T) {
	for name, slow := range map[string]bool{"the backend draws": false, "background samplers draw": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 3}, func(b bubble) {
				r := written(20, 1, 3, func(r *program.Run) error {
					var all []*program.Branch
					for i := range 3 {
						one, err := r.Open(prompt(20+i, i)[0].Tokens)
						if err != nil {
							return err
						}
						if err := one.Run(greedy(slow), 10+20*i, false); err != nil {
							return err
						}
						all = append(all, one)
					}
					ready, err := r.Wait(0, true, all...)
					if err != nil || len(ready) != 1 || ready[0] != all[0] || all[1].State() != program.Running {
						return fmt.Errorf("%d are ready: %w", len(ready), err)
					}
					all[2].Close()
					if _, err := r.Wait(0, false); err != nil { // the tick learns of it
						return err
					}
					if ready, err = r.Wait(0, false, all[1]); err != nil || len(ready) != 1 {
						return fmt.Errorf("%d are ready: %w", len(ready), err)
					}
					return b.ran(all[1], prompt(21, 1)[0].Tokens, 30, program.Ran)
				})
				if a := b.read(submit(t, b.Scheduler, r)); a.end.Err != nil {
					t.Error(a.end.Err)
				} else if n := a.end.Usage.Branches; n > 20+21+22+10+30+13 {
					t.Errorf("%d tokens were put into branches", n)
				}
			})
		})
	}
}

// What a run has no room for is not drawn, and what was not drawn is not charged.
func TestProgram_Run_Bounds(t *testing.T) {
	inBubble(t, scheduler.Limits{Context: 64}, scheduler.Config{Slots: 2}, func(b bubble) {
		r := written(20, 1, 2, func(r *program.Run) error {
			root, err := r.Open(r.Prompt())
			if err != nil {
				return err
			}
			if err := root.Run(greedy(false), 1000, false); err != nil {
				return err
			}
			if _, err := r.Wait(0, false, root); err != nil {
				return err
			}
			if n := len(root.Tokens()); n != 50 || root.State() != program.Ran {
				return fmt.Errorf("%d tokens, state %d", n, root.State())
			}
			if err := root.Run(greedy(false), 1, false); !errors.Is(err, program.ErrBudget) {
				return fmt.Errorf("without budget: %w", err)
			}
			return nil
		})
		r.Program.Tokens = 50
		if a := b.read(submit(t, b.Scheduler, r)); a.end.Err != nil {
			t.Error(a.end.Err)
		}
	})
}

// A chain whose stage fails ends the request alone; one that leaves no token ends the run.
func TestProgram_Run_Fails(t *testing.T) {
	failing := func(err error) *program.Chain {
		return program.NewChain(func(uint64, int) ([]chain.Stage, error) { return []chain.Stage{fails{err: err}}, nil })
	}
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 2}, func(b bubble) {
		run := func(c *program.Chain) received {
			return b.read(submit(t, b.Scheduler, written(20, 1, 2, func(r *program.Run) error {
				root, err := r.Open(r.Prompt())
				if err != nil {
					return err
				}
				if err := root.Run(c, 10, false); err != nil {
					return err
				}
				if _, err := r.Wait(0, false, root); err != nil {
					return err
				}
				if root.State() != program.Stuck || len(root.Tokens()) != 20 {
					return fmt.Errorf("state %d after %d tokens", root.State(), len(root.Tokens()))
				}
				return nil
			})))
		}
		if a := run(failing(chain.ErrNoToken)); a.end.Err != nil {
			t.Errorf("without a token: %v", a.end.Err)
		}
		failed := errors.New("it has failed")
		if a := run(failing(failed)); a.end.Reason != answer.ReasonError || !errors.Is(a.end.Err, failed) {
			t.Errorf("with an error: %v", a.end.Err)
		}
	})
}

// fails is a stage that draws nothing.
type fails struct {
	schedulertest.Sampled
	err error
}

// Apply implements chain.Stage.
func (f fails) Apply(*chain.View) error { return f.err }

// unsound is a backend whose native draws fail for one kind of stage, and take long for another.
type unsound struct{ *schedulertest.Machine }

type (
	failing struct{ schedulertest.Greedy }
	lengthy struct{ schedulertest.Greedy }
)

var errDraw = errors.New("the backend cannot draw")

func (u unsound) SampleRows(draws []scheduler.Draw) {
	u.Machine.SampleRows(draws)
	for i := range draws {
		switch draws[i].Stage.(type) {
		case failing:
			draws[i].Token, draws[i].Err = -1, errDraw
		case lengthy:
			draws[i].Token, draws[i].Err = -1, chain.ErrSlow
		}
	}
}

// A branch whose draw fails ends its program. Another of its branches whose token was drawn in the
// same call, or takes long, is left alone then: nothing of it runs on when the scheduler ends.
func TestProgram_Run_DrawFails_BesideOthers(t *testing.T) {
	of := func(s chain.Stage) *program.Chain {
		return program.NewChain(func(uint64, int) ([]chain.Stage, error) { return []chain.Stage{s}, nil })
	}
	for name, other := range map[string]chain.Stage{"drawn": schedulertest.Greedy{}, "slow": lengthy{}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				backend := schedulertest.New(scheduler.Limits{})
				host := schedulertest.NewMachine(backend, 2)
				s, err := scheduler.New(unsound{host}, scheduler.Config{Slots: 4})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { _ = s.Run(ctx) })
				st := submit(t, s, written(20, 1, 2, func(r *program.Run) error {
					first, err := r.Open(r.Prompt())
					if err != nil {
						return err
					}
					second, err := r.Open(r.Prompt())
					if err != nil {
						return err
					}
					if err := errors.Join(first.Run(of(failing{}), 5, false), second.Run(of(other), 5, false)); err != nil {
						return err
					}
					_, err = r.Wait(2, false, first, second)
					return err
				}))
				if a := (bubble{t, s, host}).read(st); !errors.Is(a.end.Err, errDraw) {
					t.Errorf("it ends with %v", a.end.Err)
				}
				stop()
				running.Wait() // where something runs on, the bubble says so
			})
		})
	}
}
