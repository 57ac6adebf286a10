// SPDX-License-Identifier: MIT

package estimator

import "testing"

// A chunk that ends within the second of two prompts costs what both parts attend to, each at its
// own depth.
func TestDemand_Chunk_SpansPromptsOfDifferentDepth(t *testing.T) {
	d := Demand{Prompts: []Prompt{{Tokens: 10, Depth: 1000}, {Tokens: 500, Depth: 0}}, Room: 2048}
	for n, cells := range map[int]int{0: 0, 4: 4 * 1002, 10: 10 * 1005, 50: 10*1005 + 40*20, 510: 10*1005 + 500*250} {
		if got, want := d.chunk(n), (Pass{Tokens: n, Cells: cells}); got != want {
			t.Errorf("a chunk of %d is %v, not %v", n, got, want)
		}
	}
}
