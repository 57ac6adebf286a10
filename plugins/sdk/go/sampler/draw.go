// SPDX-License-Identifier: MIT

package sampler

import (
	"github.com/penstock/penstock/plugins/sdk/go/math32"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// Softmax writes to buffer[:0] a weight for each logit, exp(logit − highest), and returns the weights and their sum; a
// probability is weight / sum. Pass the last result to reuse its memory.
func (v View) Softmax(buffer []float32) (weights []float32, sum float32) {
	if cap(buffer) < len(v.Logit) {
		buffer = make([]float32, len(v.Logit))
	}
	weights = buffer[:len(v.Logit)]
	highest := v.Highest()
	for i, x := range v.Logit {
		weights[i] = math32.Exp(x - highest)
		sum += weights[i]
	}
	return weights, sum
}

// Highest is the highest logit; −Inf in an empty view.
func (v View) Highest() float32 {
	highest := banned
	for _, x := range v.Logit {
		if x > highest {
			highest = x
		}
	}
	return highest
}

// Draw draws a token with the probabilities that weights stand for, as Softmax gives them, with the request's seed.
func (v View) Draw(weights []float32, sum float32) penstock.Token {
	left := penstock.Uniform() * sum
	last := 0
	for i, w := range weights {
		if w == 0 {
			continue
		}
		last = i
		if left < w {
			break
		}
		left -= w
	}
	return v.Token(last)
}
