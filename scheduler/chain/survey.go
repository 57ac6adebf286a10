// SPDX-License-Identifier: MIT

package chain

import (
	"math"
	"slices"
)

// snapshot is what a chain had to choose from at one point, kept until the token is known: only
// then can its place be found.
type snapshot struct {
	ids    []Token // nil: logits are those of the whole row
	logits []float32
	whole  bool

	count   int
	best    []Score
	highest float32
	sum     float64 // of exp(logit − highest)
}

// same reports whether the view still is what the snapshot shows: most stages of a usual chain
// change nothing.
func (s *snapshot) same(v *View) bool {
	if v.N < 0 {
		return s.whole && slices.Equal(s.logits, v.Row)
	}
	return !s.whole && slices.Equal(s.ids, v.ID[:v.N]) && slices.Equal(s.logits, v.Logit[:v.N])
}

// take makes it show the view, with the most likely candidates.
func (s *snapshot) take(v *View, most int) {
	if s.whole = v.N < 0; s.whole {
		s.ids, s.logits = s.ids[:0], append(s.logits[:0], v.Row...)
	} else {
		s.ids, s.logits = append(s.ids[:0], v.ID[:v.N]...), append(s.logits[:0], v.Logit[:v.N]...)
	}
	top := make([]Candidate, 0, most+1)
	s.count, s.highest, s.sum = 0, float32(math.Inf(-1)), 0
	s.each(func(token Token, logit float32) {
		s.count++
		s.highest = max(s.highest, logit)
		if len(top) < most || logit > top[len(top)-1].Logprob {
			top = insert(top, Candidate{token, logit}, most)
		}
	})
	s.each(func(_ Token, logit float32) { s.sum += math.Exp(float64(logit - s.highest)) })
	s.best = make([]Score, len(top))
	for i, c := range top {
		s.best[i] = Score{Token: c.Token, Logit: c.Logprob, P: s.p(c.Logprob)}
	}
}

// place is where a token stands.
func (s *snapshot) place(t Token) (p Ranked) {
	s.each(func(token Token, logit float32) {
		if token == t {
			p = Ranked{Rank: 1, Logit: logit, P: s.p(logit)}
		}
	})
	if p.Rank == 0 {
		return p
	}
	s.each(func(token Token, logit float32) {
		if logit > p.Logit {
			p.Rank++
		}
	})
	return p
}

func (s *snapshot) p(logit float32) float32 {
	return float32(math.Exp(float64(logit-s.highest)) / s.sum)
}

// each calls f for every candidate that can be drawn.
func (s *snapshot) each(f func(Token, float32)) {
	for i, logit := range s.logits {
		switch {
		case !(math.Abs(float64(logit)) <= math.MaxFloat32):
		case s.whole:
			f(Token(i), logit)
		default:
			f(s.ids[i], logit)
		}
	}
}
