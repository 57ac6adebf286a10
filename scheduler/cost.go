// SPDX-License-Identifier: MIT

package scheduler

import (
	"math"
	"math/bits"
	"time"
)

// costs is a running estimate of what a forward pass takes, by the number of tokens in it. The cost of a token is not the
// same in a pass of 1, 16 or 512 (other kernels, other cache behaviour), so each size class has its own estimate and
// sizes between two classes are interpolated.
//
// Sizes are powers of two. Depth, other load on the machine and thermal limits move all classes alike: drift follows them
// quickly, the classes slowly.
type costs struct {
	class [costClasses]estimate // class i: passes of 2^i tokens
	drift float64               // recent measured ÷ predicted, over all sizes
}

const (
	costClasses = 13   // up to 4,096 tokens a pass
	slow, fast  = 8, 3 // passes over which a class and the drift are averaged
)

type estimate struct {
	seconds float64 // a pass of the class's size
	weight  float64 // passes seen, at most slow
}

func newCosts() *costs { return &costs{drift: 1} }

// observe learns from a pass of n tokens that took d.
func (c *costs) observe(n int, d time.Duration) {
	if n <= 0 || d <= 0 {
		return
	}
	took := d.Seconds()
	if predicted := c.model(n); predicted > 0 {
		ratio := min(max(took/predicted, 0.25), 4)
		c.drift += (ratio - c.drift) / fast
	}
	// The pass lies between two classes: it teaches each in proportion to how near it is.
	low, share := place(n)
	c.learn(low, 1-share, took*float64(int(1)<<low)/float64(n))
	if low+1 < costClasses && share > 0 {
		c.learn(low+1, share, took*float64(int(2)<<low)/float64(n))
	}
}

func (c *costs) learn(class int, weight, seconds float64) {
	e := &c.class[class]
	e.weight = min(e.weight+weight, slow)
	if e.weight > 0 {
		e.seconds += (seconds - e.seconds) * weight / e.weight
	}
}

// place gives the class at or below n and how far n lies towards the next one, by logarithm.
func place(n int) (class int, share float64) {
	class = min(bits.Len(uint(n))-1, costClasses-1)
	return class, min(math.Log2(float64(n))-float64(class), 1)
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
	a, b := c.perToken(low), c.perToken(min(low+1, costClasses-1))
	return (a + (b-a)*share) * float64(n)
}

// perToken is the cost of a token in passes of a class; of a class not seen yet, that of the nearest one seen.
func (c *costs) perToken(class int) float64 {
	for distance := range costClasses {
		// A smaller class's token costs more: asked first, it makes the first guess cautious.
		for _, i := range [2]int{class - distance, class + distance} {
			if i >= 0 && i < costClasses && c.class[i].weight > 0 {
				return c.class[i].seconds / float64(int(1)<<i)
			}
		}
	}
	return 0
}

// most is the largest number of tokens, at most limit, that a pass may carry besides base others within a time.
func (c *costs) most(base, limit int, within time.Duration) int {
	fits := func(n int) bool { return c.predict(base+n) <= within }
	if limit <= 0 || !fits(1) {
		return 0
	}
	low, high := 1, limit // fits(low) holds; the estimate grows with n but for noise
	for low < high {
		mid := (low + high + 1) / 2
		if fits(mid) {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}
