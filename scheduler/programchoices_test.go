// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/program"
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
			streams, err := b.SubmitAll(choices(2, func(r *program.Run) error {
				root, err := r.Open(r.Prompt())
				if err == nil {
					err = root.Run(greedy(false), 100, false)
				}
				if err == nil {
					_, err = r.Wait(0, false, root)
				}
				return err
			}))
			if err != nil {
				t.Fatal(err)
			}
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
		streams, err := b.SubmitAll(requests)
		if err != nil {
			t.Fatal(err)
		}
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
