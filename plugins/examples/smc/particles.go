// SPDX-License-Identifier: MIT

package main

import (
	"math"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// particle is a continuation with a weight.
type particle struct {
	*penstock.Branch
	log   float64 // of its weight
	ended bool
}

// weigh gives the particles' weights, whose sum is 1, the logarithm of their mean before, and how
// many particles of equal weight they are worth.
func weigh(particles []particle) (weights []float64, mean, size float64) {
	highest, sum, squares := math.Inf(-1), 0.0, 0.0
	for _, q := range particles {
		highest = max(highest, q.log)
	}
	if math.IsInf(highest, -1) { // none has a weight
		return make([]float64, len(particles)), highest, 0
	}
	for _, q := range particles {
		weights = append(weights, math.Exp(q.log-highest))
		sum += weights[len(weights)-1]
	}
	for i := range weights {
		weights[i] /= sum
		squares += weights[i] * weights[i]
	}
	return weights, highest + math.Log(sum/float64(len(weights))), 1 / squares
}

// pick is the index whose part of the weights has the place u of the whole, from 0 to 1.
func pick(weights []float64, u float64) (i int) {
	for ; i < len(weights)-1 && u >= weights[i]; i++ {
		u -= weights[i]
	}
	return i
}

// branches are those of the particles that are alive, or of all.
func branches(particles []particle, all bool) (list []*penstock.Branch) {
	for _, q := range particles {
		if all || !q.ended {
			list = append(list, q.Branch)
		}
	}
	return list
}

// resample draws as many particles by their weights, which are equal then.
func resample(r *penstock.Run, particles []particle, weights []float64) {
	picks, u := make([]int, len(particles)), float64(penstock.Uniform())
	for i := range picks {
		picks[i] = pick(weights, (u+float64(i))/float64(len(picks)))
	}
	old := append([]particle(nil), particles...)
	for i, b := range r.Select(branches(particles, true), picks...) {
		particles[i] = particle{b, 0, old[picks[i]].ended}
	}
}
