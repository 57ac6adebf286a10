// SPDX-License-Identifier: MIT

package llamaserver

import (
	"math"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// lowest is the least number that JSON can hold in 32 bits; it stands for the logarithm of nothing.
const lowest = -math.MaxFloat32

// tokenProb is a token with its probability, as a logarithm unless it is one after the sampler
// chain.
type tokenProb struct {
	ID         scheduler.Token `json:"id"`
	Token      string          `json:"token"`
	Bytes      []int           `json:"bytes"`
	Logprob    *float32        `json:"logprob,omitempty"`
	Prob       *float32        `json:"prob,omitempty"`
	TopLogprob []tokenProb     `json:"top_logprobs,omitempty"`
	TopProb    []tokenProb     `json:"top_probs,omitempty"`
}

func newTokenProb(t scheduler.Token, text string) tokenProb {
	bytes := make([]int, len(text))
	for i := range len(text) {
		bytes[i] = int(text[i])
	}
	return tokenProb{ID: t, Token: text, Bytes: bytes}
}

// probOf describes a token, which has sent a text, and what else was likely.
func probOf(r *completion.Prompted, t scheduler.Token, text string, d answer.Details) tokenProb {
	p := newTokenProb(t, text)
	if r.Candidates > 0 {
		p.Prob = new(float32)
		for _, s := range drawnFrom(d.Trace) {
			if s.Token == t {
				*p.Prob = s.P
			}
			if s.P > 0 && len(p.TopProb) < r.Candidates {
				one := newTokenProb(s.Token, r.Model.Engine.Shown(s.Token))
				one.Prob = &s.P
				p.TopProb = append(p.TopProb, one)
			}
		}
		return p
	}
	p.Logprob = logprob(d.Logprobs.Token)
	for _, c := range d.Logprobs.Top {
		one := newTokenProb(c.Token, r.Model.Engine.Shown(c.Token))
		one.Logprob = logprob(c.Logprob)
		p.TopLogprob = append(p.TopLogprob, one)
	}
	return p
}

// drawnFrom are the candidates among which the token was drawn: what the stage before the last has
// left.
func drawnFrom(t *chain.Trace) []chain.Score {
	switch {
	case t == nil || len(t.Stages) == 0:
		return nil
	case len(t.Stages) == 1: // a chain that could not be taken apart
		return t.Stages[0].After.Best
	}
	return t.Stages[len(t.Stages)-2].After.Best
}

func logprob(v float32) *float32 {
	v = max(v, lowest) // NaN stays, which no row has
	return &v
}
