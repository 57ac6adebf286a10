// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
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
		s := must.Get(scheduler.New(host, c))(t)
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

// A program waits for any of two branches, and changes the other one, of which a part is computed.
// Nobody waits for that any more: neither the program nor others, whose prompts are computed in the
// same passes, are the worse for it.
func TestProgram_ChangesABranch_AfterWaitAny(t *testing.T) {
	l := scheduler.Limits{Cells: 2048, Context: 2048, Batch: 64, Rows: 64}
	table, picture := piece.NewTable(), schedulertest.NewPiece("a", piece.Shape{Rows: 12, Positions: 12})
	rows := must.Get(table.Add(picture))(t)
	for name, change := range map[string]func(long *program.Branch, computed int) error{
		"cut to the first token":      func(long *program.Branch, _ int) error { return long.Cut(1) },
		"cut to what is computed":     func(long *program.Branch, computed int) error { return long.Cut(computed) },
		"a picture":                   func(long *program.Branch, _ int) error { return long.Append(rows, false) },
		"cut to before and a picture": func(long *program.Branch, _ int) error { return errors.Join(long.Cut(30), long.Append(rows, false)) },
		"cut and as it was before": func(long *program.Branch, _ int) error {
			last := long.Tokens()[599]
			return errors.Join(long.Cut(599), long.Append([]program.Token{last}, false))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, l, scheduler.Config{Slots: 8, Pieces: table}, func(b bubble) {
				var others []*scheduler.Stream
				r := written(20, 1, 3, func(r *program.Run) error {
					short, long := mustOpen(r, r.Prompt()), mustOpen(r, own(600, 3))
					for i := range 3 {
						if _, err := r.Wait(1, true, short, long); err != nil {
							return err
						}
						if err := short.Append([]program.Token{4 + program.Token(i)}, false); err != nil {
							return err
						}
					}
					for i := range 4 { // more than one pass takes, and they come at once
						others = append(others, submit(t, b.Scheduler, request(120, 10+i, 20)))
					}
					if err := change(long, 150); err != nil {
						return err
					}
					if _, err := r.Wait(0, false); err != nil { // for nothing in particular
						return err
					}
					time.Sleep(time.Second)
					if long.Ready() {
						return errors.New("a branch that was changed has a row, and nobody has waited for it")
					}
					third := mustOpen(r, append(append(own(2, 5), rows...), 7))
					if _, err := r.Wait(1, false, third); err != nil {
						return err
					}
					if err := long.Append([]program.Token{5}, false); err != nil {
						return err
					}
					_, err := r.Wait(1, false, long)
					return err
				})
				r.Pieces, r.Program.Tokens = []*piece.Piece{picture}, 2000
				if a := b.read(submit(t, b.Scheduler, r)); a.end.Err != nil {
					t.Error(a.end.Err)
				}
				for i, st := range others {
					if a := b.read(st); a.text != alone(t, request(120, 10+i, 20)).text {
						t.Errorf("request %d of another client has %d tokens: %v", i, len(a.tokens), a.end.Err)
					}
				}
			}, func(b *schedulertest.Backend) { b.Pieces = table })
		})
	}
}

// A program changes the row of a branch, appends a token, cuts it off again and waits: it gets the
// model's row, and not the one that it has changed.
func TestProgram_Cut_ForgetsTheChangedRow(t *testing.T) {
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 2}, func(b bubble) {
		st := submit(t, b.Scheduler, written(20, 1, 1, func(r *program.Run) error {
			root := mustOpen(r, r.Prompt())
			says, err := favourite(r, root)
			if err != nil {
				return err
			}
			words := make([]uint32, 8)
			words[0] = 0b1100 // tokens 2 and 3
			if err := root.Mask(words); err != nil {
				return err
			}
			if changed, err := favourite(r, root); err != nil || changed != 2 { // it is there: nothing is computed
				return errors.Join(err, fmt.Errorf("the changed row says %d", changed))
			}
			if err := errors.Join(root.Append([]program.Token{2}, false), root.Cut(20)); err != nil {
				return err
			}
			if root.Ready() {
				return errors.New("a branch that was cut has a row")
			}
			if again, err := favourite(r, root); err != nil || again != says {
				return errors.Join(err, fmt.Errorf("the model says %d, after a token was appended and cut off %d", says, again))
			}
			return nil
		}))
		if a := b.read(st); a.end.Err != nil {
			t.Error(a.end.Err)
		}
	})
}

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
