// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
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
				s := must.Get(scheduler.New(unsound{host}, scheduler.Config{Slots: 4}))(t)
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

// prober wants the hidden states of the tokens it is told of. That of the simulated model tells
// the token the model says.
type prober struct {
	guest
	state  []float32
	wrong  string // the first that was wrong
	states int    // that it has had in accept
	layer  int32
	forces int // after so many tokens it forces three, which come without rows of their own but for the first
	told   int
}

func (p *prober) Traits() chain.Traits {
	return chain.Traits{Prepares: true, Lasts: true, HiddenState: func(s []float32) { p.state = s }, StateLayer: p.layer}
}

func (p *prober) Prepare() (chain.Prepared, error) {
	if p.forces > 0 && p.told == p.forces {
		return chain.Prepared{Forced: []scheduler.Token{3, 4, 5}}, nil
	}
	return chain.Prepared{}, nil
}

func (p *prober) Apply(v *chain.View) error {
	p.check("drawn from", func(says int) bool { return v.Row[says] == 10 })
	return nil
}

func (p *prober) Accept(t scheduler.Token) (chain.Effect, error) {
	p.told++
	if len(p.state) > 0 {
		p.states++
	}
	return chain.Effect{}, nil
}

func (p *prober) check(what string, fits func(says int) bool) {
	switch {
	case p.wrong != "":
	case len(p.state) != stateWidth:
		p.wrong = fmt.Sprintf("the state of the row that is %s has %d numbers", what, len(p.state))
	case !fits(int(p.state[0])-int(p.layer)) || p.state[0] != p.state[stateWidth-1]:
		p.wrong = fmt.Sprintf("the row that is %s has another's state", what)
	}
}

const stateWidth = 4

// A stage that wants hidden states has that of each row, with drafts and beside others; those
// tokens that come without a row have none.
func TestHiddenState_StagesHaveTheirRows(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 5))
		b := schedulertest.New(scheduler.Limits{HiddenState: stateWidth})
		b.Cost = flat
		s := newScheduler(t, b, scheduler.Config{Drafter: &seer{backend: b, rng: rng, errs: 0.2}, MostDrafted: 8})
		probers := []*prober{{}, {}, {forces: 4}}
		var streams []*scheduler.Stream
		for i, p := range probers {
			r := request(5+rng.IntN(40), i, 40)
			p.layer = int32(i)
			r.Chain = []chain.Stage{p, schedulertest.Sampled{}}
			if i == 1 {
				r.Chain = []chain.Stage{&weaver{rng: rand.New(rand.NewPCG(seed, 6)), hold: 3}, &prober{layer: 7}, p, schedulertest.Sampled{}}
			}
			streams = append(streams, submit(t, s, r))
		}
		streams = append(streams, submit(t, s, request(60, 9, 40)))
		finish(t, s, streams...)
		for i, p := range probers {
			if p.wrong != "" || p.states == 0 {
				t.Fatalf("seed %d, answer %d: %s; %d states in accept", seed, i, p.wrong, p.states)
			}
		}
		if p := probers[2]; p.told-p.states != 2 {
			t.Errorf("seed %d: %d of %d tokens had a state; the two that were forced to follow have none", seed, p.states, p.told)
		}
		if p := probers[0]; p.states != p.told {
			t.Errorf("seed %d: %d of %d tokens had a state", seed, p.states, p.told)
		}
	}
}

// Passes are asked for hidden states only while a stage wants them, and a row that is only
// computed for others' prompts does not count.
func TestHiddenState_OnlyAskedForWhereWanted(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{HiddenState: stateWidth})
	asked := 0
	b.Fail = func(batch *scheduler.Batch) error {
		if len(batch.HiddenStates) > 0 {
			asked++
		}
		return nil
	}
	s := newScheduler(t, b, scheduler.Config{})
	finish(t, s, submit(t, s, request(20, 1, 20)))
	if asked > 0 {
		t.Fatalf("%d passes were asked for states that nobody wants", asked)
	}
	r := request(20, 2, 5)
	r.Chain = []chain.Stage{&prober{}, schedulertest.Sampled{}}
	finish(t, s, submit(t, s, r), submit(t, s, request(20, 3, 50)))
	if asked != 5 {
		t.Errorf("%d passes were asked for states; one answer wants those of 5 tokens", asked)
	}
}

// Passes are asked for hidden states for a program only where it wants them, and for the rows of
// its branches. A row that is changed still has that of the model's.
func TestHiddenState_ProgramsHaveThatOfTheirRows(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{HiddenState: stateWidth, Batch: 64})
	asked := 0
	b.Fail = func(batch *scheduler.Batch) error {
		if len(batch.HiddenStates) > 0 {
			asked++
		}
		return nil
	}
	s := newScheduler(t, b, scheduler.Config{Slots: 2})
	var states [][]float32
	reads := func(r *program.Run) error {
		root, err := r.Open(r.Prompt()) // in several passes
		if err != nil {
			return err
		}
		if _, err := root.HiddenState(); !errors.Is(err, program.ErrMisuse) {
			return fmt.Errorf("the state of a branch without a row: %w", err)
		}
		t, err := favourite(r, root)
		if err != nil {
			return err
		}
		fork, err := root.Fork()
		if err != nil {
			return err
		}
		words := make([]uint32, (b.Limits().Vocabulary+31)/32)
		words[0] = 6
		if err := errors.Join(fork.Mask(words), fork.Mix([]program.Weighted{{Branch: root, Weight: 2}})); err != nil {
			return err
		}
		if err := root.Append([]program.Token{t}, false); err != nil {
			return err
		}
		if _, err := favourite(r, root); err != nil {
			return err
		}
		for _, of := range []*program.Branch{fork, root} {
			state, err := of.HiddenState()
			if err != nil {
				return err
			}
			states = append(states, state)
		}
		return nil
	}
	finish(t, s, submit(t, s, written(200, 3, 2, reads)), submit(t, s, request(20, 1, 20)))
	if asked > 0 || len(states) != 2 || states[0] != nil || states[1] != nil {
		t.Fatalf("%d passes were asked for states that nobody wants: %v", asked, states)
	}
	states = nil
	r := written(200, 4, 2, reads)
	r.Program.HiddenStates, r.Program.StateLayer = true, 3
	finish(t, s, submit(t, s, r), submit(t, s, request(20, 2, 20)))
	said := b.GoesOn(r.Prompt[0].Tokens, 2)
	if asked != 2 || len(states) != 2 || len(states[0]) != stateWidth || states[0][0] != float32(said[0]+3) || len(states[1]) != stateWidth || states[1][0] != float32(said[1]+3) {
		t.Errorf("%d passes were asked for the states of 2 rows, which are %v after %v", asked, states, said)
	}
}

// What a client injects comes without a row, and so without a state.
func TestHiddenState_InjectedTokensHaveNone(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{HiddenState: stateWidth})
	s := newScheduler(t, b, scheduler.Config{})
	p := &prober{}
	r := request(20, 2, 8)
	r.Chain = []chain.Stage{p, schedulertest.Sampled{}}
	r.Begun = answer.Begun{Tokens: []scheduler.Token{7, 8, 9}}
	finish(t, s, submit(t, s, r))
	if p.wrong != "" || p.states != 5 || p.told != 8 {
		t.Errorf("%s; %d of %d tokens had a state, want 5 of 8", p.wrong, p.states, p.told)
	}
}

// stubborn is a stage that begins only when it is interrupted.
type stubborn struct {
	guest
	interrupted, closed chan struct{}
}

func newStubborn() *stubborn {
	s := &stubborn{interrupted: make(chan struct{}), closed: make(chan struct{})}
	s.rewind = func([]scheduler.Token, int) error {
		<-s.interrupted
		return errors.New("interrupted")
	}
	return s
}

func (s *stubborn) Traits() chain.Traits {
	t := s.guest.Traits()
	t.Interrupt = func() { close(s.interrupted) }
	return t
}

func (s *stubborn) Close() error {
	close(s.closed)
	return nil
}

// A request that is over does not leave a stage at work behind: neither a cancelled one nor one
// whose time has passed.
func TestWorker_End_InterruptsItsStages(t *testing.T) {
	for name, end := range map[string]func(st *scheduler.Stream){
		"cancelled": func(st *scheduler.Stream) { st.Cancel() },
		"too late":  func(*scheduler.Stream) {},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := scheduler.New(schedulertest.New(scheduler.Limits{}), scheduler.Config{}) // on real time: no pass is run meanwhile
			if err != nil {
				t.Fatal(err)
			}
			stage := newStubborn()
			r := guided(5, stage)
			if name == "too late" {
				r.Deadline = time.Now().Add(5 * time.Millisecond)
			}
			st := submit(t, s, r)
			for !s.Tick() && (r.Deadline.IsZero() || time.Now().Before(r.Deadline)) { // on a busy machine it may be too late before it begins
			}
			end(st)
			if a := complete(s, st); a.end.Reason == answer.ReasonStop {
				t.Errorf("ended with %v", a.end.Reason)
			}
			<-stage.closed
		})
	}
}

// A job that was preempted while its stages rest goes on when they have rested, though nothing
// else happens then.
func TestScheduler_Preempted_WakesWhenItHasRested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := must.Get(scheduler.New(schedulertest.New(scheduler.Limits{Cells: 64}), scheduler.Config{}))(t)
		tired := submit(t, s, guided(20, &guest{}))
		s.Tick()
		synctest.Wait() // its stages are done with the first token, however long that took
		scheduler.TakeCommands(s)
		scheduler.Rest(tired, time.Hour)
		first := request(10, 2, 50)
		first.Priority = 1
		complete(s, submit(t, s, first)) // needs the cells
		if n := len(scheduler.SnapshotOf(s).Queue); n != 1 {
			t.Fatalf("%d requests wait for a slot, want the one that rests", n)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		patient, giveUp := context.WithTimeout(t.Context(), 2*time.Hour)
		defer giveUp()
		if n := tokensOf(patient, tired); n != 20 {
			t.Errorf("%d tokens of 20", n)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// tokensOf reads a stream to its end, or until ctx is done, beside a running scheduler, and counts
// its tokens.
func tokensOf(ctx context.Context, st *scheduler.Stream) (n int) {
	for e := range schedulertest.Events(ctx, st) {
		if e.Kind == scheduler.KindToken {
			n++
		}
	}
	return n
}

// tardy is a native stage some of whose tokens take long to draw.
type tardy struct {
	schedulertest.Greedy
	quick int           // tokens before the first of them
	every int           // from then on each token of so many takes long; 0: all
	gate  chan struct{} // they wait for it; nil: they do not
	slow  bool
	seen  int
	late  int // tokens that a background sampler has drawn
}

func (s *tardy) tarries() bool {
	return s.seen >= s.quick && (s.every == 0 || (s.seen-s.quick)%s.every == 0)
}

func (s *tardy) Native() bool { return !s.slow }

func (s *tardy) Apply(v *chain.View) error {
	if s.gate != nil {
		<-s.gate
	}
	if s.slow {
		s.late++
		s.slow = s.every == 0
	}
	return s.Greedy.Apply(v)
}

func (s *tardy) Accept(scheduler.Token) (chain.Effect, error) {
	s.seen++
	return chain.Effect{}, nil
}

// patient is a backend that does not draw what takes long.
type patient struct{ *schedulertest.Backend }

func (p patient) SampleRows(draws []scheduler.Draw) {
	p.Backend.SampleRows(draws)
	for i := range draws {
		if s, ok := draws[i].Stage.(*tardy); ok && s.tarries() {
			s.slow = true
			draws[i].Token, draws[i].Err = -1, chain.ErrSlow
		}
	}
}

// A token that would take long to draw is drawn by a background sampler: from the row that it was
// to be drawn from, also within a draft.
func TestScheduler_Sample_SlowDraw_SameEvents(t *testing.T) {
	for seed := range uint64(60) {
		answers := func(quick, every func(i int) int) (all [][]string) {
			rng := rand.New(rand.NewPCG(seed, 9))
			b := schedulertest.New(scheduler.Limits{Context: 256, SeparatePasses: seed%2 == 0})
			b.Cost = flat
			if seed%3 == 1 {
				b.Recurrent, b.Snapshots = true, 1+int(seed)%9
			}
			var drafter draft.Drafter
			if seed%4 > 0 {
				drafter = &seer{backend: b, rng: rng, errs: 0.2}
			}
			s := newScheduler(t, patient{b}, scheduler.Config{Slots: 4, Drafter: drafter})
			var streams []*scheduler.Stream
			for i := range 6 {
				r := request(5+rng.IntN(100), i, 1+rng.IntN(120))
				r.Chain = []chain.Stage{&tardy{quick: quick(i), every: every(i)}}
				streams = append(streams, submit(t, s, r))
			}
			for _, a := range finish(t, s, streams...) {
				all = append(all, shown(a))
			}
			return all
		}
		always := func(int) int { return 0 }
		want := answers(func(int) int { return 1000 }, always)
		begin := func(i int) int { return int(seed) % (7 + 3*i) }
		if diff := cmp.Diff(want, answers(begin, always)); diff != "" {
			t.Fatalf("seed %d: -quick +slow\n%s", seed, diff)
		}
		if diff := cmp.Diff(want, answers(begin, func(i int) int { return 1 + (int(seed)+i)%5 })); diff != "" {
			t.Fatalf("seed %d: -quick +slow now and then\n%s", seed, diff)
		}
	}
}

// A token that takes long to draw, however long, holds up no other answer.
func TestScheduler_Sample_SlowDraw_HoldsUpNobody(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, patient{b}, scheduler.Config{})
	gate := make(chan struct{})
	r := request(10, 1, 30)
	r.Chain = []chain.Stage{&tardy{quick: 3, gate: gate}}
	slow := submit(t, s, r)
	beside := submit(t, s, request(10, 2, 100))
	late, neighbour := new(received), new(received)
	for neighbour.end == nil {
		s.Tick()
		late.read(slow)
		neighbour.read(beside)
	}
	if len(late.tokens) != 3 || len(neighbour.tokens) != 100 {
		t.Errorf("%d tokens of the answer that takes long, %d of its neighbour", len(late.tokens), len(neighbour.tokens))
	}
	close(gate)
	for late.end == nil {
		s.Tick()
		late.read(slow)
	}
	if want := alone(t, request(10, 1, 30)); !slices.Equal(late.tokens, want.tokens) {
		t.Errorf("its tokens are %v, else %v", late.tokens, want.tokens)
	}
}

// An answer whose draws are quick again is drawn by the tick again.
func TestScheduler_Sample_SlowDraw_BackToTheTick(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, patient{b}, scheduler.Config{})
	stage := &tardy{quick: 3, every: 10}
	r := request(10, 1, 50)
	r.Chain = []chain.Stage{stage}
	got := finish(t, s, submit(t, s, r))[0]
	if want := alone(t, request(10, 1, 50)); !slices.Equal(got.tokens, want.tokens) {
		t.Errorf("its tokens are %v, else %v", got.tokens, want.tokens)
	}
	if stage.late != 5 {
		t.Errorf("a background sampler has drawn %d tokens of 50, of which 5 take long", stage.late)
	}
}
