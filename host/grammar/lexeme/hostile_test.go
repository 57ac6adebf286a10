// SPDX-License-Identifier: MIT

package lexeme

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/steadytest"
)

// hostile are expressions that are small to write and large to follow.
func hostile(a *Arena) map[string]Expr {
	ab := a.Class(Range{'a', 'b'})
	letter := Range{'a', 'a'}
	has := func(r rune) Expr { return a.Then(All, a.Class(Range{r, r}), All) }
	all := map[string]Expr{
		"far from the end":      a.Then(a.Repeat(ab, 0, Unbounded), a.Class(letter), a.Repeat(ab, 1000, 1000)),
		"nested counts":         a.Repeat(a.Repeat(a.Repeat(a.Then(a.Repeat(ab, 1, 100), a.Class(letter)), 1, 100), 2, 100), 2, 100),
		"nested optional":       Empty,
		"all letters":           Char,
		"distinct letters":      All,
		"many words":            Nothing,
		"square":                a.Repeat(a.Then(a.Repeat(ab, 0, 1000), a.Class(letter), a.Repeat(ab, 0, 1000)), 0, 1000),
		"words of equal length": All,
	}
	for range 200 {
		all["nested optional"] = a.Repeat(a.Or(a.Then(all["nested optional"], ab), a.Class(letter)), 0, 2)
	}
	var words, lengths []Expr
	for i := range 26 {
		all["all letters"] = a.And(all["all letters"], has(rune('a'+i)))
		if i == 0 {
			all["all letters"] = has('a')
		}
		all["distinct letters"] = a.And(all["distinct letters"], a.Not(a.Then(has(rune('a'+i)), a.Class(Range{rune('a' + i), rune('a' + i)}), All)))
	}
	for i := range 5000 {
		words = append(words, a.Text(fmt.Sprintf("%c%c%x", 'a'+i%26, 'a'+i/26%26, i)))
	}
	all["many words"] = a.Or(words...)
	for _, n := range []int{7, 11, 13, 17, 19, 23} {
		lengths = append(lengths, a.Repeat(a.Repeat(ab, n, n), 0, Unbounded))
	}
	all["words of equal length"] = a.And(append(lengths, a.Repeat(Char, 1, Unbounded))...)
	for name, x := range all {
		all["not "+name] = a.Not(x)
		all["begins with "+name] = a.Then(x, All)
		all["has "+name] = a.Then(All, x, All)
		all["has not "+name] = a.Not(a.Then(All, x, All))
	}
	return all
}

func TestAutomata_Hostile_AreBoundedOrRefused(t *testing.T) {
	a := NewArena(200_000)
	all := hostile(a)
	if a.Err() != nil {
		t.Fatal(a.Err())
	}
	r := steadytest.Rand(t)
	const memory = 8 << 20
	for name, x := range all {
		m := NewAutomata(a, memory)
		began := time.Now()
		s, err := m.Start(x, JSONString)
		n, slowest := 0, time.Duration(0)
		for ; n < 3000 && err == nil; n++ {
			before := time.Now()
			var next State
			if next, err = m.Next(s, "ab"[r.IntN(2)]); next == Dead {
				break
			}
			slowest = max(slowest, time.Since(before))
			s = next
		}
		if err != nil && !errors.Is(err, ErrTooMuch) && !errors.Is(err, ErrFull) {
			t.Errorf("%s: %v", name, err)
		}
		if m.Size() > 2*memory {
			t.Errorf("%s: %d bytes", name, m.Size())
		}
		size, err2 := m.Shortest(s)
		t.Logf("%-32s %4d bytes, %6d states, %8d B, slowest %8v, all %8v: %v; shortest %d %v", name, n, m.Len(), m.Size(), slowest.Round(time.Microsecond), time.Since(began).Round(time.Millisecond), err, size, err2)
	}
}
