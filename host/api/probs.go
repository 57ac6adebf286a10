// SPDX-License-Identifier: MIT

package api

import (
	"github.com/penstock/penstock/scheduler"
)

// leastLogprob stands for the logarithm of nothing, which JSON cannot write; OpenAI uses the same.
const leastLogprob = -9999

// tokenProb is a token with its log-probability, in OpenAI's chat shape with llama-server's id.
type tokenProb struct {
	ID      scheduler.Token `json:"id"`
	Token   string          `json:"token"`
	Bytes   []int           `json:"bytes"`
	Logprob float32         `json:"logprob"`
	Top     []tokenProb     `json:"top_logprobs,omitempty"`
}

// probability describes the token of e and its alternatives. ok is false where the request asked for none.
func (s *service) probability(e scheduler.Event) (p tokenProb, ok bool) {
	if e.Logprobs == nil {
		return p, false
	}
	p = s.tokenProb(e.Token, e.Logprobs.Token)
	for _, c := range e.Logprobs.Top {
		p.Top = append(p.Top, s.tokenProb(c.Token, c.Logprob))
	}
	return p, true
}

func (s *service) tokenProb(t scheduler.Token, logprob float32) tokenProb {
	piece := s.Engine.Piece(t)
	if !(logprob >= leastLogprob) { // NaN and −Inf too
		logprob = leastLogprob
	}
	bytes := make([]int, len(piece))
	for i := range len(piece) {
		bytes[i] = int(piece[i])
	}
	return tokenProb{ID: t, Token: piece, Bytes: bytes, Logprob: logprob}
}

// chatProbs is logprobs of a chat choice.
type chatProbs struct {
	Content []tokenProb `json:"content"`
}

// textProbs is logprobs of a text completion, OpenAI's older shape.
type textProbs struct {
	Tokens  []string             `json:"tokens"`
	Values  []float32            `json:"token_logprobs"`
	Top     []map[string]float32 `json:"top_logprobs"`
	Offsets []int                `json:"text_offset"`
}

// textProbsOf converts; offset is where the first token begins in the text.
func textProbsOf(probs []tokenProb, offset int) *textProbs {
	if len(probs) == 0 {
		return nil
	}
	t := &textProbs{}
	for _, p := range probs {
		top := map[string]float32{}
		for _, alternative := range p.Top {
			top[alternative.Token] = alternative.Logprob
		}
		t.Tokens = append(t.Tokens, p.Token)
		t.Values = append(t.Values, p.Logprob)
		t.Top = append(t.Top, top)
		t.Offsets = append(t.Offsets, offset)
		offset += len(p.Bytes)
	}
	return t
}
