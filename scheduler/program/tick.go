// SPDX-License-Identifier: MIT

package program

import "time"

// This file is the tick's side of a run.

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
