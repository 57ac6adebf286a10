// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"math/rand/v2"
)

// example is a state, and whether the probe is to act: 1 or 0.
type example struct {
	state []float64
	label int
}

// layer is one of the network, as the plugin's configuration has it.
type layer struct {
	Weights [][]float32 `json:"weights"`
	Bias    []float32   `json:"bias"`
}

const (
	epochs = 400
	rate   = 0.01
	decay  = 0.02 // of weights, in each step's gradient: there are more numbers in a state than examples
)

// train fits a network to examples by stochastic gradient descent on the cross-entropy. It is the
// same each time.
func train(all []example, hidden int) []layer {
	rng := rand.New(rand.NewPCG(1, 2))
	mean, spread := standard(all)
	width := len(mean)
	var inner *dense
	if hidden > 0 {
		inner = newDense(rng, width, hidden)
		width = hidden
	}
	outer := newDense(rng, width, 1)
	for range epochs {
		for _, i := range rng.Perm(len(all)) {
			x := make([]float64, len(mean))
			for k := range x {
				x[k] = (all[i].state[k] - mean[k]) / spread[k]
			}
			step(inner, outer, x, float64(all[i].label))
		}
	}
	first := outer
	if inner != nil {
		first = inner
	}
	first.fold(mean, spread)
	if inner == nil {
		return []layer{outer.layer()}
	}
	return []layer{inner.layer(), outer.layer()}
}

// step moves the weights a little towards what is right for an example.
func step(inner, outer *dense, x []float64, label float64) {
	between, in := x, x
	if inner != nil {
		between = inner.of(x)
		for k := range between {
			between[k] = max(0, between[k])
		}
	}
	wrong := 1/(1+math.Exp(-outer.of(between)[0])) - label
	if inner != nil {
		back := make([]float64, len(between))
		for k := range back {
			if between[k] > 0 {
				back[k] = wrong * outer.weights[0][k]
			}
		}
		inner.learn(in, back)
	}
	outer.learn(between, []float64{wrong})
}

// standard is the mean of each of the states' numbers, and how far they are from it.
func standard(all []example) (mean, spread []float64) {
	mean, spread = make([]float64, len(all[0].state)), make([]float64, len(all[0].state))
	for k := range mean {
		for _, e := range all {
			mean[k] += e.state[k] / float64(len(all))
		}
		for _, e := range all {
			spread[k] += (e.state[k] - mean[k]) * (e.state[k] - mean[k]) / float64(len(all))
		}
		spread[k] = math.Sqrt(spread[k]) + 1e-6
	}
	return mean, spread
}

// dense is a layer while it learns.
type dense struct {
	weights [][]float64
	bias    []float64
}

func newDense(rng *rand.Rand, in, out int) *dense {
	d := &dense{bias: make([]float64, out)}
	for range out {
		row := make([]float64, in)
		for k := range row {
			row[k] = rng.NormFloat64() / math.Sqrt(float64(in)) / 4
		}
		d.weights = append(d.weights, row)
	}
	return d
}

func (d *dense) of(x []float64) []float64 {
	out := make([]float64, len(d.bias))
	for r, row := range d.weights {
		out[r] = d.bias[r]
		for k, w := range row {
			out[r] += w * x[k]
		}
	}
	return out
}

// learn goes a step against the gradient of each output.
func (d *dense) learn(x, gradient []float64) {
	for r, g := range gradient {
		row := d.weights[r]
		for k := range row {
			row[k] -= rate * (g*x[k] + decay*row[k])
		}
		d.bias[r] -= rate * g
	}
}

// fold has the layer take states as they are, which it has learnt with standardized ones.
func (d *dense) fold(mean, spread []float64) {
	for r, row := range d.weights {
		for k := range row {
			row[k] /= spread[k]
			d.bias[r] -= row[k] * mean[k]
		}
	}
}

func (d *dense) layer() layer {
	var l layer
	for r, row := range d.weights {
		short := make([]float32, len(row))
		for k, w := range row {
			short[k] = rounded(w)
		}
		l.Weights, l.Bias = append(l.Weights, short), append(l.Bias, rounded(d.bias[r]))
	}
	return l
}

// rounded is a number with four digits: a configuration is sent with each request.
func rounded(x float64) float32 {
	if x == 0 {
		return 0
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(x))))
	return float32(math.Round(x*scale) / scale)
}

// right is how many examples come out right.
func right(network []layer, all []example) (n int) {
	for _, e := range all {
		x := e.state
		for i, l := range network {
			out := make([]float64, len(l.Bias))
			for r, row := range l.Weights {
				out[r] = float64(l.Bias[r])
				for k, w := range row {
					out[r] += float64(w) * x[k]
				}
				if i < len(network)-1 {
					out[r] = max(0, out[r])
				}
			}
			x = out
		}
		if (x[0] >= 0) == (e.label == 1) {
			n++
		}
	}
	return n
}
