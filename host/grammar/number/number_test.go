// SPDX-License-Identifier: MIT

package number_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/host/grammar/number"
	"github.com/penstock/penstock/tools/steadytest"
)

// The texts of numbers, as the RFC has them; some where a range is bounded, without exponents, and
// without fractions.
var (
	anyNumber     = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	boundedNumber = regexp.MustCompile(`^-?((0|[1-9][0-9]*)(\.[0-9]+)?|[1-9](\.[0-9]+)?[eE][+-]?[0-9]+)$`)
	belowOne      = regexp.MustCompile(`[eE]-0{0,2}[1-9]`)
	plainNumber   = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
	integer       = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
)

// fits is what the package promises, by rational numbers.
func fits(t *testing.T, r number.Range, text string) bool {
	t.Helper()
	form := plainNumber
	switch {
	case r.Integer:
		form = integer
	case len(r.MultipleOf) == 0:
		form = boundedNumber
	}
	if !form.MatchString(text) {
		return false
	}
	value := rational(t, text)
	for _, b := range r.Min {
		if c := value.Cmp(rational(t, b.Value)); c < 0 || c == 0 && b.Exclusive {
			return false
		}
	}
	for _, b := range r.Max {
		if c := value.Cmp(rational(t, b.Value)); c > 0 || c == 0 && b.Exclusive {
			return false
		}
	}
	for _, m := range r.MultipleOf {
		if !new(big.Rat).Quo(value, rational(t, m)).IsInt() {
			return false
		}
	}
	return value.Sign() != 0 || text[0] != '-' || mayBeNegative(t, r)
}

// small reports whether a number with an exponent has to fit for its form: it is below 1, and each
// number of its sign below 1 fits.
func small(t *testing.T, r number.Range, text string) bool {
	t.Helper()
	sign := ""
	if text[0] == '-' {
		sign = "-"
	}
	return belowOne.MatchString(text) && fits(t, r, sign+"0.99999999") && fits(t, r, sign+"0.00000001")
}

// mayBeNegative reports whether a number below 0 fits the bounds, which -0 depends on.
func mayBeNegative(t *testing.T, r number.Range) bool {
	t.Helper()
	for _, b := range r.Min {
		low := rational(t, b.Value)
		if low.Sign() >= 0 {
			return false
		}
		if whole := low.Cmp(big.NewRat(-1, 1)); r.Integer && (whole > 0 || whole == 0 && b.Exclusive) {
			return false
		}
	}
	return true
}

func rational(t *testing.T, text string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is no number", text)
	}
	return r
}

// decimal is a random number's text, of few digits so that texts meet bounds.
func decimal(r *rand.Rand) string {
	var b strings.Builder
	if r.IntN(3) == 0 {
		b.WriteByte('-')
	}
	if size := r.IntN(4); size == 0 {
		b.WriteByte('0')
	} else {
		b.WriteByte(byte('1' + r.IntN(9)))
		for range size - 1 {
			b.WriteByte("0019"[r.IntN(4)])
		}
	}
	if r.IntN(2) == 0 {
		b.WriteByte('.')
		for range 1 + r.IntN(3) {
			b.WriteByte("00159"[r.IntN(5)])
		}
	}
	return b.String()
}

// near is a text that differs little from another, so that it lies close to a bound.
func near(r *rand.Rand, text string) string {
	switch at := r.IntN(len(text)); r.IntN(6) {
	case 0:
		return text
	case 1:
		return text + string(rune('0'+r.IntN(10)))
	case 2:
		return text[:at] + string(rune('0'+r.IntN(10))) + text[at+1:]
	case 3:
		return strings.TrimPrefix(text, "-")
	case 4:
		return text[:at] + text[at+1:]
	default:
		return text + ".0"[:r.IntN(3)]
	}
}

func expression(t *testing.T, a *lexeme.Arena, r number.Range) lexeme.Expr {
	t.Helper()
	x, err := number.Numbers(a, r)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	return x
}

func match(t *testing.T, a *lexeme.Arena, x lexeme.Expr, text string) bool {
	t.Helper()
	ok, err := a.Match(x, text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return ok
}

func TestNumbers_AgreeWithRationals(t *testing.T) {
	r := steadytest.Rand(t)
	multiples := []string{"1", "2", "3", "7", "10", "12", "16", "100", "0.1", "0.01", "0.25", "0.5", "1.5", "0.03", "0.007", "2e1", "0.0001"}
	for range 400 {
		var rule number.Range
		rule.Integer = r.IntN(2) == 0
		for range r.IntN(3) {
			rule.Min = append(rule.Min, number.Bound{Value: decimal(r), Exclusive: r.IntN(2) == 0})
		}
		for range r.IntN(3) {
			rule.Max = append(rule.Max, number.Bound{Value: decimal(r), Exclusive: r.IntN(2) == 0})
		}
		if r.IntN(3) == 0 || len(rule.Min)+len(rule.Max) == 0 {
			rule.MultipleOf = append(rule.MultipleOf, multiples[r.IntN(len(multiples))])
		}
		a := lexeme.NewArena(100_000)
		x := expression(t, a, rule)
		for range 300 {
			text := decimal(r)
			if bounds := append(append([]number.Bound{}, rule.Min...), rule.Max...); len(bounds) > 0 && r.IntN(2) == 0 {
				text = near(r, bounds[r.IntN(len(bounds))].Value)
			}
			if r.IntN(4) == 0 {
				text = strings.TrimLeft(text, "0") + []string{"e", "E-", "e+", "e-0", "e-00"}[r.IntN(5)] + strconv.Itoa(r.IntN(6))
			}
			got, want := match(t, a, x, text), fits(t, rule, text)
			if strings.ContainsAny(text, "eE") && !got && !small(t, rule, text) {
				continue
			}
			if got != want {
				t.Fatalf("%+v takes %q: %v, want %v", rule, text, got, want)
			}
		}
	}
}

func TestNumbers_HasTextsWhereANumberFits(t *testing.T) {
	r := steadytest.Rand(t)
	for range 300 {
		low, high := decimal(r), decimal(r)
		rule := number.Range{Min: []number.Bound{{low, r.IntN(2) == 0}}, Max: []number.Bound{{high, r.IntN(2) == 0}}}
		c := rational(t, low).Cmp(rational(t, high))
		want := c > 0 || c == 0 && (rule.Min[0].Exclusive || rule.Max[0].Exclusive)
		a := lexeme.NewArena(100_000)
		void, err := a.IsVoid(expression(t, a, rule), 10_000)
		if err != nil || void != want {
			t.Fatalf("%+v: void %v, %v, want %v", rule, void, err, want)
		}
	}
}

func TestNumbers_BoundsOfAnySize(t *testing.T) {
	digits := strings.Repeat("1234567890", 30)
	for _, c := range []struct {
		rule    number.Range
		yes, no []string
	}{
		{number.Range{Integer: true, Max: []number.Bound{{Value: digits}}}, []string{digits, "-" + digits + "0", "7", "-0"}, []string{digits[:299] + "1", digits + "0"}},
		{number.Range{Min: []number.Bound{{Value: "1.7976931348623157e+308"}}}, []string{"17976931348623157" + strings.Repeat("0", 292), "2" + strings.Repeat("0", 308) + ".5"}, []string{"1" + strings.Repeat("9", 307), "-1"}},
		{number.Range{Min: []number.Bound{{Value: "5e-324", Exclusive: true}}}, []string{"0." + strings.Repeat("0", 323) + "51", "1"}, []string{"0." + strings.Repeat("0", 323) + "5", "0"}},
		{number.Range{Integer: true, Min: []number.Bound{{Value: "-9223372036854775808"}}, Max: []number.Bound{{Value: "18446744073709551615"}}},
			[]string{"-9223372036854775808", "18446744073709551615", "0", "-0"}, []string{"-9223372036854775809", "18446744073709551616"}},
		{number.Range{Min: []number.Bound{{Value: "0"}}}, []string{"0", "0.0", "3.25", "1e-07", "1.5e+16", "1e3", "2E0"}, []string{"-0", "-0.0", "-1", "00", "-1e-07", "10e3", "0e1", "1e308"}},
		{number.Range{Min: []number.Bound{{Value: "150"}}}, []string{"1e3", "1.0e+003", "1e307"}, []string{"1e2", "9e2", "1e-7"}},
		{number.Range{Max: []number.Bound{{Value: "1"}}}, []string{"1e-1", "-1e-7", "-1e20", "9.9e-001"}, []string{"1e0", "1e1"}},
		{number.Range{Max: []number.Bound{{Value: "0.5"}}}, []string{"-1e-7", "-1e20", "0.1"}, []string{"1e-7", "6e-1"}},
		{number.Range{Max: []number.Bound{{Value: "0", Exclusive: true}}}, []string{"-0.01", "-7"}, []string{"0", "-0", "-0.00", "1"}},
		{number.Range{Integer: true, Min: []number.Bound{{Value: "-0.5"}}, Max: []number.Bound{{Value: "1.5"}}}, []string{"0", "1"}, []string{"-0", "-1", "2", "1.0"}},
	} {
		a := lexeme.NewArena(100_000)
		x := expression(t, a, c.rule)
		for want, texts := range map[bool][]string{true: c.yes, false: c.no} {
			for _, text := range texts {
				if match(t, a, x, text) != want {
					t.Errorf("%+v takes %q: %v", c.rule, text, !want)
				}
			}
		}
	}
}

func TestAny_IsJSON(t *testing.T) {
	r := steadytest.Rand(t)
	a := lexeme.NewArena(10_000)
	x, plain := number.Any(a), number.Plain(a)
	for range 2_000 {
		text := decimal(r)
		if r.IntN(2) == 0 {
			text += []string{"e", "E", "e+", "e-", "E0", "ee", "e1."}[r.IntN(7)] + fmt.Sprint(r.IntN(308))
		}
		if got, want := match(t, a, x, text), anyNumber.MatchString(text); got != want {
			t.Fatalf("%q: %v, want %v", text, got, want)
		}
		if got, want := match(t, a, plain, text), plainNumber.MatchString(text); got != want {
			t.Fatalf("%q without exponent: %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"1e308", "1e999", "1e0308", "1e"} {
		if match(t, a, x, text) {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestNumbers_RefusesWithASentence(t *testing.T) {
	for _, rule := range []number.Range{
		{MultipleOf: []string{"0"}}, {MultipleOf: []string{"-2"}}, {MultipleOf: []string{"123456789"}}, {MultipleOf: []string{"0.0123456789"}},
		{Min: []number.Bound{{Value: "1e5000"}}}, {Max: []number.Bound{{Value: "1e99999999999999999999"}}}, {Max: []number.Bound{{Value: "one"}}},
		{Max: []number.Bound{{Value: strings.Repeat("9", 500)}}},
	} {
		if x, err := number.Numbers(lexeme.NewArena(100_000), rule); err == nil || x != lexeme.Nothing || len(err.Error()) > 300 {
			t.Errorf("%.60v: %v, %v", rule, x, err)
		}
	}
}
