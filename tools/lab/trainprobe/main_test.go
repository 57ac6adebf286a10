// SPDX-License-Identifier: MIT

package main

import (
	"math/rand/v2"
	"testing"
)

// A network learns what it can: a plane a line, a hidden layer what no plane tells apart.
func TestTrain_FindsWhatIsThere(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var plane, apart []example
	for range 200 {
		state := []float64{100 + 3*rng.NormFloat64(), rng.NormFloat64() / 50}
		label := func(is bool) int {
			if is {
				return 1
			}
			return 0
		}
		plane = append(plane, example{state, label(state[0]-100 > 150*state[1])})
		apart = append(apart, example{state, label((state[0] > 100) == (state[1] > 0))})
	}
	if n := right(train(plane, 0), plane); n < 195 {
		t.Errorf("a linear probe gets %d of 200 right", n)
	}
	if n := right(train(apart, 0), apart); n > 150 {
		t.Errorf("a linear probe gets %d of 200 right, which no plane tells apart", n)
	}
	if n := right(train(apart, 12), apart); n < 180 {
		t.Errorf("a probe with a hidden layer gets %d of 200 right", n)
	}
}
