// SPDX-License-Identifier: MIT

package number

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// maxRemainders bounds the states of a multiple's machine: some hundred kilobytes.
const maxRemainders = 4_096

// multiplesOf is the plain numbers of either sign that are multiples of one.
func multiplesOf(a *lexeme.Arena, text string) (lexeme.Expr, error) {
	d, err := parseDecimal(text)
	if err != nil {
		return lexeme.Nothing, err
	}
	if d.negative || d.isZero() {
		return lexeme.Nothing, fmt.Errorf("multipleOf %.60s is not above 0", text)
	}
	step := strings.TrimLeft(d.whole+d.fraction, "0")
	unit := strings.TrimRight(step, "0")
	if unit == "1" {
		return a.Then(optionalSign(a), multiplesOfPower(a, len(step)-1, len(d.fraction))), nil
	}
	modulus, ok := new(big.Int).SetString(step, 10)
	if !ok || !modulus.IsInt64() || modulus.Int64() > maxRemainders || modulus.Int64()*int64(len(d.fraction)+1) > maxRemainders {
		return lexeme.Nothing, fmt.Errorf("multipleOf %.60s has too many remainders: its digits without the point times the number of decimals is above %d", text, maxRemainders)
	}
	t := remainderMachine(modulus.Int64(), len(d.fraction))
	return a.Then(optionalSign(a), a.Machine(t, 0)), nil
}

// multiplesOfPower is the multiples of a power of ten: numbers that end in zeros, or that have so
// many decimals with only zeros behind them.
func multiplesOfPower(a *lexeme.Arena, zeros, decimals int) lexeme.Expr {
	whole := wholeDigits(a)
	if zeros > 0 {
		whole = a.Or(a.Text("0"), a.Then(a.Class(positive), anyDigits(a), a.Text(strings.Repeat("0", zeros))))
	}
	some := a.Repeat(a.Text("0"), 0, lexeme.Unbounded)
	fraction := a.Then(a.Text("0"), some)
	if decimals > 0 {
		fraction = a.Then(a.Repeat(a.Class(digit), 1, decimals), some)
	}
	return a.Then(whole, a.Or(lexeme.Empty, a.Then(a.Text("."), fraction)))
}

// The states of remainders that have no remainder of their own.
const (
	beginning = iota
	onlyZero  // the whole part is 0, which no digit may follow
	zeroTail  // the number is a multiple, which only zeros may follow
	withRemainder
)

// point is the number of the decimal point's symbol, behind the ten digits.
const point = 10

// remainderMachine is a machine of the magnitudes that are, times 10^decimals, multiples of
// modulus: it divides as on paper. Its state is the remainder of the digits so far, and how many of
// these are decimals.
func remainderMachine(modulus int64, decimals int) *lexeme.Machine {
	t := &lexeme.Machine{}
	for d := rune('0'); d <= '9'; d++ {
		t.Symbols = append(t.Symbols, lexeme.Range{Low: d, High: d})
	}
	t.Symbols = append(t.Symbols, lexeme.Range{Low: '.', High: '.'})
	// Whole parts come first, then points, then numbers of one decimal and of more; those of all
	// decimals are zeroTail, or fit nothing.
	state := func(group int, remainder int64) int32 { return int32(withRemainder + int64(group)*modulus + remainder) }
	powers := make([]int64, decimals+1) // 10^n, modulo modulus
	powers[0] = 1 % modulus
	for n := range decimals {
		powers[n+1] = powers[n] * 10 % modulus
	}
	add := func(final bool, next func(d int) int32, afterPoint int32) {
		for d := range point {
			t.Next = append(t.Next, next(d))
		}
		t.Next = append(t.Next, afterPoint)
		t.Final = append(t.Final, final)
	}
	fraction := func(remainder int64) int32 { // the state behind a point
		if decimals == 0 && remainder != 0 {
			return lexeme.NoState
		}
		return state(1, remainder)
	}
	add(false, func(d int) int32 {
		if d == 0 {
			return onlyZero
		}
		return state(0, int64(d)%modulus)
	}, lexeme.NoState)
	add(true, func(int) int32 { return lexeme.NoState }, fraction(0))
	add(true, zerosOnly, lexeme.NoState)
	for r := range modulus {
		add(r*powers[decimals]%modulus == 0, func(d int) int32 { return state(0, (r*10+int64(d))%modulus) }, fraction(r))
	}
	for read := range max(1, decimals) {
		for r := range modulus {
			final := read > 0 && r*powers[decimals-read]%modulus == 0
			add(final, func(d int) int32 {
				next := (r*10 + int64(d)) % modulus
				switch {
				case decimals == 0:
					return zerosOnly(d)
				case read+1 < decimals:
					return state(read+2, next)
				case next == 0:
					return zeroTail
				}
				return lexeme.NoState
			}, lexeme.NoState)
		}
	}
	pruneDead(t, int(state(1, 0)))
	return t
}

// pruneDead removes the edges to states from which no digits lead to a multiple, from the last
// state to first: each leads only to later ones or to zeroTail.
func pruneDead(t *lexeme.Machine, first int) {
	const symbols = point + 1
	for s := len(t.Final) - 1; s >= 0; s-- {
		for i := s * symbols; i < (s+1)*symbols; i++ {
			if next := int(t.Next[i]); next >= first && !t.Final[next] && isDead(t.Next[next*symbols:(next+1)*symbols]) {
				t.Next[i] = lexeme.NoState
			}
		}
	}
}

// isDead reports whether a state leads nowhere.
func isDead(row []int32) bool {
	for _, next := range row {
		if next != lexeme.NoState {
			return false
		}
	}
	return true
}

// zerosOnly is the next state after a digit behind the last decimal.
func zerosOnly(d int) int32 {
	if d == 0 {
		return zeroTail
	}
	return lexeme.NoState
}
