// SPDX-License-Identifier: MIT

package estimator

import (
	"math"
	"time"
)

// costs is a running estimate of what a forward pass takes, by the number of tokens in it and the cells they attend to.
// The cost of a token is not the same in a pass of 1, 16 or 512, nor is that of a cell (other kernels, other cache
// behaviour), so each size class has its own two numbers, and sizes between two classes are interpolated.
type costs struct {
	class [classes]estimate
}

const (
	classes   = 25   // sizes up to 4,096 tokens: two an octave
	depthUnit = 1024 // cells per unit of depth, so that both numbers are of one size
	far       = 256  // cells a token that tell what a cell costs
	smoothing = 0.25 // how much of an error a class corrects at once
	surprise  = 2    // a pass that took longer than this many times its estimate was disturbed, and counts as so many times
)

// sizes are the tokens in a pass of each class.
var sizes = func() (s [classes]int) {
	for i := range s {
		s[i] = int(math.Round(math.Exp2(float64(i) / 2)))
	}
	return s
}()

// estimate is what a token costs in passes of a class, in seconds.
type estimate struct {
	flat    float64 // whatever it attends to
	deep    float64 // more for each depthUnit of cells
	seen    bool
	seenFar bool // at a depth that tells the two apart
}

func (e estimate) of(w Pass) float64 {
	return float64(w.Tokens)*e.flat + float64(w.Cells)/depthUnit*e.deep
}

// observe learns from a pass that took d. The pass lies between two classes: each learns in proportion to how near it is.
func (c *costs) observe(w Pass, d time.Duration) {
	if w.Tokens <= 0 || d <= 0 {
		return
	}
	low, share := place(w.Tokens)
	c.learn(low, w, d.Seconds(), 1-share)
	if low+1 < classes {
		c.learn(low+1, w, d.Seconds(), share)
	}
}

// learn lets a class begin with what the nearest one knows: one disturbed pass shall not put off a size for ever.
func (c *costs) learn(class int, w Pass, took, share float64) {
	if share < 0.1 {
		return
	}
	e := &c.class[class]
	known, seenFar := e.seen, e.seenFar || w.Cells >= far*w.Tokens
	*e = c.near(class)
	e.seenFar = seenFar
	switch {
	case !e.seen:
		*e = estimate{flat: took / float64(w.Tokens), seen: true, seenFar: seenFar}
		return
	case !known:
		share = 2
	}
	e.learn(w, min(took, surprise*e.of(w)), share*smoothing)
}

// learn is normalised least mean squares: the error is split between the two numbers by how much of the work is theirs.
func (e *estimate) learn(w Pass, took, rate float64) {
	n, depth := float64(w.Tokens), float64(w.Cells)/depthUnit
	step := rate * (took - e.of(w)) / (n*n + depth*depth)
	e.flat = max(e.flat+step*n, 0)
	e.deep = max(e.deep+step*depth, 0)
}

// place gives the class at or below n and how far n lies towards the next one, by logarithm.
func place(n int) (class int, share float64) {
	x := min(2*math.Log2(float64(n)), classes-1)
	low := int(x)
	for low+1 < classes && sizes[low+1] <= n { // rounding of the sizes
		low++
	}
	return low, max(x-float64(low), 0)
}

// predict estimates a pass. Before anything was measured it is zero.
func (c *costs) predict(w Pass) time.Duration {
	if w.Tokens <= 0 {
		return 0
	}
	low, share := place(w.Tokens)
	a, b := c.near(low).of(w), c.near(min(low+1, classes-1)).of(w)
	return time.Duration((a + (b-a)*share) * float64(time.Second))
}

// near is the estimate of a class; what was not seen of it yet, is that of the nearest one where it was. A smaller one is asked
// first: its tokens cost more, so the first guess is cautious.
func (c *costs) near(class int) estimate {
	e := c.nearest(class, func(e *estimate) bool { return e.seen })
	if !e.seenFar {
		if other := c.nearest(class, func(e *estimate) bool { return e.seenFar }); other.seenFar {
			e.deep = other.deep
		}
	}
	return e
}

func (c *costs) nearest(class int, wanted func(*estimate) bool) estimate {
	for distance := range classes {
		for _, i := range [2]int{class - distance, class + distance} {
			if i >= 0 && i < classes && wanted(&c.class[i]) {
				return c.class[i]
			}
		}
	}
	return estimate{}
}

// seen tells whether passes of about n tokens were measured.
func (c *costs) seen(n int) bool {
	low, share := place(n)
	if share > 0.5 && low+1 < classes {
		low++
	}
	return c.class[low].seen
}
