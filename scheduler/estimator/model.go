// SPDX-License-Identifier: MIT

package estimator

import (
	"math"
	"time"
)

// model predicts the duration of a pass from its tokens and the KV cells they attend to.
//
// It is a piecewise linear regression. At each of a fixed set of sizes, the knots, the duration in
// seconds is
//
//	perToken · tokens + perDepth · cells/1024
//
// with coefficients of that knot's own: what a token or a cell costs depends on the size of the
// pass, since other sizes have other kernels and use the processor's caches differently. Between
// two knots the prediction is interpolated, linear in the logarithm of the size.
//
// Every pass moves the coefficients of the two knots around its size one step of normalised least
// mean squares (NLMS). That keeps no history and solves no equations, follows a machine that
// becomes slower or faster, and its step does not depend on how large the inputs are.
type model struct {
	knots [knotCount]knot
}

// knot has the coefficients for passes of about one size.
type knot struct {
	perToken     float64 // seconds for each token
	perDepth     float64 // seconds for each 1,024 cells
	measured     bool    // there was a pass of about this size
	measuredDeep bool    // there was one deep enough to tell the two coefficients apart
}

const (
	knotCount    = 25   // two an octave, up to 4,096 tokens
	depthUnit    = 1024 // cells; it makes the two inputs, and so the two coefficients, of similar size
	deep         = 256  // cells a token from which a pass tells what a cell costs
	learningRate = 0.25 // the part of an error that one pass at a knot corrects
	outlier      = 2    // a pass that took longer than so many times its estimate was disturbed, and counts as so many times
)

// sizes are the tokens in a pass at each knot.
var sizes = func() (s [knotCount]int) {
	for i := range s {
		s[i] = int(math.Round(math.Exp2(float64(i) / 2)))
	}
	return s
}()

// predict estimates a pass. Before anything was measured it is zero.
func (m *model) predict(p Pass) time.Duration {
	if p.Tokens <= 0 {
		return 0
	}
	i, fraction := locate(p.Tokens)
	a, b := m.known(i).predict(p), m.known(min(i+1, knotCount-1)).predict(p)
	return time.Duration((a + (b-a)*fraction) * float64(time.Second))
}

func (k knot) predict(p Pass) float64 {
	return float64(p.Tokens)*k.perToken + float64(p.Cells)/depthUnit*k.perDepth
}

// observe learns from a pass that took d. Each of the two knots around its size learns in
// proportion to how near it is.
func (m *model) observe(p Pass, d time.Duration) {
	if p.Tokens <= 0 || d <= 0 {
		return
	}
	i, fraction := locate(p.Tokens)
	m.learn(i, p, d.Seconds(), 1-fraction)
	if i+1 < knotCount {
		m.learn(i+1, p, d.Seconds(), fraction)
	}
}

// learn moves knot i towards a pass that took so many seconds. A knot's first pass starts from its
// nearest neighbour's coefficients and takes twice the usual step: a disturbed first pass shall
// not put off a size forever.
func (m *model) learn(i int, p Pass, took, weight float64) {
	if weight < 0.1 {
		return
	}
	before, now := m.knots[i], m.known(i)
	now.measuredDeep = before.measuredDeep || p.Cells >= deep*p.Tokens
	rate := weight * learningRate
	switch {
	case !now.measured: // the first pass of all
		now.perToken = took / float64(p.Tokens)
	case !before.measured:
		rate = 2 * learningRate
		fallthrough
	default:
		now.step(p, min(took, outlier*now.predict(p)), rate)
	}
	now.measured = true
	m.knots[i] = now
}

// step is one step of NLMS: the error goes to the two coefficients in proportion to their inputs.
func (k *knot) step(p Pass, took, rate float64) {
	n, depth := float64(p.Tokens), float64(p.Cells)/depthUnit
	gain := rate * (took - k.predict(p)) / (n*n + depth*depth)
	k.perToken = max(k.perToken+gain*n, 0)
	k.perDepth = max(k.perDepth+gain*depth, 0)
}

// known is knot i; what was not measured there is taken from the nearest knot where it was.
func (m *model) known(i int) knot {
	k := m.nearest(i, func(k *knot) bool { return k.measured })
	if !k.measuredDeep {
		if other := m.nearest(i, func(k *knot) bool { return k.measuredDeep }); other.measuredDeep {
			k.perDepth = other.perDepth
		}
	}
	return k
}

// nearest is the wanted knot that is nearest to i; zero if there is none. Of two as near it is the
// smaller one: its tokens cost more, so that the first guess is cautious.
func (m *model) nearest(i int, wanted func(*knot) bool) knot {
	for distance := range knotCount {
		for _, other := range [2]int{i - distance, i + distance} {
			if other >= 0 && other < knotCount && wanted(&m.knots[other]) {
				return m.knots[other]
			}
		}
	}
	return knot{}
}

// measured tells whether there was a pass of about n tokens.
func (m *model) measured(n int) bool {
	return m.knots[nearestKnot(n)].measured
}

// locate gives the knot at or below n and how far n lies towards the next one, by logarithm.
func locate(n int) (i int, fraction float64) {
	x := min(2*math.Log2(float64(n)), knotCount-1)
	i = int(x)
	for i+1 < knotCount && sizes[i+1] <= n { // the sizes are rounded
		i++
	}
	return i, max(x-float64(i), 0)
}

// nearestKnot is the knot next to n.
func nearestKnot(n int) int {
	i, fraction := locate(n)
	if fraction > 0.5 && i+1 < knotCount {
		i++
	}
	return i
}
