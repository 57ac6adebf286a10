// SPDX-License-Identifier: MIT

package penstock

// Select keeps of some branches those that indices name, in that order. A branch that is named several times is forked, and one that is not
// named is closed, before others are forked: a fork takes its place and its cells. This is what a search does between two steps.
func (r *Run) Select(branches []*Branch, indices ...int) (selected []*Branch) {
	left := make([]int, len(branches))
	for _, i := range indices {
		left[i]++
	}
	for i, b := range branches {
		if left[i] == 0 {
			b.Close()
		}
	}
	for _, i := range indices {
		b := branches[i]
		if left[i]--; left[i] > 0 {
			b = b.Fork()
		}
		selected = append(selected, b)
	}
	return selected
}
