// SPDX-License-Identifier: MIT

package program

import "github.com/penstock/penstock/scheduler/chain"

// This file is the tick's side of a branch.

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
