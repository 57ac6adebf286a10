// SPDX-License-Identifier: MIT

package engine

import (
	"errors"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// This file has answers be complete within their most tokens (sampling.Params.Complete). A drawn
// token is tested for that as for the grammar, and only where it fails are the tokens looked for
// after which the rest of the answer fits. Where it cannot be complete any more, because a client,
// a plugin or a bias has put something else there, the grammar alone holds.

// budget is how many tokens an answer may have. It is told of each.
type budget struct {
	limit   int // 0: no limit
	written int
}

// left is how many tokens may still come.
func (b budget) left() int { return b.limit - b.written }

// keepWithin has an answer be complete within a number of tokens. Lazy: it need not begin.
func (f *following) keepWithin(limit int, lazy bool) error {
	least, err := f.grammar.Rest(f.here, f.tokens)
	switch {
	case errors.Is(err, grammar.ErrUnspelled):
		return sampling.Refused("complete", "complete cannot be kept: %v", err)
	case err != nil:
		return sampling.Refused("complete", "complete cannot be kept: it takes too long to find the shortest text that the grammar allows")
	case least > limit && !lazy:
		return sampling.Refused("complete", "complete cannot be kept: the shortest answer takes up to %d tokens, and max_tokens and the context leave %d", least, limit)
	}
	f.budget.limit = limit
	return nil
}

// affords reports whether the answer can still be complete in a state that so many tokens lead to.
func (f *following) affords(s grammar.State, tokens int) bool {
	if f.budget.limit == 0 {
		return true
	}
	if fits, err := f.grammar.Completes(s, f.tokens, f.budget.left()-tokens); fits && err == nil {
		return true
	}
	if f.rests {
		return false // the answer is whole as long as the grammar does not begin
	}
	fits, err := f.grammar.Completes(f.here, f.tokens, f.budget.left())
	return !fits && err == nil // it is lost already
}

// fillWithin writes which tokens may come next after which the answer can still be complete.
// False: there are none.
func (f *following) fillWithin(w *scratch) bool {
	fits, err := f.grammar.MaskCompletable(f.here, f.tokens, f.budget.left(), w.mask)
	return fits && err == nil
}

// choose draws among the tokens that w has, and if the answer cannot be complete then, among those
// after which it can.
func (f *following) choose(w *scratch, draw func() (scheduler.Token, error)) (scheduler.Token, error) {
	t, err := draw()
	if err != nil || f.budget.limit == 0 {
		return t, err
	}
	if fits, err := f.allows(t); fits || err != nil || !f.fillWithin(w) {
		return t, err
	}
	if other, err := draw(); err == nil && other >= 0 {
		return other, nil
	}
	return t, nil // biases forbid all the others
}

// whole reports whether an answer that is to be complete or brief is: no token may follow, or none
// that matters, by the grammar or because none is left.
func (f *following) whole() bool {
	switch {
	case !f.guards() || !f.grammar.Complete(f.here):
		return false
	case f.brief && f.grammar.Over(f.here):
		return true
	}
	return f.budget.limit > 0 && (f.budget.left() <= 0 || f.grammar.Ended(f.here))
}

// ended has an answer end that is whole.
func (s *Stage) ended() chain.Effect { return chain.Effect{Stop: s.rules.whole()} }

// maxAvoided is how many tokens are avoided one by one that would wake a lazy grammar.
const maxAvoided = 64

// avoidWaking draws again while the token would wake a lazy grammar whose text cannot be complete
// any more.
func (s *Stage) avoidWaking(row []float32, t scheduler.Token) (scheduler.Token, error) {
	if s.rules == nil || s.rules.budget.limit == 0 || s.lazy == nil || !s.rules.rests {
		return t, nil
	}
	var w *scratch
	for range maxAvoided {
		if n, err := s.Fits([]scheduler.Token{t}); n == 1 || err != nil {
			break
		}
		if w == nil {
			w = s.rules.scratch()
			defer s.rules.pool.Put(w)
			for i := range w.mask {
				w.mask[i] = ^uint32(0)
			}
		}
		w.mask[t>>5] &^= 1 << (t & 31)
		other, err := w.draw(s.sampler, row)
		if err != nil || other < 0 {
			break
		}
		t = other
	}
	return t, nil
}
