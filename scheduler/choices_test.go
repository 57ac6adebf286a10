// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

// choices are requests for n choices that one program writes.
func choices(n int, main func(*program.Run) error) (all []scheduler.Request) {
	first := written(20, 1, 2, main)
	for range n {
		r := request(20, 1, 0)
		r.Program, r.Chain = first.Program, nil
		all = append(all, r)
	}
	return all
}

// readAll submits requests and reads the answers to their ends, one after the other.
func (b bubble) readAll(requests []scheduler.Request) (all []received) {
	b.Helper()
	streams, err := b.SubmitAll(requests)
	if err != nil {
		b.Fatal(err)
	}
	for _, st := range streams {
		all = append(all, b.read(st))
	}
	return all
}

// What a program shows of each choice is that choice's answer, whichever ends first and by what.
func TestProgram_Choices_AreShownApart(t *testing.T) {
	for name, watched := range map[string]bool{"nobody is told": false, "stages are told": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 2}, func(b bubble) {
				requests := choices(3, func(r *program.Run) error {
					for step := range 6 {
						for choice := range 3 {
							ended, err := r.Show(choice, []program.Token{program.Token(10*choice + step + 1)}, nil)
							if should := choice == 0 && step > 2; err != nil || ended != should {
								return fmt.Errorf("step %d of choice %d: ended is %v: %w", step, choice, ended, err)
							}
						}
						if _, err := r.Wait(0, false); err != nil {
							return err
						}
					}
					if _, err := r.Show(3, []program.Token{1}, nil); !errors.Is(err, program.ErrMisuse) {
						return fmt.Errorf("a fourth choice: %w", err)
					}
					return nil
				})
				requests[0].Stop = []string{" 3"}
				requests[1].MaxTokens = 100
				if watched {
					for i := range requests {
						requests[i].Logprobs = 0
						requests[i].Chain = append(requests[i].Chain, &guest{})
					}
				}
				for i, a := range b.readAll(requests) {
					want := []string{" 1 2", " 11 12 13 14 15 16", " 21 22 23 24 25 26"}[i]
					if a.text != want || a.end.Reason != answer.ReasonStop || a.end.Err != nil {
						t.Errorf("choice %d is %q, want %q: %+v", i, a.text, want, a.end)
					}
				}
			})
		})
	}
}

// When all choices have ended, so has the program; when it ends in an error or is cancelled, so do
// all choices.
func TestProgram_Choices_EndTogether(t *testing.T) {
	forever := func(r *program.Run) error {
		for n := 1; ; n++ {
			for choice := range 2 {
				if _, err := r.Show(choice, []program.Token{program.Token(n)}, nil); err != nil {
					return err
				}
			}
			if _, err := r.Wait(0, false); err != nil {
				return err
			}
		}
	}
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 2}, func(b bubble) {
		requests := choices(2, forever)
		requests[0].MaxTokens, requests[1].MaxTokens = 9, 4
		for i, a := range b.readAll(requests) {
			if a.end.Reason != answer.ReasonLength || a.end.Usage.Generated != requests[i].MaxTokens {
				t.Errorf("choice %d: %+v", i, a.end)
			}
		}
		failed := errors.New("it has failed")
		for i, a := range b.readAll(choices(2, func(*program.Run) error { return failed })) {
			if a.end.Reason != answer.ReasonError || !errors.Is(a.end.Err, failed) {
				t.Errorf("choice %d: %+v", i, a.end)
			}
		}
		for cancelled := range 2 {
			streams := must.Get(b.SubmitAll(choices(2, func(r *program.Run) error {
				root, err := r.Open(r.Prompt())
				if err == nil {
					err = root.Run(greedy(false), 100, false)
				}
				if err == nil {
					_, err = r.Wait(0, false, root)
				}
				return err
			})))(t)
			streams[cancelled].Cancel()
			for i, st := range streams {
				want := answer.ReasonCancelled
				if cancelled == 1 && i == 0 {
					want = answer.ReasonStop // the program goes on for the other
				}
				if a := b.read(st); a.end.Reason != want {
					t.Errorf("choice %d after %d was cancelled: %+v", i, cancelled, a.end)
				}
			}
		}
	})
}

// While a program's choice has no reader, the program waits; a client may pause it by any of them,
// and steer none.
func TestProgram_Choices_AreSteered(t *testing.T) {
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 2}, func(b bubble) {
		requests := choices(2, func(r *program.Run) error {
			for n := range 200 {
				if _, err := r.Show(1, []program.Token{program.Token(1 + n)}, nil); err != nil {
					return err
				}
				if _, err := r.Wait(0, false); err != nil {
					return err
				}
			}
			return nil
		})
		requests[1].Buffer = 8
		streams := must.Get(b.SubmitAll(requests))(t)
		if err := errors.Join(streams[1].Pause(b.Context()), streams[0].Resume(b.Context())); err != nil {
			t.Error(err)
		}
		if err := streams[1].Inject(b.Context(), []scheduler.Token{1}); !errors.Is(err, scheduler.ErrBadRequest) {
			t.Errorf("tokens for another choice: %v", err)
		}
		if a := b.read(streams[1]); a.end.Usage.Generated != 200 || a.missed {
			t.Errorf("%+v", a.end)
		}
		if a := b.read(streams[0]); a.end.Reason != answer.ReasonStop {
			t.Errorf("%+v", a.end)
		}
	})
}

// healed is a program that has the answer go on from the prompt without its last tokens, and two
// in their place.
func healed(show ...program.Token) func(*program.Run) error {
	return func(r *program.Run) error {
		from := r.Prompt()[:18]
		b, err := r.Open(from)
		if err != nil {
			return err
		}
		if _, err := r.Wait(1, false, b); err != nil {
			return err
		}
		if err := b.Append([]program.Token{5, 6}, false); err != nil {
			return err
		}
		if len(show) > 0 {
			if _, err := r.Show(0, show, nil); err != nil {
				return err
			}
		}
		return r.Adopt(0, b, 18)
	}
}

// An answer that goes on from a branch is the one to its first tokens that begins with the others,
// drawn by the request's chain, with its limits and stop strings, and its stages told of all.
func TestProgram_Adopt_GoesOnAsAnAnswer(t *testing.T) {
	like := request(20, 1, 30)
	like.Prompt[0].Tokens = like.Prompt[0].Tokens[:18]
	like.Begun.Tokens = []scheduler.Token{5, 6}
	want := alone(t, like)
	for name, watched := range map[string]bool{"the backend draws": false, "a background sampler draws": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 2}, func(b bubble) {
				neighbour := submit(t, b.Scheduler, request(50, 2, 60))
				r := request(20, 1, 30)
				r.Program = &program.Program{Main: healed(), Branches: 2}
				if r.CachePrompt = !watched; watched {
					r.Chain = []chain.Stage{&guest{}, schedulertest.Sampled{}}
				}
				st := submit(t, b.Scheduler, r)
				a := b.read(st)
				if a.text != want.text || a.end.Reason != want.end.Reason || a.end.Usage.Generated != 30 || a.end.Usage.Prompt != 18 || a.end.Usage.Branches != 20 {
					t.Errorf("%q ended as %+v, want %q", a.text, a.end, want.text)
				}
				if other := b.read(neighbour); other.text != alone(t, request(50, 2, 60)).text {
					t.Error("a neighbour's answer is another")
				}
			})
		})
	}
}

// A program may return while its job has no slot: the answer waits in the queue once, and goes on.
func TestProgram_Adopt_WhilePreempted(t *testing.T) {
	like := request(20, 1, 30)
	like.Prompt[0].Tokens = like.Prompt[0].Tokens[:18]
	like.Begun.Tokens = []scheduler.Token{5, 6}
	want := alone(t, like)
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 2}, func(b bubble) {
		returns := make(chan struct{})
		r := request(20, 1, 30)
		r.Program = &program.Program{Branches: 2, Main: func(r *program.Run) error {
			err := healed()(r)
			<-returns
			return err
		}}
		st := submit(t, b.Scheduler, r)
		time.Sleep(300 * time.Millisecond)
		must.Do(t, st.Pause(b.Context()))
		others := []*scheduler.Stream{submit(t, b.Scheduler, request(50, 2, 60)), submit(t, b.Scheduler, request(50, 3, 60))}
		time.Sleep(300 * time.Millisecond)
		now, err := b.Inspect(b.Context(), 0)
		if err != nil || slices.ContainsFunc(now.Slots, func(s scheduler.SlotInfo) bool { return s.Wait != "" }) {
			t.Fatalf("the program has a slot: %+v, %v", now.Slots, err)
		}
		close(returns)
		time.Sleep(100 * time.Millisecond)
		must.Do(t, st.Resume(b.Context()))
		if a := b.read(st); a.text != want.text || a.end.Usage.Generated != 30 {
			t.Errorf("%q ended as %+v, want %q", a.text, a.end, want.text)
		}
		for _, other := range others {
			if a := b.read(other); a.end.Reason != answer.ReasonLength {
				t.Errorf("another ended as %v", a.end.Reason)
			}
		}
	})
}

// Of several choices some go on and others end, each with its own tokens; what was shown before
// stays. They can be steered then.
func TestProgram_Adopt_OfSeveralChoices(t *testing.T) {
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 2}, func(b bubble) {
		requests := choices(3, func(r *program.Run) error {
			root, err := r.Open(r.Prompt())
			if err != nil {
				return err
			}
			if err := root.Append([]program.Token{7, 8}, false); err != nil {
				return err
			}
			for choice, t := range []program.Token{7, 9, 7} {
				if _, err := r.Show(choice, []program.Token{t}, nil); err != nil {
					return err
				}
			}
			if _, err := r.Wait(0, false, root); err != nil {
				return err
			}
			err = errors.Join(r.Adopt(1, root, 20), r.Adopt(0, root, 19), r.Adopt(3, root, 20), r.Adopt(2, root, 23))
			if !errors.Is(err, program.ErrMisuse) || r.Adopted(0) != nil || r.Adopted(1) != nil {
				return fmt.Errorf("what cannot be adopted: %w", err)
			}
			if err := errors.Join(r.Adopt(0, root, 20), r.Adopt(2, root, 20)); err != nil {
				return err
			}
			if _, err := r.Show(0, []program.Token{1}, nil); !errors.Is(err, program.ErrMisuse) {
				return fmt.Errorf("shown of an adopted choice: %w", err)
			}
			root.Close()
			return nil
		})
		for i := range requests {
			requests[i].Chain, requests[i].MaxTokens = []chain.Stage{schedulertest.Greedy{}}, 12+i
		}
		after := append(slices.Clone(requests[0].Prompt[0].Tokens), 7, 8)
		for i, a := range b.readAll(requests) {
			want := append([]scheduler.Token{7, 8}, b.host.GoesOn(after, 10+i)...)
			reason := answer.ReasonLength
			if i == 1 {
				want, reason = []scheduler.Token{9}, answer.ReasonStop
			}
			if !slices.Equal(a.tokens, want) || a.end.Reason != reason {
				t.Errorf("choice %d is %v, want %v: %+v", i, a.tokens, want, a.end)
			}
		}
	})
}

// A program that fails after it has had a choice adopted has not; one whose choice was shown
// something else is told so, and another plugin's changes end the answer.
func TestProgram_Adopt_Fails(t *testing.T) {
	inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 2}, func(b bubble) {
		failed := errors.New("it has failed")
		for name, main := range map[string]func(*program.Run) error{
			"in the end": func(r *program.Run) error { return errors.Join(healed()(r), failed) },
			"shown":      healed(5),
		} {
			r := request(20, 1, 30)
			r.Program = &program.Program{Main: main, Branches: 1}
			if a := b.read(submit(t, b.Scheduler, r)); a.end.Reason != answer.ReasonError {
				t.Errorf("%s: %+v", name, a.end)
			}
		}
	})
}
