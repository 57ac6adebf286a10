// SPDX-License-Identifier: MIT

// Package number makes expressions of JSON numbers: between bounds of any size, and multiples of
// decimals.
//
// A number is its value, so 1.50 is a multiple of 0.5 and 7.0 is not above 7. What the expressions
// leave out is how a number may be spelled besides: multiples have no exponent, and where there are
// bounds only numbers such as 1e-07 and 2.5e+16 have one, which their digits show to be small or
// large enough; integers have no fraction, since many readers take 1.0 for none; and -0 only stands
// where a number below 0 may, so that a model that must not go below 0 is not led to a minus sign.
package number

import "github.com/penstock/penstock/host/grammar/lexeme"

// Bound is a limit of a range: a JSON number, as it stands in the schema.
type Bound struct {
	Value     string
	Exclusive bool // the limit itself is out of the range
}

// Range says which numbers fit. Of several bounds on one side the narrowest counts, and a number is
// a multiple of each of MultipleOf, JSON numbers above 0.
type Range struct {
	Integer    bool
	Min, Max   []Bound
	MultipleOf []string
}

var (
	digit    = lexeme.Range{Low: '0', High: '9'}
	positive = lexeme.Range{Low: '1', High: '9'}
)

// Any is every JSON number. Exponents are at most 307.
func Any(a *lexeme.Arena) lexeme.Expr {
	signs := a.Or(lexeme.Empty, a.Text("+"), a.Text("-"))
	return a.Then(Plain(a), a.Or(lexeme.Empty, exponent(a, signs, 0, maxExponent)))
}

// Plain is every JSON number without an exponent: what complements of ranges are intersected with.
func Plain(a *lexeme.Arena) lexeme.Expr {
	return a.Then(sign(a), wholes(a), fractions(a))
}

// Single is every JSON number, in one spelling each: without an exponent, and with no more digits
// than it takes.
func Single(a *lexeme.Arena) lexeme.Expr {
	fraction := a.Or(lexeme.Empty, a.Then(a.Text("."), digits(a), a.Class(positive)))
	return a.And(a.Then(sign(a), wholes(a), fraction), a.Not(a.Text("-0")))
}

// Integers is every integer that Range.Integer takes.
func Integers(a *lexeme.Arena) lexeme.Expr { return a.Then(sign(a), wholes(a)) }

func sign(a *lexeme.Arena) lexeme.Expr { return a.Or(lexeme.Empty, a.Text("-")) }

func wholes(a *lexeme.Arena) lexeme.Expr {
	return a.Or(a.Text("0"), a.Then(a.Class(positive), digits(a)))
}

// fractions is a fraction, or none.
func fractions(a *lexeme.Arena) lexeme.Expr {
	return a.Or(lexeme.Empty, a.Then(a.Text("."), a.Repeat(a.Class(digit), 1, lexeme.Unbounded)))
}

// digits is any digits, or none.
func digits(a *lexeme.Arena) lexeme.Expr { return a.Repeat(a.Class(digit), 0, lexeme.Unbounded) }

// Numbers is the expression of the numbers in r; lexeme.Nothing where none fits a bound.
//
// # Errors
//   - A bound or a multiple is no JSON number, or has more than 400 digits.
//   - A multiple is not above 0, or so large that its remainders are too many.
func Numbers(a *lexeme.Arena, r Range) (lexeme.Expr, error) {
	low, err := narrowest(r.Min, func(a, b decimal) bool { return a.compare(b) > 0 })
	if err != nil {
		return lexeme.Nothing, err
	}
	high, err := narrowest(r.Max, func(a, b decimal) bool { return a.compare(b) < 0 })
	if err != nil {
		return lexeme.Nothing, err
	}
	var x lexeme.Expr
	switch {
	case low != nil || high != nil:
		x = bounded(a, low, high, r.Integer, !r.Integer && len(r.MultipleOf) == 0)
	case r.Integer:
		x = Integers(a)
	case len(r.MultipleOf) == 0:
		x = Any(a)
	default:
		x = Plain(a)
	}
	for _, text := range r.MultipleOf {
		multiples, err := multiple(a, text)
		if err != nil {
			return lexeme.Nothing, err
		}
		x = a.And(x, multiples)
	}
	return x, a.Err()
}

// limit is a Bound whose digits were read.
type limit struct {
	decimal
	exclusive bool
}

// narrowest is the bound that no other one is narrower than, nil without bounds.
func narrowest(bounds []Bound, narrower func(a, b decimal) bool) (*limit, error) {
	var found *limit
	for _, b := range bounds {
		d, err := parse(b.Value)
		if err != nil {
			return nil, err
		}
		switch {
		case found == nil || narrower(d, found.decimal):
			found = &limit{d, b.Exclusive}
		case !narrower(found.decimal, d):
			found.exclusive = found.exclusive || b.Exclusive
		}
	}
	return found, nil
}

// bounded is the numbers between two limits, of which one may be nil.
func bounded(a *lexeme.Arena, low, high *limit, integer, exponents bool) lexeme.Expr {
	if integer {
		low, high = rounded(low), mirrored(rounded(mirrored(high)))
	}
	span := span{a: a, integer: integer}
	least, most := &limit{decimal: zero}, &limit{decimal: zero}
	if low != nil && !low.negative {
		least = low
	}
	if high != nil && high.negative {
		most = mirrored(high)
	}
	magnitudes := func(low, high *limit) lexeme.Expr {
		x := span.between(low, high)
		if exponents && x != lexeme.Nothing {
			x = a.Or(x, scientific(a, low, high))
		}
		return x
	}
	positives, negatives := lexeme.Nothing, lexeme.Nothing
	if high == nil || !high.negative {
		positives = magnitudes(least, high)
	}
	if low == nil || low.negative {
		if high != nil && high.isZero() && high.exclusive {
			most = high // so -0 does not fit either
		}
		negatives = a.Then(a.Text("-"), magnitudes(most, mirrored(low)))
	}
	return a.Or(positives, negatives)
}

// mirrored is the limit of the other sign.
func mirrored(l *limit) *limit {
	if l == nil {
		return nil
	}
	return &limit{l.negated(), l.exclusive}
}

// rounded is the least integer that a lower limit takes, as a limit.
func rounded(l *limit) *limit {
	if l == nil {
		return nil
	}
	d := l.ceiling()
	if l.exclusive && l.compare(d) == 0 {
		d = d.next()
	}
	return &limit{decimal: d}
}
