// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"testing"
)

// What the program does with a model, its cases have. That its particles are the exact posterior,
// host/plugin/examples finds out, on the module.

func TestWeigh(t *testing.T) {
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }
	weights, mean, size := weigh([]particle{{log: math.Log(3) - 1000}, {log: math.Log(1) - 1000}})
	if !near(weights[0], 0.75) || !near(weights[1], 0.25) || !near(mean, math.Log(2)-1000) || !near(size, 1.6) {
		t.Errorf("the weights %v with the mean %v are worth %v particles", weights, mean, size)
	}
	if _, _, size := weigh(make([]particle, 5)); !near(size, 5) {
		t.Errorf("five equal ones are worth %v", size)
	}
	if _, mean, _ := weigh([]particle{{log: math.Inf(-1)}, {log: math.Inf(-1)}}); !math.IsInf(mean, -1) {
		t.Errorf("the mean of two that have no weight is %v", mean)
	}
}

func TestPick(t *testing.T) {
	weights := []float64{0.25, 0.5, 0.25}
	for u, want := range map[float64]int{0: 0, 0.2: 0, 0.25: 1, 0.7: 1, 0.75: 2, 0.99: 2, 1: 2} {
		if got := pick(weights, u); got != want {
			t.Errorf("at %v it is %d, want %d", u, got, want)
		}
	}
}
