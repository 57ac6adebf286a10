// SPDX-License-Identifier: MIT

package grammar

import (
	"fmt"
	"testing"
)

// Grammars that are followed at once keep together what they may, and each goes on as it would
// alone.
func TestMemory_BoundsAllTogether(t *testing.T) {
	const most = 6 << 20
	m := NewMemory(most)
	var all []*Grammar
	states := make([]State, 12)
	for i := range states {
		g := nested(t)
		if !m.Add(g) {
			t.Fatal("no room for its rules")
		}
		all, states[i] = append(all, g), g.Start()
	}
	alone, want := nested(t), nested(t).Start()
	largest := 0
	for i := range 900 {
		part := fmt.Sprintf("[%c%c%c,", 'a'+i%26, 'a'+i/26%26, 'a'+i%7)
		for k, g := range all {
			states[k] = follow(t, g, states[k], part)
		}
		if i == 0 {
			want = alone.Start()
		}
		want = follow(t, alone, want, part)
		largest = max(largest, m.Used())
	}
	sum := 0
	for _, g := range all {
		sum += g.Fixed() + g.size()
	}
	if largest > most+len(all)*leastKept || sum > most+len(all)*(leastKept+2*tellStep) {
		t.Errorf("they took %d bytes, at the end %d, of %d", largest, sum, most)
	}
	if one := alone.size(); 12*one < 2*most {
		t.Errorf("alone one takes %d bytes: nothing had to be forgotten", one)
	}
	rest := "z"
	for range 900 {
		rest += "]"
	}
	for k, g := range all {
		if s := follow(t, g, states[k], rest); !g.Complete(s) {
			t.Errorf("grammar %d: the text is not complete", k)
		}
	}
	if s := follow(t, alone, want, rest); !alone.Complete(s) {
		t.Error("alone: the text is not complete")
	}
}

// A grammar counts until it is removed.
func TestMemory_Remove(t *testing.T) {
	one := nested(t).Fixed()
	m := NewMemory(7 * one) // half of it is for rules
	var all []*Grammar
	for len(all) < 10 {
		g := nested(t)
		if !m.Add(g) {
			break
		}
		all = append(all, g)
	}
	if len(all) != 3 {
		t.Fatalf("room for %d", len(all))
	}
	follow(t, all[1], all[1].Start(), "[[[[")
	for i, g := range all {
		if m.Add(nested(t)) {
			t.Fatalf("room for another while %d count", len(all)-i)
		}
		if m.Remove(g); !m.Add(g) {
			t.Fatal("no room in the place of the removed one")
		}
	}
	for _, g := range all {
		m.Remove(g)
	}
	if m.Used() != 0 {
		t.Errorf("%d bytes count that nobody has", m.Used())
	}
}
