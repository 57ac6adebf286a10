// SPDX-License-Identifier: MIT

package lexeme_test

import (
	"strconv"
	"testing"

	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/tools/steadytest"
)

// remainders is the digits, none or more, of multiples of a number.
func remainders(of int) *lexeme.Machine {
	m := &lexeme.Machine{Final: make([]bool, of)}
	m.Final[0] = true
	for d := '9'; d >= '0'; d-- { // in no order
		m.Symbols = append(m.Symbols, lexeme.Range{Low: d, High: d})
	}
	for r := range of {
		for d := 9; d >= 0; d-- {
			m.Next = append(m.Next, int32((r*10+d)%of))
		}
	}
	return m
}

func TestArena_Machine_WithinOtherExpressions(t *testing.T) {
	r := steadytest.Rand(t)
	a := lexeme.NewArena(10_000)
	sevens, twelves := a.Machine(remainders(7), 0), a.Machine(remainders(12), 0)
	x := a.Then(a.And(sevens, a.Not(twelves)), a.Text("!"))
	for range 2_000 {
		n := r.IntN(1000)
		got, err := a.Match(x, strconv.Itoa(n)+"!")
		if want := n%7 == 0 && n%12 != 0; err != nil || got != want {
			t.Fatalf("%d: %v, %v, want %v", n, got, err, want)
		}
	}
	if void, err := a.IsVoid(a.And(sevens, a.Text("15")), 1000); err != nil || !void {
		t.Errorf("15 is a multiple of 7: void %v, %v", void, err)
	}
	if fits, err := a.Match(sevens, "7x"); err != nil || fits {
		t.Errorf("a letter fits: %v", err)
	}
}

func TestArena_Machine_CountsItsStates(t *testing.T) {
	a := lexeme.NewArena(1000)
	if a.Machine(remainders(2000), 0); a.Err() == nil {
		t.Error("a machine has more states than the arena may have expressions")
	}
}

func TestArena_Machine_LeavesOutWhatHasNoSymbol(t *testing.T) {
	a := lexeme.NewArena(100)
	x := a.Machine(&lexeme.Machine{
		Symbols: []lexeme.Range{{Low: 'a', High: 'c'}, {Low: 'x', High: 'x'}},
		Next:    []int32{1, lexeme.NoState, lexeme.NoState, 0},
		Final:   []bool{false, true},
	}, 0)
	for text, want := range map[string]bool{"a": true, "c": true, "": false, "d": false, "x": false, "ab": false, "ax": false, "axb": true} {
		if got, err := a.Match(x, text); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestArena_Machine_InAutomata(t *testing.T) {
	a := lexeme.NewArena(10_000)
	x := a.Then(a.Text("n"), a.Machine(remainders(7), 3)) // 3 is behind a first digit 3
	automata := lexeme.NewAutomata(a, 1<<20)
	s, err := automata.Start(x, lexeme.UTF8)
	for _, b := range []byte("n") {
		if err == nil {
			s, err = automata.Next(s, b)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if n, err := automata.Shortest(s); n != 1 || err != nil { // 35
		t.Errorf("the shortest rest has %d bytes, %v", n, err)
	}
}
