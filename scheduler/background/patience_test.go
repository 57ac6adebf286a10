// SPDX-License-Identifier: MIT

package background

import (
	"slices"
	"testing"
)

func TestPatience_After_WaitsEverMoreSeldomForOneThatIsLate(t *testing.T) {
	var p Patience
	var waited []int
	draw := func(n int, inTime bool) {
		if p.none == 0 {
			waited = append(waited, n)
		}
		p.After(inTime)
	}
	for n := range 200 {
		draw(n, false)
	}
	if want := []int{0, 2, 6, 14, 30, 62, 126, 190}; !slices.Equal(waited, want) {
		t.Errorf("it is always late and waited for at %v, want %v", waited, want)
	}
	waited = nil
	draw(0, true)
	for n := range 4 {
		draw(n+1, n > 0)
	}
	if want := []int{1, 3, 4}; !slices.Equal(waited, want) { // 0 was one of those without a wait
		t.Errorf("late but once it is waited for at %v, want %v", waited, want)
	}
}
