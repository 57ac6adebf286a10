// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// gap is the longest time for which one of three streams waited for a token, while beside runs in
// the same scheduler: on virtual time, so that it is what the scheduler has them wait, and not
// what a busy machine does.
func (b bubble) gap(beside func()) time.Duration {
	var readers sync.WaitGroup
	var longest [3]time.Duration
	for n := range longest {
		st := submit(b.T, b.Scheduler, request(50, 2+n, 200))
		readers.Go(func() {
			var last time.Time
			for e := range schedulertest.Events(b.Context(), st) {
				if e.Kind != scheduler.KindToken {
					continue
				}
				if now := time.Now(); !last.IsZero() {
					longest[n] = max(longest[n], now.Sub(last))
				}
				last = time.Now()
			}
		})
	}
	beside()
	readers.Wait()
	return max(longest[0], longest[1], longest[2])
}

// hostilePrograms are programs that do something for as long as they are let.
func hostilePrograms() map[string]func(r *program.Run, root *program.Branch) error {
	forked := func(f func(fork *program.Branch) error) func(r *program.Run, root *program.Branch) error {
		return func(_ *program.Run, root *program.Branch) error {
			fork, err := root.Fork()
			if err != nil {
				return err
			}
			defer fork.Close()
			return f(fork)
		}
	}
	waits := func(r *program.Run, branches ...*program.Branch) error {
		_, err := r.Wait(1, false, branches...)
		return err
	}
	return map[string]func(r *program.Run, root *program.Branch) error{
		"waits for nothing": func(r *program.Run, _ *program.Branch) error { return waits(r) },
		"waits for what is ready": func(r *program.Run, root *program.Branch) error {
			return waits(r, root, root, root)
		},
		"has rows of forks": func(r *program.Run, root *program.Branch) error {
			return forked(func(fork *program.Branch) error {
				return errors.Join(fork.Append([]program.Token{1, 2}, true), waits(r, fork), fork.Cut(len(fork.Tokens())-1), waits(r, fork))
			})(r, root)
		},
		"opens prompts": func(r *program.Run, _ *program.Branch) error {
			b, err := r.Open(prompt(200, int(time.Now().UnixMicro()%97))[0].Tokens)
			if err != nil {
				return err
			}
			defer b.Close()
			return waits(r, b)
		},
		"runs and closes": func(r *program.Run, root *program.Branch) error {
			return forked(func(fork *program.Branch) error {
				return errors.Join(fork.Run(greedy(false), 50, false), waits(r))
			})(r, root)
		},
		"thinks": func(r *program.Run, root *program.Branch) error {
			time.Sleep(300 * time.Millisecond)
			return errors.Join(root.Append([]program.Token{1}, false), waits(r, root))
		},
		"never waits": func(r *program.Run, root *program.Branch) error {
			time.Sleep(time.Millisecond)
			err := forked(func(fork *program.Branch) error { return fork.Append([]program.Token{1}, true) })(r, root)
			if errors.Is(err, program.ErrBudget) {
				return waits(r)
			}
			return err
		},
	}
}

// What a program does, others do not wait for longer than for an ordinary answer: the longest gap
// of three streams beside two hostile programs is within 1.5 times that beside two answers to
// prompts as long, or 20 ms more. Their texts are what they were.
func TestProgram_Hostile_HoldsUpNobody(t *testing.T) {
	c := scheduler.Config{Slots: 8}
	var ordinary time.Duration
	inBubble(t, scheduler.Limits{}, c, func(b bubble) {
		ordinary = b.gap(func() {
			for i := range 10 { // each with a prompt of its own
				one, other := submit(t, b.Scheduler, request(200, 10+2*i, 1)), submit(t, b.Scheduler, request(200, 11+2*i, 1))
				b.read(one)
				b.read(other)
			}
		})
	})
	for name, again := range hostilePrograms() {
		t.Run(name, func(t *testing.T) {
			inBubble(t, scheduler.Limits{}, c, func(b bubble) {
				got := b.gap(func() {
					var both []*scheduler.Stream
					for seed := range 2 {
						r := written(200, 7+seed, 2, func(r *program.Run) error {
							root, err := r.Open(r.Prompt())
							for err == nil {
								err = again(r, root)
								if _, waited := r.Wait(1, false, root); err == nil {
									err = waited
								}
							}
							if errors.Is(err, program.ErrBudget) || errors.Is(err, program.ErrContextFull) {
								err = nil
							}
							return err
						})
						r.Deadline = time.Now().Add(1500 * time.Millisecond)
						both = append(both, submit(t, b.Scheduler, r))
					}
					for _, st := range both {
						if a := b.read(st); a.end.Err != nil && !errors.Is(a.end.Err, scheduler.ErrDeadline) {
							t.Error(a.end.Err)
						}
					}
				})
				if allowed := max(ordinary*3/2, ordinary+20*time.Millisecond); got > allowed {
					t.Errorf("a gap of %v; beside ordinary answers it is %v", got, ordinary)
				}
			})
		})
	}
}
