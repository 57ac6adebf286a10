// SPDX-License-Identifier: MIT

package program

import (
	"errors"
	"sync"
	"time"

	"github.com/penstock/penstock/scheduler/chain"
)

// What the tick calls of a run comes first, and then what it calls of a branch.

// Started reports whether the program has begun.
func (r *Run) Started() bool { return r.started }

// Start notes that the program begins: Main is called on a goroutine of its own.
func (r *Run) Start() { r.started, r.atWork = true, true }

// AtWork reports whether the program is at work since Start or the last Answer: branches and all
// else of the run are its own.
func (r *Run) AtWork() bool { return r.atWork }

// Done has a message when a program that is at work waits or has returned. Collect follows.
func (r *Run) Done() <-chan struct{} { return r.done }

// Collect notes that the program waits, and charges it for its work. MarkTaken follows.
func (r *Run) Collect() {
	r.atWork, r.untaken = false, true
	r.spent.tokens, r.spent.branches = r.used, int(r.opened)
	r.restUntil = r.quota.Spend(time.Duration(r.worked.Swap(0)), time.Now())
}

// Rest is how long its quota of processor time is used up from now on; 0 or less: it is not, or
// the program has returned and wants no more.
func (r *Run) Rest() time.Duration {
	if r == nil || r.restUntil.IsZero() || !r.atWork && r.returned {
		return 0
	}
	return time.Until(r.restUntil)
}

// Awaited reports whether the tick waits for the program to wait again. If that is often late, it
// mostly does not.
func (r *Run) Awaited() bool { return r.patience.Awaited() }

// Settle notes, once for each Answer, whether the program waited again before the tick went on.
func (r *Run) Settle() { r.patience.After(!r.atWork) }

// Waits reports whether the program waits, or has returned, and MarkTaken was called since.
func (r *Run) Waits() bool { return r.started && !r.atWork && !r.untaken }

// MarkTaken notes that what the program has done is taken over.
func (r *Run) MarkTaken() { r.untaken = false }

// Branch is the branch in a place; nil: there is none.
func (r *Run) Branch(place int) *Branch { return r.branches[place] }

// Waiting are the branches that the program waits for, and whether one of them is enough.
func (r *Run) Waiting() (branches []*Branch, anyOf bool) { return r.waiting, r.anyOf }

// TakeShown is what the program has shown since the last time.
func (r *Run) TakeShown() []Shown {
	shown := r.shown
	r.shown = nil
	return shown
}

// Returned reports whether the program has returned, and with which error.
func (r *Run) Returned() (returned bool, err error) { return r.returned, r.err }

// HasReturned reports whether the program, which waits, has returned.
func (r *Run) HasReturned() bool { return r.returned }

// Used is how many tokens the program has put into branches, and how many branches it has opened,
// as of when it last waited.
func (r *Run) Used() (tokens, branches int) { return r.spent.tokens, r.spent.branches }

// AddChoice has the program write another answer. It is called before Start.
func (r *Run) AddChoice() { r.ended = append(r.ended, false) }

// EndChoice notes that a choice has ended.
func (r *Run) EndChoice(choice int) { r.ended[choice] = true }

// Charge charges the program, which waits, for tokens that a branch has drawn by itself before it
// was closed.
func (r *Run) Charge(n int) {
	r.used += n
	r.spent.tokens += n
}

// Spend counts tokens that branches have drawn by themselves, of which the program will not be
// told: its request ends.
func (r *Run) Spend(n int) { r.spent.tokens += n }

// Answer lets the program go on.
func (r *Run) Answer() {
	r.atWork = true
	r.resume <- struct{}{}
}

// Interrupt has all calls of the program fail with ErrOver. It is called once.
func (r *Run) Interrupt() { close(r.over) }

// Is reports whether the branch has that number; nil has none.
func (b *Branch) Is(number uint64) bool { return b != nil && b.number == number }

// Index is the branch's index in the program's list of branches, from 0.
func (b *Branch) Index() int { return b.index }

// Kept is a branch as the tick keeps it between two waits.
type Kept struct {
	Number   uint64 // of the branch; 0: there is none
	Told     int    // its number where the run is traced, as TakeGrown tells; else 0
	Tokens   []Token
	Wanted   bool // the row is to be computed: the program waits for it, or did when one of several was enough
	Row      *Row // after the last token; nil: there is none yet
	Scores   []float32
	Finished State // how a run ended that the program has not been told of; Pending: none did
	Drawn    int   // tokens of that run
}

// Update makes what is kept that of the branch, and tells how many of its tokens are as they were.
// While the branch goes on by itself, it is the tick's, and stays as it is.
func (b *Branch) Update(k *Kept) (same int) {
	if b.runs != nil && b.runs.begun {
		return len(k.Tokens)
	}
	if k.Number != b.number {
		*k = Kept{Number: b.number}
		b.known = 0
	}
	if same = b.known; b.stale {
		k.Row, k.Wanted, b.stale = nil, false, false
	}
	k.Tokens = append(k.Tokens[:same], b.tokens[same:]...)
	if len(b.scores) > 0 {
		k.Scores = append(k.Scores[:min(same, len(k.Scores), len(b.scores))], b.scores[min(same, len(k.Scores), len(b.scores)):]...)
	} else {
		k.Scores = k.Scores[:0]
	}
	if b.row != nil {
		k.Row = b.row
	}
	if k.Finished = Pending; b.finished {
		k.Finished = b.end
	}
	b.known, k.Told = len(b.tokens), b.told.path
	return same
}

// Lacks reports whether what a wait for the branch is for has not come: its row, or the end of its
// run.
func (k *Kept) Lacks() bool { return k.Row == nil && k.Finished == Pending }

// Score notes the log-probabilities of the tokens after the first n.
func (k *Kept) Score(n int, logprobs []*chain.Logprobs) {
	for len(k.Scores) < n {
		k.Scores = append(k.Scores, unscored)
	}
	for _, l := range logprobs {
		k.Scores = append(k.Scores, l.Token)
	}
}

// Deliver gives the branch what was computed for it.
func (b *Branch) Deliver(k *Kept) {
	if b.runs != nil {
		b.tokens = append(b.tokens, k.Tokens[len(b.tokens):]...)
		b.run.reserved -= b.runs.most
		b.run.used += k.Drawn
		k.Drawn = 0
		b.known = len(b.tokens)
		b.runs.sampler.told = len(b.tokens)
		b.runs = nil
		b.end = k.Finished
	}
	if b.row != k.Row {
		b.row, b.masked = k.Row, false
	}
	if b.row != nil {
		b.end = Pending
	}
	b.finished, k.Finished = false, Pending
	b.scores = append(b.scores[:0], k.Scores...)
}

// TakeRun is how the branch is to go on by itself from now on; nil: it is not, or does already.
func (b *Branch) TakeRun() *Going {
	r := b.runs
	if r == nil || r.begun {
		return nil
	}
	r.begun = true
	return &Going{Chain: r.sampler.chain, Most: r.most, Scored: r.scored, Release: r.sampler.release}
}

// Going is how a branch goes on by itself.
type Going struct {
	Chain   *chain.Chain // has been told of the branch's tokens
	Most    int          // tokens
	Scored  bool         // their log-probabilities are to be kept
	Release func()       // is called when the chain is not needed any more
}

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
