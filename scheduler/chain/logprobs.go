// SPDX-License-Identifier: MIT

package chain

import (
	"math"
	"slices"
)

// Logprobs are natural logarithms of probabilities under the raw logits, before any stage.
type Logprobs struct {
	Token float32
	Top   []Candidate // most likely first
}

// Candidate is a token with its log-probability.
type Candidate struct {
	Token   Token
	Logprob float32
}

// NewLogprobs computes the log-probability of a token and of the n most likely ones from a raw row.
func NewLogprobs(row []float32, token Token, n int) *Logprobs {
	top := make([]Candidate, 0, n+1)
	highest := float32(math.Inf(-1))
	for _, l := range row {
		highest = max(highest, l)
	}
	sum := 0.0
	for i, l := range row {
		sum += math.Exp(float64(l) - float64(highest))
		if n > 0 && (len(top) < n || l > top[len(top)-1].Logprob) {
			top = insert(top, Candidate{Token: Token(i), Logprob: l}, n)
		}
	}
	logSum := math.Log(sum)
	logprob := func(logit float32) float32 { return float32(float64(logit) - float64(highest) - logSum) }
	for i := range top {
		top[i].Logprob = logprob(top[i].Logprob)
	}
	return &Logprobs{Token: logprob(row[token]), Top: top}
}

// insert puts c into top, which is sorted with the most likely first, and keeps n of them.
func insert(top []Candidate, c Candidate, n int) []Candidate {
	i, _ := slices.BinarySearchFunc(top, c, func(a, b Candidate) int {
		if a.Logprob >= b.Logprob {
			return -1
		}
		return 1
	})
	top = slices.Insert(top, i, c)
	return top[:min(len(top), n)]
}
