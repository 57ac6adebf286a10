// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// bubble is a scheduler that runs in a bubble of testing/synctest.
type bubble struct {
	*testing.T
	*scheduler.Scheduler
	host *schedulertest.Machine
}

// inBubble runs a scheduler in a bubble until f returns. A pass takes 10 ms and 100 µs a token.
func inBubble(t *testing.T, l scheduler.Limits, c scheduler.Config, f func(b bubble), with ...func(*schedulertest.Backend)) {
	synctest.Test(t, func(t *testing.T) {
		backend := schedulertest.New(l)
		for _, change := range with {
			change(backend)
		}
		backend.Cost = func(n, _ int) time.Duration { return 10*time.Millisecond + time.Duration(n)*100*time.Microsecond }
		host := schedulertest.NewMachine(backend, 2)
		s, err := scheduler.New(host, c)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = s.Run(ctx) })
		f(bubble{t, s, host})
		stop()
		running.Wait()
	})
}

// read reads an answer to its end.
func (b bubble) read(st *scheduler.Stream) (a received) {
	for e := range schedulertest.Events(b.Context(), st) {
		a.take(e)
	}
	return a
}

// says is what the model says after some tokens, which the row of a branch must say, too.
func (b bubble) says(tokens []scheduler.Token) scheduler.Token {
	return b.host.GoesOn(tokens, 1)[0]
}

// written is a request whose answer a program writes.
func written(n, seed, branches int, main func(*program.Run) error) scheduler.Request {
	r := request(n, seed, 0)
	r.Chain, r.Program = nil, &program.Program{Main: main, Branches: branches}
	return r
}

// favourite waits for a branch and is its most likely token.
func favourite(r *program.Run, b *program.Branch) (scheduler.Token, error) {
	if _, err := r.Wait(1, false, b); err != nil {
		return 0, err
	}
	best, err := b.Best(1)
	if err != nil {
		return 0, err
	}
	return best.IDs[0], nil
}

// showTokens shows tokens of a program's first choice.
func showTokens(r *program.Run, tokens []program.Token) error { return showScored(r, tokens, nil) }

func showScored(r *program.Run, tokens []program.Token, logprobs []float32) error {
	_, err := r.Show(0, tokens, logprobs)
	return err
}

// greedily shows the n most likely tokens of one branch after the other.
func greedily(n int) func(*program.Run) error {
	return func(r *program.Run) error {
		b, err := r.Open(r.Prompt())
		if err != nil {
			return err
		}
		for range n {
			t, err := favourite(r, b)
			if err != nil {
				return err
			}
			if err := errors.Join(showTokens(r, []program.Token{t}), b.Append([]program.Token{t}, false)); err != nil {
				return err
			}
		}
		return nil
	}
}

// A program that does what a greedy chain does writes the same tokens, beside other requests.
func TestProgram_Greedy_WritesWhatAChainDoes(t *testing.T) {
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 4}, func(b bubble) {
		want := alone(t, request(100, 1, 40))
		neighbour := submit(t, b.Scheduler, request(50, 2, 60))
		st := submit(t, b.Scheduler, written(100, 1, 1, greedily(40)))
		got := b.read(st)
		if got.text != want.text || got.end.Reason != answer.ReasonStop || got.end.Usage.Generated != 40 {
			t.Errorf("%q ended as %v with %+v, want %q", got.text, got.end.Reason, got.end.Usage, want.text)
		}
		if got.end.Usage.Branches != 140 {
			t.Errorf("%d tokens were put into branches", got.end.Usage.Branches)
		}
		if other := b.read(neighbour); other.text != alone(t, request(50, 2, 60)).text {
			t.Error("a neighbour's answer is another")
		}
	})
}

// The branches of a program are computed in one pass, beside everybody else's. Their common prefix
// is computed once, even if all are forked before any is computed; each has its own tokens' rows.
func TestProgram_Forks_ComputeWhatTheyShareOnce(t *testing.T) {
	for name, cuts := range map[string]bool{"a memory that can be cut": true, "recurrent states": false} {
		t.Run(name, func(t *testing.T) {
			c := scheduler.Config{Slots: 4, Checkpoints: kvcache.CheckpointOptions{Most: 8, MinStep: 8192, Bytes: 1 << 20}}
			with := func(b *schedulertest.Backend) { b.Recurrent = !cuts }
			inBubble(t, scheduler.Limits{}, c, func(b bubble) {
				before := b.host.Tokens
				st := submit(t, b.Scheduler, written(300, 1, 4, func(r *program.Run) error { return b.grow(r, 4, 10, cuts) }))
				if a := b.read(st); a.end.Err != nil {
					t.Fatal(a.end.Err)
				}
				synctest.Wait() // no pass is under way
				if n := b.host.Tokens - before; n > 300+4*11 {
					t.Errorf("%d tokens were computed for a prompt of 300 and 4 branches of 10 tokens", n)
				}
				if n := b.host.Passes; n > 20 { // some for the prompt, one for each step, and another where what was just appended is forked
					t.Errorf("%d passes", n)
				}
			}, with)
		})
	}
}

// grow forks a branch before it is computed, and lets each child go on in its own way for some
// steps. In each it closes one and forks another in its place, where it can from before its end.
func (b bubble) grow(r *program.Run, width, steps int, cuts bool) error {
	root, err := r.Open(r.Prompt())
	if err != nil {
		return err
	}
	live := []*program.Branch{root}
	for len(live) < width {
		child, err := root.Fork()
		if err != nil {
			return err
		}
		live = append(live, child)
	}
	for step := range steps {
		for i, l := range live {
			if step > 0 && i == step%width {
				l.Close()
				if l, err = live[(i+1)%width].Fork(); err != nil {
					return err
				}
				if live[i] = l; cuts {
					err = l.Cut(len(l.Tokens()) - 1)
				}
				if err != nil {
					return err
				}
			}
			if err := l.Append([]program.Token{program.Token(10*step + i)}, false); err != nil {
				return err
			}
		}
		ready, err := r.Wait(3, false, live...)
		if err != nil {
			return err
		}
		if len(ready) != width {
			b.Errorf("step %d: %d branches are ready", step, len(ready))
		}
		for i, l := range live {
			best, err := l.Best(3)
			if err != nil {
				return err
			}
			if want := b.says(l.Tokens()); best.IDs[0] != want {
				b.Errorf("step %d: branch %d says %d, the model %d", step, i, best.IDs[0], want)
			}
		}
	}
	return nil
}

// The scores of appended tokens are what the model says of each given those before it: in the
// prompt and after it, of tokens that were appended to a row and to none, and after a cut.
func TestProgram_Scores_AreTheModels(t *testing.T) {
	inBubble(t, scheduler.Limits{Rows: 8, Batch: 64}, scheduler.Config{Slots: 2}, func(b bubble) {
		st := submit(t, b.Scheduler, written(40, 1, 2, func(r *program.Run) error {
			root, err := r.Open(r.Prompt()[:1])
			if err != nil {
				return err
			}
			if err := root.Append(r.Prompt()[1:], true); err != nil {
				return err
			}
			said, err := favourite(r, root)
			if err != nil {
				return err
			}
			b.checkScores(root)
			fork, err := root.Fork()
			if err != nil {
				return err
			}
			err = errors.Join(fork.Append([]program.Token{said, 3, 4}, true), root.Append([]program.Token{5}, false), root.Append([]program.Token{6, 7}, true))
			if err != nil {
				return err
			}
			if _, err := fork.Scores(0); !errors.Is(err, program.ErrMisuse) {
				b.Errorf("scores before the wait: %v", err)
			}
			if _, err := r.Wait(0, false, root, fork); err != nil {
				return err
			}
			b.checkScores(fork)
			if scores, err := root.Scores(40); err != nil || scores[0] == scores[0] || scores[1] != scores[1] || scores[2] != scores[2] {
				b.Errorf("of three tokens the last two were to be scored: %v, %v", scores, err)
			}
			if err := errors.Join(fork.Cut(41), fork.Append([]program.Token{9}, true)); err != nil {
				return err
			}
			if _, err := r.Wait(0, false, fork); err != nil {
				return err
			}
			b.checkScores(fork)
			return nil
		}))
		if a := b.read(st); a.end.Err != nil {
			t.Error(a.end.Err)
		}
	})
}

// checkScores compares all scores of a branch. In each row one logit is 10 and all others are 0.
func (b bubble) checkScores(of *program.Branch) {
	scores, err := of.Scores(1)
	if err != nil {
		b.Error(err)
		return
	}
	row := make([]float32, b.host.Limits().Vocabulary)
	row[0] = 10
	sum := program.Portable{}.Summarize(row, nil, nil).LogSum
	for i, score := range scores {
		tokens := of.Tokens()
		want := -sum
		if b.says(tokens[:i+1]) == tokens[i+1] {
			want += 10
		}
		if d := score - want; d < -1e-5 || d > 1e-5 || d != d {
			b.Errorf("token %d has the score %v, want %v", i+1, score, want)
		}
	}
}

// Where any of several branches is enough, the program goes on with the first, and the others are
// computed meanwhile.
func TestProgram_Wait_ForAny(t *testing.T) {
	inBubble(t, scheduler.Limits{Batch: 32}, scheduler.Config{Slots: 2}, func(b bubble) {
		st := submit(t, b.Scheduler, written(300, 1, 2, func(r *program.Run) error {
			long, err := r.Open(r.Prompt())
			if err != nil {
				return err
			}
			short, err := r.Open([]program.Token{1, 2, 3})
			if err != nil {
				return err
			}
			for done := 0; !long.Ready(); done++ {
				ready, err := r.Wait(1, true, long, short)
				if err != nil {
					return err
				}
				if done == 0 && (len(ready) != 1 || ready[0] != short) || done > 100 {
					b.Errorf("wait %d: %d are ready", done, len(ready))
					return nil
				}
				for _, l := range ready {
					best, err := l.Best(1)
					if err != nil {
						return err
					}
					if want := b.says(l.Tokens()); best.IDs[0] != want {
						b.Errorf("a branch says %d, the model %d", best.IDs[0], want)
					}
					if l == short {
						if err := short.Append(best.IDs, false); err != nil {
							return err
						}
					}
				}
			}
			return nil
		}))
		if a := b.read(st); a.end.Err != nil {
			t.Error(a.end.Err)
		}
	})
}

// A program that has ended by itself, was cancelled or is too late leaves nothing at work, and its
// stages are closed once it has returned.
func TestProgram_End_InterruptsIt(t *testing.T) {
	for name, end := range map[string]func(st *scheduler.Stream){
		"cancelled": func(st *scheduler.Stream) { st.Cancel() },
		"too late":  func(*scheduler.Stream) {},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 4}, func(b bubble) {
				over := make(chan error, 1)
				r := written(10, 1, 2, func(r *program.Run) error {
					err := greedily(1000)(r)
					_, again := r.Open(r.Prompt())
					over <- errors.Join(err, again)
					return err
				})
				if name == "too late" {
					r.Deadline = time.Now().Add(time.Second)
				}
				st := submit(t, b.Scheduler, r)
				time.Sleep(500 * time.Millisecond)
				end(st)
				a := b.read(st)
				if a.end.Reason == answer.ReasonStop || a.text == "" {
					t.Errorf("ended with %v after %q", a.end.Reason, a.text)
				}
				if err := <-over; !errors.Is(err, program.ErrOver) {
					t.Errorf("its calls: %v", err)
				}
				if got := b.read(submit(t, b.Scheduler, request(50, 2, 10))); got.text != alone(t, request(50, 2, 10)).text {
					t.Error("the next answer is another")
				}
			})
		})
	}
}

// A stop string, a limit and an end-of-generation token end what a program writes, as ever.
func TestProgram_Show_EndsAtLimits(t *testing.T) {
	show := func(tokens ...program.Token) func(*program.Run) error {
		return func(r *program.Run) error {
			for {
				if err := showTokens(r, tokens); err != nil {
					return err
				}
				if _, err := r.Wait(0, false); err != nil {
					return err
				}
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*scheduler.Request)
		main   func(*program.Run) error
		text   string
		reason answer.Reason
	}{
		"max tokens":        {func(r *scheduler.Request) { r.MaxTokens = 5 }, show(7, 8), " 7 8 7 8 7", answer.ReasonLength},
		"a stop string":     {func(r *scheduler.Request) { r.Stop = []string{"8 7"} }, show(7, 8), " 7 ", answer.ReasonStop},
		"end of generation": {func(*scheduler.Request) {}, show(7, 8, schedulertest.EndToken, 9), " 7 8", answer.ReasonStop},
		"its own end": {func(*scheduler.Request) {}, func(r *program.Run) error { return showTokens(r, []program.Token{1, 2}) }, " 1 2",
			answer.ReasonStop},
		"nothing": {func(*scheduler.Request) {}, func(*program.Run) error { return nil }, "", answer.ReasonStop},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 2}, func(b bubble) {
				r := written(10, 1, 1, c.main)
				c.change(&r)
				a := b.read(submit(t, b.Scheduler, r))
				if a.text != c.text || a.end.Reason != c.reason {
					t.Errorf("%q ended as %v (%v), want %q and %v", a.text, a.end.Reason, a.end.Err, c.text, c.reason)
				}
			})
		})
	}
}
