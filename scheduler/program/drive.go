// SPDX-License-Identifier: MIT

package program

import (
	"errors"
	"sync"
)

// Drive runs a program to its end without a scheduler, for tools that try programs. row gives the
// logits after some tokens, which nobody changes until the next call. waits is told of each wait
// what was shown since the last one, and at the end; false ends the run as a request ends, and the
// error is nil then. Errors: the program's.
func (r *Run) Drive(row func([]Token) []float32, waits func(shown []Shown) bool) error {
	r.options.Wake = func() {} // this is awake
	r.Start()
	var main sync.WaitGroup
	main.Go(r.Main)
	defer main.Wait()
	kept := make([]Kept, len(r.branches))
	for {
		<-r.Done()
		r.Collect()
		r.MarkTaken()
		more := waits(r.TakeShown())
		if returned, err := r.Returned(); returned {
			return err
		}
		if !more {
			r.Interrupt()
			return nil
		}
		for i, b := range r.branches {
			if !b.Is(kept[i].Number) {
				kept[i] = Kept{}
			}
			if b != nil {
				b.Update(&kept[i])
			}
		}
		branches, _ := r.Waiting()
		for _, b := range branches {
			k := &kept[b.Index()]
			if err := b.computeWaited(k, row); err != nil {
				r.Interrupt()
				return err
			}
			b.Deliver(k)
		}
		r.Answer()
	}
}

// computeWaited computes what a branch is waited for.
func (b *Branch) computeWaited(k *Kept, row func([]Token) []float32) error {
	if going := b.TakeRun(); going != nil {
		err := b.driveRun(k, going, row)
		going.Release()
		if err != nil {
			return err
		}
	} else if k.Row == nil && k.Finished == Pending {
		k.Row = Lend(row(k.Tokens), nil)
		k.Row.Recall()
	}
	for i := range k.Scores {
		if Awaited(k.Scores[i]) {
			k.Scores[i] = Lend(row(k.Tokens[:i]), nil).logprob(k.Tokens[i], b.run.options.Summarizer)
		}
	}
	return nil
}

// driveRun has a branch go on by itself.
func (b *Branch) driveRun(k *Kept, going *Going, row func([]Token) []float32) error {
	s := b.runs.sampler
	for k.Finished = Ran; k.Drawn < going.Most; k.Drawn++ {
		after := Lend(row(k.Tokens), nil)
		t, err := s.draw(after)
		switch {
		case errors.Is(err, ErrNoToken):
			k.Finished = Stuck
			return nil
		case err != nil:
			return err
		case b.run.options.Ends(t):
			k.Finished = Ended
			return nil
		}
		if going.Scored {
			for len(k.Scores) < len(k.Tokens) {
				k.Scores = append(k.Scores, unscored)
			}
			k.Scores = append(k.Scores, after.logprob(t, b.run.options.Summarizer))
		}
		k.Tokens = append(k.Tokens, t)
		s.told = len(k.Tokens) - 1
		if err := s.tell(k.Tokens, b.base); err != nil {
			return err
		}
	}
	return nil
}
