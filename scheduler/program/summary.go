// SPDX-License-Identifier: MIT

package program

import (
	"cmp"
	"math"
	"slices"
)

// Summary is what a row says in short.
type Summary struct {
	LogSum  float32 // the natural logarithm of the sum of the logits' exponentials: a log-probability is a logit less this
	Entropy float32 // of the next token, in nats

	IDs    []Token   // the most likely tokens, best first, and lower ones first among equals
	Logits []float32 // theirs

	asked int
}

// Summarizer is implemented by a backend that is faster at it than Portable.
type Summarizer interface {
	// Summarize finds a row's highest logits, as many as there is room for in both lists, of which
	// the summary has the used part. It may be called from several goroutines.
	Summarize(row []float32, ids []Token, logits []float32) Summary
}

// Portable is a Summarizer for any backend.
type Portable struct{}

// Summarize implements Summarizer.
func (Portable) Summarize(row []float32, ids []Token, logits []float32) Summary {
	highest := math.Inf(-1)
	order := make([]Token, 0, len(row))
	for i, l := range row {
		if l > float32(math.Inf(-1)) {
			order = append(order, Token(i))
			highest = max(highest, float64(l))
		}
	}
	sum, weighted := 0.0, 0.0
	for _, t := range order {
		d := float64(row[t]) - highest
		sum += math.Exp(d)
		weighted += math.Exp(d) * d
	}
	slices.SortStableFunc(order, func(a, b Token) int { return cmp.Compare(row[b], row[a]) })
	n := copy(ids, order[:min(len(order), len(ids), len(logits))])
	for i, t := range ids[:n] {
		logits[i] = row[t]
	}
	s := Summary{LogSum: float32(math.Inf(-1)), IDs: ids[:n], Logits: logits[:n]}
	if sum > 0 {
		s.LogSum, s.Entropy = float32(highest+math.Log(sum)), float32(math.Log(sum)-weighted/sum)
	}
	return s
}
