// SPDX-License-Identifier: MIT

package draft

import "testing"

func TestChances_Learn_OwnCountsMoreThanOthers(t *testing.T) {
	var all, right, wrong, fresh Chances
	for range 20 {
		right.Learn(1, 4, 4, &all)
		wrong.Learn(1, 4, 0, &all)
	}
	if r, w, f := right.Of(1, &all), wrong.Of(1, &all), fresh.Of(1, &all); r < 0.9 || w > 0.15 || f < 0.5 || f > 0.9 {
		t.Errorf("where all were right %v, where none was %v, at first %v", r, w, f)
	}
	if f := fresh.Of(2, &all); f != first[2] {
		t.Errorf("another grade has %v, want %v", f, first[2])
	}
}
