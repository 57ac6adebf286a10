// SPDX-License-Identifier: MIT

package program

import (
	"math"
	"slices"
	"sync"

	"github.com/penstock/penstock/scheduler/chain"
)

// Row is the logits after a branch, one for each token of the vocabulary. They lie in the
// backend's memory, which the next forward pass overwrites, until somebody still needs them then:
// Recall copies them. Branches that were forked have a row in common.
type Row struct {
	mu     sync.Mutex
	logits []float32  // nil: they were taken back
	lent   bool       // they are the backend's
	loan   *chain.Row // a sampler draws from it; nil: none does
	said   *Summary   // the largest that was asked for; nil: none was
	sum    *float32   // the log-sum-exp by which tokens are scored; nil: the row's own
	narrow bool       // tokens were made impossible: perhaps all
}

// Lend makes a row of logits in the backend's memory.
func Lend(logits []float32) *Row { return &Row{logits: logits, lent: true} }

// Recall gives the backend its memory back: a copy stays.
func (r *Row) Recall() { r.take(true) }

// Revoke takes the row away from its holder.
func (r *Row) Revoke() { r.take(false) }

// take gives the backend its memory back. A sampler that draws from it goes on with a copy.
func (r *Row) take(keep bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loan != nil {
		r.loan.Recall()
	}
	if !keep {
		r.logits = nil
	} else if r.lent {
		r.logits = slices.Clone(r.logits)
	}
	r.lent = false
}

// lendTo lends the row to a sampler, which may take long to draw: nobody waits for it. Errors:
// ErrOver.
func (r *Row) lendTo(s *chain.Row, loans *sync.WaitGroup) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.logits == nil {
		return ErrOver
	}
	s.Lend([][]float32{r.logits}, loans)
	r.loan = s
	return nil
}

// returned ends the loan.
func (r *Row) returned() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loan.Return()
	r.loan = nil
}

// read has f, which is quick, read the logits, which stay where they are until it returns. Errors:
// ErrOver.
func (r *Row) read(f func(logits []float32)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.logits == nil {
		return ErrOver
	}
	f(r.logits)
	return nil
}

// summary is what the row says of the k most likely tokens.
func (r *Row) summary(k int, by Summarizer) (s Summary, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.said == nil || k > r.said.asked {
		if r.logits == nil {
			return Summary{}, ErrOver
		}
		said := by.Summarize(r.logits, make([]Token, k), make([]float32, k))
		said.asked = k
		r.said = &said
	}
	s = *r.said
	n := min(k, len(s.IDs))
	s.IDs, s.Logits = s.IDs[:n:n], s.Logits[:n:n]
	return s, nil
}

// knows reports whether a summary of k tokens is there.
func (r *Row) knows(k int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said != nil && k <= r.said.asked
}

// empty reports whether no token is possible.
func (r *Row) empty() bool {
	return r.narrow && !slices.ContainsFunc(r.logits, func(l float32) bool { return l > impossible })
}

var impossible = float32(math.Inf(-1))

// logprob is how likely a token is, as the natural logarithm; +Inf, as of what is yet to be
// computed, if the row was taken away.
func (r *Row) logprob(t Token, by Summarizer) float32 {
	s, err := r.summary(0, by)
	if err != nil {
		return awaited
	}
	if r.sum != nil {
		s.LogSum = *r.sum
	}
	score := awaited
	_ = r.read(func(logits []float32) { score = logits[t] - s.LogSum }) // the request has ended, and nobody reads the score
	return score
}
