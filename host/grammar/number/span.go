// SPDX-License-Identifier: MIT

package number

import (
	"strings"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// span writes the magnitudes between two limits as an expression, digit by digit: as long as a
// text's digits are those of a limit, the limit has a say in the next one. No prefix of the
// expression leads nowhere, and it has as many parts as the limits have digits.
type span struct {
	a       *lexeme.Arena
	integer bool
	// The limits' digits, wholes of one length and fractions of one length. A side that is not
	// followed has no say.
	low, high               side
	wholeSize, fractionSize int
}

// side is one limit.
type side struct {
	digits    string // those of the whole part, then of the fraction
	exclusive bool
}

// between is the magnitudes from low to high; high may be nil. Neither is negative.
func (s span) between(low, high *limit) lexeme.Expr {
	if high != nil && low.compare(high.decimal) > 0 {
		return lexeme.Nothing
	}
	shortest, longest := len(low.whole), lexeme.Unbounded
	if high != nil {
		longest = len(high.whole)
	}
	if shortest == longest {
		return s.sized(low, high)
	}
	parts := []lexeme.Expr{s.sized(low, nil)}
	middle := lexeme.Unbounded
	if high != nil {
		parts = append(parts, s.sized(nil, high))
		middle = longest - 2
	}
	if high == nil || shortest <= middle {
		more := s.a.Then(s.a.Class(positive), s.a.Repeat(s.a.Class(digit), shortest, middle))
		parts = append(parts, s.a.Then(more, s.anyFraction()))
	}
	return s.a.Or(parts...)
}

// anyFraction is a fraction, or none, where nothing bounds it.
func (s span) anyFraction() lexeme.Expr {
	if s.integer {
		return lexeme.Empty
	}
	return fractions(s.a)
}

// sized is the magnitudes whose whole part has as many digits as the limits' has. One may be nil.
func (s span) sized(low, high *limit) lexeme.Expr {
	for _, l := range []*limit{low, high} {
		if l != nil {
			s.wholeSize, s.fractionSize = len(l.whole), max(s.fractionSize, len(l.fraction))
		}
	}
	read := func(l *limit) side {
		if l == nil {
			return side{}
		}
		return side{l.whole + l.fraction + strings.Repeat("0", s.fractionSize-len(l.fraction)), l.exclusive}
	}
	s.low, s.high = read(low), read(high)
	return s.from(0, low != nil, high != nil)
}

// from is what may follow the first at digits, where these are the digits of low, of high or of
// both, as follows say.
func (s span) from(at int, followsLow, followsHigh bool) lexeme.Expr {
	switch {
	case !followsLow && !followsHigh && at >= s.wholeSize:
		if at == s.wholeSize {
			return s.anyFraction()
		}
		return digits(s.a)
	case !followsLow && !followsHigh:
		return s.a.Then(s.a.Repeat(s.a.Class(digit), s.wholeSize-at, s.wholeSize-at), s.anyFraction())
	}
	var parts []lexeme.Expr
	if at >= s.wholeSize && s.mayEnd(at, followsLow, followsHigh) {
		parts = append(parts, lexeme.Empty)
	}
	if at == s.wholeSize {
		if !s.integer {
			parts = append(parts, s.a.Then(s.a.Text("."), s.step(at, followsLow, followsHigh)))
		}
		return s.a.Or(parts...)
	}
	return s.a.Or(append(parts, s.step(at, followsLow, followsHigh))...)
}

// mayEnd reports whether the number that ends here lies in the range: where only zeros are left of
// a limit, it equals the limit.
func (s span) mayEnd(at int, followsLow, followsHigh bool) bool {
	if followsLow && (strings.Trim(s.low.digits[at:], "0") != "" || s.low.exclusive) {
		return false
	}
	return !followsHigh || !s.high.exclusive || strings.Trim(s.high.digits[at:], "0") != ""
}

// step is the digit number at and what may follow it. A limit's digits that are used up are zeros.
func (s span) step(at int, followsLow, followsHigh bool) lexeme.Expr {
	if at >= s.wholeSize+s.fractionSize {
		return s.zeros(followsLow, followsHigh)
	}
	least, most := rune('0'), rune('9')
	if at == 0 && s.wholeSize > 1 {
		least = '1'
	}
	if followsLow {
		least = rune(s.low.digits[at])
	}
	if followsHigh {
		most = rune(s.high.digits[at])
	}
	if least > most {
		return lexeme.Nothing
	}
	if least == most && followsLow == followsHigh {
		return s.a.Then(s.a.Class(lexeme.Range{Low: least, High: least}), s.after(at, followsLow, followsHigh))
	}
	var parts []lexeme.Expr
	if followsLow {
		parts = append(parts, s.a.Then(s.a.Class(lexeme.Range{Low: least, High: least}), s.after(at, true, followsHigh && least == most)))
		least++
	}
	if followsHigh && least <= most {
		parts = append(parts, s.a.Then(s.a.Class(lexeme.Range{Low: most, High: most}), s.after(at, false, true)))
		most--
	}
	if least <= most {
		parts = append(parts, s.a.Then(s.a.Class(lexeme.Range{Low: least, High: most}), s.after(at, false, false)))
	}
	return s.a.Or(parts...)
}

// after is what may follow digit number at. Within a fraction, unlike at its beginning, it may be
// nothing.
func (s span) after(at int, followsLow, followsHigh bool) lexeme.Expr {
	if at+1 > s.wholeSize && !followsLow && !followsHigh {
		return digits(s.a)
	}
	if at+1 >= s.wholeSize+s.fractionSize && at+1 > s.wholeSize {
		tail := s.zeros(followsLow, followsHigh)
		if s.mayEnd(at+1, followsLow, followsHigh) {
			return s.a.Or(lexeme.Empty, tail)
		}
		return tail
	}
	return s.from(at+1, followsLow, followsHigh)
}

// zeros is at least one digit behind those of the limits: zeros keep the number equal to them,
// other digits raise it.
func (s span) zeros(followsLow, followsHigh bool) lexeme.Expr {
	zeros := s.a.Repeat(s.a.Text("0"), 0, lexeme.Unbounded)
	equal := s.a.Then(s.a.Text("0"), zeros)
	higher := s.a.Then(zeros, s.a.Class(positive), digits(s.a))
	var parts []lexeme.Expr
	if (!followsLow || !s.low.exclusive) && (!followsHigh || !s.high.exclusive) {
		parts = append(parts, equal)
	}
	if !followsHigh {
		parts = append(parts, higher)
	}
	return s.a.Or(parts...)
}
