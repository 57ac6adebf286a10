// SPDX-License-Identifier: MIT

package lexeme

import (
	"errors"
	"fmt"
	"testing"

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
		all["has "+name] = a.Then(All, x, All)
	}
	return all
}

func TestAutomata_Hostile_AreBoundedOrRefused(t *testing.T) {
	a := NewArena(200_000)
	a.left = 1 << 24
	all := hostile(a)
	if a.Err() != nil {
		t.Fatal(a.Err())
	}
	r := steadytest.Rand(t)
	const memory = 4 << 20
	follows := map[string]int{ // how many bytes some must not fail for, whichever they are
		"far from the end": 400, "has far from the end": 400, "nested counts": 800, "not nested counts": 800, "all letters": 800, "has all letters": 800,
		"square": 50, "not square": 50, "not many words": 800, "has many words": 800, "not words of equal length": 800,
	}
	for name, x := range all {
		m := NewAutomata(a, memory)
		s, err := m.Start(x, JSONString)
		n := 0
		for ; n < 800 && s != Dead && err == nil; n++ {
			var next State
			if next, err = m.Next(s, "ab"[r.IntN(2)]); err == nil {
				s = next
			}
		}
		if err != nil && !errors.Is(err, ErrTooMuch) && !errors.Is(err, ErrFull) {
			t.Errorf("%s: %v", name, err)
		}
		if n < follows[name] {
			t.Errorf("%s: %d bytes were followed, want %d: %v", name, n, follows[name], err)
		}
		if m.Size() > memory+memory/4 {
			t.Errorf("%s: %d bytes are taken, of %d", name, m.Size(), memory)
		}
		if _, err := m.Shortest(s); err != nil && !errors.Is(err, ErrTooMuch) && !errors.Is(err, ErrFull) {
			t.Errorf("%s: the shortest rest: %v", name, err)
		}
		for plain := range plains {
			m.Room(s, plain)
		}
	}
}

func TestArena_Bounds_AreErrors(t *testing.T) {
	few := NewArena(10)
	if x := few.Text("0123456789abcdef"); x != Nothing || !errors.Is(few.Err(), ErrTooMuch) {
		t.Errorf("more expressions than the bound are %d, %v", x, few.Err())
	}
	short := NewArena(1000)
	if err := short.Bounded(10, func() { short.Text("a longer text") }); !errors.Is(err, ErrTooMuch) || short.Err() != nil {
		t.Errorf("more steps than the bound: %v, and of the arena %v", err, short.Err())
	}
	before := short.left
	if err := short.Bounded(1000, func() { short.Text("a longer text") }); err != nil || short.left >= before {
		t.Errorf("what is bounded counts: %v, %d steps are left of %d", err, short.left, before)
	}
	for short.err == nil {
		short.Or(short.Text("0123456789"), All)
	}
	if !errors.Is(short.Err(), ErrTooMuch) {
		t.Errorf("an arena that was worked on without end: %v", short.Err())
	}
	a := NewArena(10_000)
	lengths := []Expr{a.Repeat(Char, 1, Unbounded)}
	for _, n := range []int{7, 11, 13, 17, 19, 23} {
		lengths = append(lengths, a.Repeat(a.Repeat(a.Class(Range{'a', 'b'}), n, n), 0, Unbounded))
	}
	hard := a.And(lengths...)
	if _, err := a.IsVoid(hard, 1000); !errors.Is(err, ErrTooMuch) {
		t.Errorf("IsVoid took more than 1000 states: %v", err)
	}
	if a.Err() != nil {
		t.Errorf("what one operation could not find out is the arena's error: %v", a.Err())
	}
	m := NewAutomata(a, 1<<20)
	if _, err := m.Start(hard, UTF8); !errors.Is(err, ErrTooMuch) && !errors.Is(err, ErrFull) {
		t.Errorf("Start: %v", err)
	}
	if _, err := m.Start(a.Text("later"), UTF8); err == nil {
		t.Error("an expression that was made after the table has a state")
	}
}
