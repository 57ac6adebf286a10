// SPDX-License-Identifier: MIT

package scheduler

import (
	"math"
	"time"
)

// costs is a running estimate of what a forward pass takes, by the number of tokens in it. The cost of a token is not the
// same in a pass of 1, 16 or 512 (other kernels, other cache behaviour), so each size class has its own estimate and
// sizes between two classes are interpolated.
//
// How deep the sequences are, other load on the machine and its temperature move all classes alike: drift follows them
// quickly, the classes slowly.
type costs struct {
	class [classes]estimate
	drift float64 // recent measured ÷ predicted, over all sizes
}

const (
	classes    = 25   // sizes up to 4,096: two an octave
	slow, fast = 8, 3 // passes over which a class and the drift are averaged
)

// sizes are the tokens in a pass of each class.
var sizes = func() (s [classes]int) {
	for i := range s {
		s[i] = int(math.Round(math.Exp2(float64(i) / 2)))
	}
	return s
}()

type estimate struct {
	perToken float64 // seconds, in passes of the class's size
	weight   float64 // passes seen, at most slow
}

func newCosts() *costs { return &costs{drift: 1} }

// observe learns from a pass of n tokens that took d.
func (c *costs) observe(n int, d time.Duration) {
	if n <= 0 || d <= 0 {
		return
	}
	took := d.Seconds()
	if predicted := c.model(n); predicted > 0 {
		c.drift += (min(max(took/predicted, 0.25), 4) - c.drift) / fast
	}
	// The pass lies between two classes: it teaches each in proportion to how near it is.
	low, share := place(n)
	c.class[low].learn(1-share, took/float64(n))
	if low+1 < classes {
		c.class[low+1].learn(share, took/float64(n))
	}
}

func (e *estimate) learn(weight, perToken float64) {
	if weight < 0.05 {
		return
	}
	e.weight = min(e.weight+weight, slow)
	e.perToken += (perToken - e.perToken) * weight / e.weight
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

// predict estimates a pass of n tokens. Before anything was measured it is zero.
func (c *costs) predict(n int) time.Duration {
	return time.Duration(c.model(n) * c.drift * float64(time.Second))
}

// model is the estimate without drift: the cost of one token at n's place between its classes, times n.
func (c *costs) model(n int) float64 {
	if n <= 0 {
		return 0
	}
	low, share := place(n)
	a, b := c.perToken(low), c.perToken(min(low+1, classes-1))
	return (a + (b-a)*share) * float64(n)
}

// perToken is the cost of a token in passes of a class; of a class not seen yet, that of the nearest one seen.
func (c *costs) perToken(class int) float64 {
	for distance := range classes {
		// A smaller class's token costs more: asked first, it makes the first guess cautious.
		for _, i := range [2]int{class - distance, class + distance} {
			if i >= 0 && i < classes && c.class[i].weight > 0 {
				return c.class[i].perToken
			}
		}
	}
	return 0
}

// seen tells whether passes of about n tokens were measured.
func (c *costs) seen(n int) bool {
	low, share := place(n)
	if share > 0.5 && low+1 < classes {
		low++
	}
	return c.class[low].weight > 0
}
