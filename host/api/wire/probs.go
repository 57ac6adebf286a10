// SPDX-License-Identifier: MIT

package wire

import (
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// leastLogprob stands for the logarithm of nothing, which JSON cannot write; OpenAI uses the same.
const leastLogprob = -9999

// TokenProb is a token with its log-probability, in OpenAI's chat shape with llama-server's id.
type TokenProb struct {
	ID      scheduler.Token `json:"id"`
	Token   string          `json:"token"`
	Bytes   []int           `json:"bytes"`
	Logprob float32         `json:"logprob"`
	Top     []TokenProb     `json:"top_logprobs,omitempty"`
}

// Probability describes the token of e and its alternatives. ok is false where the request asked
// for none.
func Probability(engine serving.Engine, e scheduler.Event) (p TokenProb, ok bool) {
	if e.Logprobs == nil {
		return p, false
	}
	p = tokenProb(engine, e.Token, e.Logprobs.Token)
	for _, c := range e.Logprobs.Top {
		p.Top = append(p.Top, tokenProb(engine, c.Token, c.Logprob))
	}
	return p, true
}

// PromptProbabilities describes tokens of a prompt.
func PromptProbabilities(engine serving.Engine, tokens []scheduler.PromptToken) (all []TokenProb) {
	for _, t := range tokens {
		p, _ := Probability(engine, scheduler.Event{Token: t.Token, Logprobs: t.Logprobs})
		all = append(all, p)
	}
	return all
}

func tokenProb(engine serving.Engine, t scheduler.Token, logprob float32) TokenProb {
	piece := engine.Piece(t)
	if !(logprob >= leastLogprob) { // NaN and −Inf too
		logprob = leastLogprob
	}
	bytes := make([]int, len(piece))
	for i := range len(piece) {
		bytes[i] = int(piece[i])
	}
	return TokenProb{ID: t, Token: piece, Bytes: bytes, Logprob: logprob}
}
