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

// Trials become rarer, also those of answers that begin later, until a draft is right again.
func TestChances_Due_BacksOff(t *testing.T) {
	var all, c, later Chances
	trials := func(c *Chances, n int) (at []int) {
		for i := range n {
			if c.Due(&all) {
				at = append(at, i+1)
			}
		}
		return at
	}
	if got := trials(&c, 250); len(got) != 5 || got[0] != 8 || got[1] != 8+16 || got[4] != 8+16+32+64+128 {
		t.Errorf("tried at %v", got)
	}
	if got := trials(&later, 250); len(got) != 1 || got[0] != 128 {
		t.Errorf("an answer after that tried at %v", got)
	}
	c.Learn(0, 8, 5, &all)
	if got := trials(&c, 10); len(got) != 0 {
		t.Errorf("after a draft that was half right tried at %v", got)
	}
	c.Learn(0, 1, 1, &all)
	if got := trials(&c, 10); len(got) != 1 || got[0] != 1 {
		t.Errorf("after a success tried at %v", got)
	}
}
