// SPDX-License-Identifier: MIT

package main

import "testing"

// What the program does with a model, its cases have.

func TestBest_KeepsTheFirstOfEquals(t *testing.T) {
	all := []hypothesis{{from: 0, sum: -3}, {from: 1, sum: -1}, {from: 2, sum: -3}, {from: 3, sum: -1}}
	for n, want := range map[int][]int{0: {}, 3: {1, 3, 0}, 9: {1, 3, 0, 2}} {
		got := best(append([]hypothesis(nil), all...), n)
		if len(got) != len(want) {
			t.Fatalf("the best %d of 4 are %d", n, len(got))
		}
		for i, from := range want {
			if got[i].from != from {
				t.Errorf("the best %d: %+v, want those of the branches %v", n, got, want)
			}
		}
	}
}
