// SPDX-License-Identifier: MIT

package estimator

import (
	"math"
	"testing"
	"time"
)

// The cost of a pass that is 1 ms a token and 1 ms for each 1,024 cells.
func plainCost(w Pass) time.Duration {
	return time.Duration(w.Tokens)*time.Millisecond + time.Duration(w.Cells)*time.Millisecond/depthUnit
}

func at(tokens, depth int) Pass { return Pass{Tokens: tokens, Cells: tokens * (depth + tokens/2)} }

// A size that ran only without depth costs as much more for each cell as the nearest one of which that is known.
func TestCosts_DepthOfOneSize_CountsForOthers(t *testing.T) {
	var c costs
	for range 20 {
		c.observe(at(64, 0), plainCost(at(64, 0)))
	}
	for i := range 200 {
		w := at(8, 100*(i%15))
		c.observe(w, plainCost(w))
	}
	got, want := c.predict(at(64, 1000)), plainCost(at(64, 1000))
	if math.Abs(got.Seconds()/want.Seconds()-1) > 0.1 {
		t.Errorf("64 tokens after 1000 are said to take %v, they take %v", got, want)
	}
}

// A pass that was held up by something else counts little, and is made good soon.
func TestCosts_OneDisturbedPass_IsForgotten(t *testing.T) {
	var c costs
	w := at(16, 300)
	for range 50 {
		c.observe(w, plainCost(w))
	}
	c.observe(w, 50*plainCost(w))
	if got := c.predict(w); got > plainCost(w)*4/3 {
		t.Errorf("after one disturbed pass %v, before %v", got, plainCost(w))
	}
	for range 20 {
		c.observe(w, plainCost(w))
	}
	if got := c.predict(w); got > plainCost(w)*102/100 {
		t.Errorf("long after a disturbed pass %v, before %v", got, plainCost(w))
	}
}
