// SPDX-License-Identifier: MIT

package engine

import (
	"errors"
	"math/bits"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// A token is chosen again where the one that the samplers chose does not fit the answer's
// grammar. To mask a whole row is slow, and most often the first choice fits.

// drawFitting is the token that the samplers choose from a row: among those that the grammar
// allows, where they first choose another.
func (s *Stage) drawFitting(row []float32) (scheduler.Token, error) {
	t, err := s.first, error(nil)
	if !s.undecided {
		t, err = s.sampler.Sample(row)
	}
	if err != nil {
		return t, err
	}
	if !s.rules.guards() {
		return s.avoidWaking(row, t)
	}
	s.first, s.undecided = t, false
	fits, err := s.rules.allows(t)
	if err == nil && !fits {
		t, err = s.redraw(row)
	}
	s.undecided = errors.Is(err, chain.ErrSlow)
	return t, err
}

// redraw chooses among the tokens of a row that the grammar allows.
func (s *Stage) redraw(row []float32) (scheduler.Token, error) {
	w := s.rules.scratch()
	defer s.rules.pool.Put(w)
	if err := s.rules.fill(w, row); err != nil {
		return -1, err
	}
	return s.rules.choose(w, func() (scheduler.Token, error) { return w.draw(s.sampler, row) })
}

// redrawAmong chooses among the candidates that earlier stages have left and the grammar allows.
// If it allows none of them, it is the whole row to choose from.
func (s *Stage) redrawAmong(v *chain.View) (scheduler.Token, error) {
	w := s.rules.scratch()
	defer s.rules.pool.Put(w)
	if err := s.rules.fill(w, v.Row); err != nil {
		return -1, err
	}
	return s.rules.choose(w, func() (scheduler.Token, error) { return w.drawAmong(s.sampler, v) })
}

// drawAmong is draw among the candidates of a view that the mask allows, or if it allows none of
// them, among all of the row.
func (w *scratch) drawAmong(sampler *native.Sampler, v *chain.View) (scheduler.Token, error) {
	if v.N >= 0 {
		n := 0
		for i, t := range v.ID[:v.N] {
			if x := v.Logit[i]; w.allows(t) && x > banned {
				w.ids[n], w.logits[n], n = t, x, n+1
			}
		}
		if n > 0 {
			return w.choose(sampler, native.Candidates{ID: w.ids, Logit: w.logits, N: n})
		}
	}
	return w.draw(sampler, v.Row)
}

// draw chooses among the tokens of a row that the mask allows.
func (w *scratch) draw(sampler *native.Sampler, row []float32) (scheduler.Token, error) {
	allowed := 0
	for _, word := range w.mask {
		allowed += bits.OnesCount32(word)
	}
	if allowed > fewAllowed {
		native.MaskRow(w.row, row, w.mask)
		if taken, err := sampler.TakeRow(w.row); err != nil || taken {
			if err != nil {
				return -1, err
			}
			return w.choose(sampler, native.Candidates{N: -1})
		}
	}
	n := 0
	for i, word := range w.mask {
		for ; word != 0; word &= word - 1 {
			t := 32*i + bits.TrailingZeros32(word)
			if t < len(row) && row[t] > banned { // among candidates of −Inf the entropy of typical would be NaN
				w.ids[n], w.logits[n], n = int32(t), row[t], n+1
			}
		}
	}
	return w.choose(sampler, native.Candidates{ID: w.ids, Logit: w.logits, N: n})
}

func (w *scratch) choose(sampler *native.Sampler, v native.Candidates) (scheduler.Token, error) {
	v.Chosen, w.view = -1, v
	err := sampler.Apply(&w.view)
	t := w.view.Chosen
	w.view = native.Candidates{}
	return t, err
}
