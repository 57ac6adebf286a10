// SPDX-License-Identifier: MIT

package main

import "testing"

// What the program does with a model, its cases have.

func TestMean(t *testing.T) {
	if got := mean([]float32{-1, -2, -3, -6}); got != -3 {
		t.Errorf("the mean is %v", got)
	}
	if got := mean(nil); got != 0 {
		t.Errorf("the mean of nothing is %v", got)
	}
}
