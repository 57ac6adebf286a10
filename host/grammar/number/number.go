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

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// Bound is a limit of a range: a JSON number, as the schema writes it.
type Bound struct {
	Value     string
	Exclusive bool // the range does not contain the limit itself
}

// Range says which numbers fit. Of several bounds on one side the narrowest counts. A number must
// be a multiple of each of MultipleOf, which are JSON numbers above 0.
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
	return a.Then(Plain(a), a.Or(lexeme.Empty, exponentBetween(a, signs, 0, maxExponent)))
}

// Plain is every JSON number without an exponent. Complements of ranges are intersected with it.
func Plain(a *lexeme.Arena) lexeme.Expr {
	return a.Then(optionalSign(a), wholeDigits(a), optionalFraction(a))
}

// Single is every JSON number in just one spelling: without an exponent, and with no more digits
// than it takes.
func Single(a *lexeme.Arena) lexeme.Expr {
	fraction := a.Or(lexeme.Empty, a.Then(a.Text("."), anyDigits(a), a.Class(positive)))
	return a.And(a.Then(optionalSign(a), wholeDigits(a), fraction), a.Not(a.Text("-0")))
}

// integers is every integer that Range.Integer allows.
func integers(a *lexeme.Arena) lexeme.Expr { return a.Then(optionalSign(a), wholeDigits(a)) }

func optionalSign(a *lexeme.Arena) lexeme.Expr { return a.Or(lexeme.Empty, a.Text("-")) }

func wholeDigits(a *lexeme.Arena) lexeme.Expr {
	return a.Or(a.Text("0"), a.Then(a.Class(positive), anyDigits(a)))
}

func optionalFraction(a *lexeme.Arena) lexeme.Expr {
	return a.Or(lexeme.Empty, a.Then(a.Text("."), a.Repeat(a.Class(digit), 1, lexeme.Unbounded)))
}

func anyDigits(a *lexeme.Arena) lexeme.Expr { return a.Repeat(a.Class(digit), 0, lexeme.Unbounded) }

// Numbers is the expression of the numbers in r; lexeme.Nothing where none lies within the bounds.
//
// # Errors
//   - A bound or a multiple is not a JSON number, or has more than 400 digits.
//   - A multiple is not above 0, or so large that it has too many remainders.
func Numbers(a *lexeme.Arena, r Range) (lexeme.Expr, error) {
	low, err := findNarrowest(r.Min, func(a, b decimal) bool { return a.compare(b) > 0 })
	if err != nil {
		return lexeme.Nothing, err
	}
	high, err := findNarrowest(r.Max, func(a, b decimal) bool { return a.compare(b) < 0 })
	if err != nil {
		return lexeme.Nothing, err
	}
	var x lexeme.Expr
	switch {
	case low != nil || high != nil:
		x = numbersBetween(a, low, high, r.Integer, !r.Integer && len(r.MultipleOf) == 0)
	case r.Integer:
		x = integers(a)
	case len(r.MultipleOf) == 0:
		x = Any(a)
	default:
		x = Plain(a)
	}
	for _, text := range r.MultipleOf {
		multiples, err := multiplesOf(a, text)
		if err != nil {
			return lexeme.Nothing, err
		}
		x = a.And(x, multiples)
	}
	return x, a.Err()
}

// limit is a Bound whose digits are read.
type limit struct {
	decimal
	exclusive bool
}

// findNarrowest returns the narrowest bound, nil without bounds.
func findNarrowest(bounds []Bound, narrower func(a, b decimal) bool) (*limit, error) {
	var found *limit
	for _, b := range bounds {
		d, err := parseDecimal(b.Value)
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

// numbersBetween is the numbers between two limits, each of which may be nil.
func numbersBetween(a *lexeme.Arena, low, high *limit, integer, exponents bool) lexeme.Expr {
	if integer {
		low, high = roundUp(low), mirrorLimit(roundUp(mirrorLimit(high)))
	}
	span := span{a: a, integer: integer}
	least, most := &limit{decimal: zero}, &limit{decimal: zero}
	if low != nil && !low.negative {
		least = low
	}
	if high != nil && high.negative {
		most = mirrorLimit(high)
	}
	magnitudes := func(low, high *limit) lexeme.Expr {
		x := span.between(low, high)
		if exponents && x != lexeme.Nothing {
			x = a.Or(x, scientificBetween(a, low, high))
		}
		return x
	}
	positives, negatives := lexeme.Nothing, lexeme.Nothing
	if high == nil || !high.negative {
		positives = magnitudes(least, high)
	}
	if low == nil || low.negative {
		if high != nil && high.isZero() && high.exclusive {
			most = high // so that -0 does not fit either
		}
		negatives = a.Then(a.Text("-"), magnitudes(most, mirrorLimit(low)))
	}
	return a.Or(positives, negatives)
}

// mirrorLimit returns the limit of the other sign.
func mirrorLimit(l *limit) *limit {
	if l == nil {
		return nil
	}
	return &limit{l.negated(), l.exclusive}
}

// roundUp returns the least integer that a lower limit allows, as a limit.
func roundUp(l *limit) *limit {
	if l == nil {
		return nil
	}
	d := l.ceiling()
	if l.exclusive && l.compare(d) == 0 {
		d = d.next()
	}
	return &limit{decimal: d}
}

// maxExponent keeps numbers in the range of 64-bit floats, so that usual readers take them.
const maxExponent = 307

// exponentBetween is an exponent between two that are not negative, with a sign in front.
func exponentBetween(a *lexeme.Arena, sign lexeme.Expr, least, most int) lexeme.Expr {
	span := span{a: a, integer: true}
	value := span.between(&limit{decimal: decimal{whole: strconv.Itoa(least)}}, &limit{decimal: decimal{whole: strconv.Itoa(most)}})
	return a.Then(a.Or(a.Text("e"), a.Text("E")), sign, a.Repeat(a.Text("0"), 0, 2), value)
}

// scientificBetween is the numbers in a range that have an exponent, as far as their digits show
// that: with one digit, which is not 0, before the point, a number lies between 0 and 1 if its
// exponent is negative; otherwise its whole part has one digit more than the exponent says. That is
// how other programs write small and large numbers. The limits are of magnitudes.
func scientificBetween(a *lexeme.Arena, low, high *limit) lexeme.Expr {
	mantissa := a.Then(a.Class(positive), optionalFraction(a))
	var exponents []lexeme.Expr
	if low.isZero() && (high == nil || high.whole != "0") {
		exponents = append(exponents, exponentBetween(a, a.Text("-"), 1, maxExponent))
	}
	if least := len(low.whole); high == nil && least <= maxExponent {
		if low.isZero() {
			least = 0
		}
		exponents = append(exponents, exponentBetween(a, a.Or(lexeme.Empty, a.Text("+")), least, maxExponent))
	}
	return a.Then(mantissa, a.Or(exponents...))
}

// maxDigits bounds the digits of a bound or a multiple, without its exponent. The largest 64-bit
// float has 309, the smallest 324.
const maxDigits = 400

// decimal is a number as its digits. whole has no leading zeros, except "0" itself, and fraction no
// trailing ones.
type decimal struct {
	negative        bool
	whole, fraction string
}

var zero = decimal{whole: "0"}

// parseDecimal reads a JSON number.
func parseDecimal(text string) (decimal, error) {
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(text), "e")
	shift := 0
	if scientific {
		var err error
		if shift, err = strconv.Atoi(exponent); err != nil || shift > maxDigits || shift < -maxDigits {
			return decimal{}, newTooLarge(text)
		}
	}
	magnitude, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(magnitude, ".")
	if whole == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return decimal{}, fmt.Errorf("%.60q is not a JSON number", text)
	}
	if shift > 0 {
		fraction += strings.Repeat("0", max(0, shift-len(fraction)))
		whole, fraction = whole+fraction[:shift], fraction[shift:]
	} else if shift < 0 {
		whole = strings.Repeat("0", max(0, -shift-len(whole))) + whole
		cut := len(whole) + shift
		whole, fraction = whole[:cut], whole[cut:]+fraction
	}
	d := decimal{negative, strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")}
	if len(d.whole)+len(d.fraction) > maxDigits {
		return decimal{}, newTooLarge(text)
	}
	if d.whole == "" {
		d.whole = "0"
	}
	if d.isZero() {
		d.negative = false
	}
	return d, nil
}

// newTooLarge is the error of a number with too many digits.
func newTooLarge(text string) error {
	return fmt.Errorf("the number %.60s is too large or too precise: without its exponent it has more than %d digits", text, maxDigits)
}

func (d decimal) isZero() bool { return d.whole == "0" && d.fraction == "" }

// magnitude is d without its sign.
func (d decimal) magnitude() decimal { return decimal{whole: d.whole, fraction: d.fraction} }

// compare is negative where d is less than other, and 0 where they are equal.
func (d decimal) compare(other decimal) int {
	switch {
	case d.negative && other.negative:
		return other.magnitude().compare(d.magnitude())
	case d.negative:
		return -1
	case other.negative:
		return 1
	case len(d.whole) != len(other.whole):
		return len(d.whole) - len(other.whole)
	case d.whole != other.whole:
		return strings.Compare(d.whole, other.whole)
	}
	return strings.Compare(d.fraction, other.fraction)
}

// floor is the greatest integer that is not above d.
func (d decimal) floor() decimal {
	if d.fraction == "" || !d.negative {
		return decimal{negative: d.negative && d.whole != "0", whole: d.whole}
	}
	n, _ := new(big.Int).SetString(d.whole, 10)
	return decimal{negative: true, whole: n.Add(n, big.NewInt(1)).String()}
}

// negated is -d.
func (d decimal) negated() decimal {
	return decimal{negative: !d.negative && !d.isZero(), whole: d.whole, fraction: d.fraction}
}

// ceiling is the least integer that is not below d.
func (d decimal) ceiling() decimal { return d.negated().floor().negated() }

// next is the integer that comes after d, an integer.
func (d decimal) next() decimal {
	n, _ := new(big.Int).SetString(d.whole, 10)
	if d.negative {
		n.Neg(n)
	}
	n.Add(n, big.NewInt(1))
	return decimal{negative: n.Sign() < 0, whole: n.Abs(n).String()}
}

// span makes an expression of the magnitudes between two limits, digit by digit: as long as a
// text's digits are those of a limit, the limit bounds the next one. No prefix of the expression is
// a dead end, and it has as many parts as the limits have digits.
type span struct {
	a       *lexeme.Arena
	integer bool
	// The limits' digits, padded so that whole parts have one length, and fractions one length. A
	// side bounds a number only while its digits are followed.
	low, high               side
	wholeSize, fractionSize int
}

// side is the digits of one limit.
type side struct {
	digits    string // of the whole part, then of the fraction
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
		return s.sameLength(low, high)
	}
	parts := []lexeme.Expr{s.sameLength(low, nil)}
	middle := lexeme.Unbounded
	if high != nil {
		parts = append(parts, s.sameLength(nil, high))
		middle = longest - 2
	}
	if high == nil || shortest <= middle {
		more := s.a.Then(s.a.Class(positive), s.a.Repeat(s.a.Class(digit), shortest, middle))
		parts = append(parts, s.a.Then(more, s.anyFraction()))
	}
	return s.a.Or(parts...)
}

// anyFraction is an optional fraction that nothing bounds.
func (s span) anyFraction() lexeme.Expr {
	if s.integer {
		return lexeme.Empty
	}
	return optionalFraction(s.a)
}

// sameLength is the magnitudes whose whole part is as long as the limits'. One limit may be nil.
func (s span) sameLength(low, high *limit) lexeme.Expr {
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
	return s.restAt(0, low != nil, high != nil)
}

// restAt is what may follow the first at digits, where these equal those of low, of high, or of
// both.
func (s span) restAt(at int, followsLow, followsHigh bool) lexeme.Expr {
	switch {
	case !followsLow && !followsHigh && at >= s.wholeSize:
		if at == s.wholeSize {
			return s.anyFraction()
		}
		return anyDigits(s.a)
	case !followsLow && !followsHigh:
		return s.a.Then(s.a.Repeat(s.a.Class(digit), s.wholeSize-at, s.wholeSize-at), s.anyFraction())
	}
	var parts []lexeme.Expr
	if at >= s.wholeSize && s.mayEnd(at, followsLow, followsHigh) {
		parts = append(parts, lexeme.Empty)
	}
	if at == s.wholeSize {
		if !s.integer {
			parts = append(parts, s.a.Then(s.a.Text("."), s.digitAt(at, followsLow, followsHigh)))
		}
		return s.a.Or(parts...)
	}
	return s.a.Or(append(parts, s.digitAt(at, followsLow, followsHigh))...)
}

// mayEnd reports whether a number that ends here lies in the range: it equals a limit of which only
// zeros are left.
func (s span) mayEnd(at int, followsLow, followsHigh bool) bool {
	if followsLow && (strings.Trim(s.low.digits[at:], "0") != "" || s.low.exclusive) {
		return false
	}
	return !followsHigh || !s.high.exclusive || strings.Trim(s.high.digits[at:], "0") != ""
}

// digitAt is digit number at, and what may follow it. Behind a limit's last digit come zeros.
func (s span) digitAt(at int, followsLow, followsHigh bool) lexeme.Expr {
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
		return s.a.Then(s.a.Class(lexeme.Range{Low: least, High: least}), s.restAfter(at, followsLow, followsHigh))
	}
	var parts []lexeme.Expr
	if followsLow {
		parts = append(parts, s.a.Then(s.a.Class(lexeme.Range{Low: least, High: least}), s.restAfter(at, true, followsHigh && least == most)))
		least++
	}
	if followsHigh && least <= most {
		parts = append(parts, s.a.Then(s.a.Class(lexeme.Range{Low: most, High: most}), s.restAfter(at, false, true)))
		most--
	}
	if least <= most {
		parts = append(parts, s.a.Then(s.a.Class(lexeme.Range{Low: least, High: most}), s.restAfter(at, false, false)))
	}
	return s.a.Or(parts...)
}

// restAfter is what may follow digit number at. A fraction may end there, unless it has just begun.
func (s span) restAfter(at int, followsLow, followsHigh bool) lexeme.Expr {
	if at+1 > s.wholeSize && !followsLow && !followsHigh {
		return anyDigits(s.a)
	}
	if at+1 >= s.wholeSize+s.fractionSize && at+1 > s.wholeSize {
		tail := s.zeros(followsLow, followsHigh)
		if s.mayEnd(at+1, followsLow, followsHigh) {
			return s.a.Or(lexeme.Empty, tail)
		}
		return tail
	}
	return s.restAt(at+1, followsLow, followsHigh)
}

// zeros is at least one digit behind those of the limits: zeros keep the number equal to them,
// other digits raise it.
func (s span) zeros(followsLow, followsHigh bool) lexeme.Expr {
	zeros := s.a.Repeat(s.a.Text("0"), 0, lexeme.Unbounded)
	equal := s.a.Then(s.a.Text("0"), zeros)
	higher := s.a.Then(zeros, s.a.Class(positive), anyDigits(s.a))
	var parts []lexeme.Expr
	if (!followsLow || !s.low.exclusive) && (!followsHigh || !s.high.exclusive) {
		parts = append(parts, equal)
	}
	if !followsHigh {
		parts = append(parts, higher)
	}
	return s.a.Or(parts...)
}

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
