// SPDX-License-Identifier: MIT

package lexeme_test

import (
	"strconv"
	"testing"

	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/tools/steadytest"
)

// remainders is the digits, none or more, of multiples of a number.
func remainders(of int) *lexeme.Automaton {
	t := &lexeme.Automaton{Final: make([]bool, of)}
	t.Final[0] = true
	for d := '9'; d >= '0'; d-- { // in no order
		t.Symbols = append(t.Symbols, lexeme.Range{Low: d, High: d})
	}
	for r := range of {
		for d := 9; d >= 0; d-- {
			t.Next = append(t.Next, int32((r*10+d)%of))
		}
	}
	return t
}

func TestArena_Automaton_WithinOtherExpressions(t *testing.T) {
	r := steadytest.Rand(t)
	a := lexeme.NewArena(10_000)
	sevens, twelves := a.Automaton(remainders(7), 0), a.Automaton(remainders(12), 0)
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

func TestArena_Automaton_CountsItsStates(t *testing.T) {
	a := lexeme.NewArena(1000)
	if a.Automaton(remainders(2000), 0); a.Err() == nil {
		t.Error("an automaton has more states than the arena may have expressions")
	}
}

func TestArena_Automaton_LeavesOutWhatHasNoSymbol(t *testing.T) {
	a := lexeme.NewArena(100)
	x := a.Automaton(&lexeme.Automaton{
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
