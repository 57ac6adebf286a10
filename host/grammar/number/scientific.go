// SPDX-License-Identifier: MIT

package number

import (
	"strconv"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// maxExponent keeps numbers in the range of 64 bits, so that usual readers take them.
const maxExponent = 307

// exponent is an exponent between two, of which neither is negative, with a sign in front.
func exponent(a *lexeme.Arena, sign lexeme.Expr, least, most int) lexeme.Expr {
	span := span{a: a, integer: true}
	value := span.between(&limit{decimal: decimal{whole: strconv.Itoa(least)}}, &limit{decimal: decimal{whole: strconv.Itoa(most)}})
	return a.Then(a.Or(a.Text("e"), a.Text("E")), sign, a.Repeat(a.Text("0"), 0, 2), value)
}

// scientific is the numbers in a range that have an exponent, as far as their digits say so: with
// one digit, which is not 0, before the point, a number lies between 0 and 1 if its exponent is
// below 0, and has as many digits as the exponent says and one more if it is not. That is how other
// programs write small and large numbers. The limits are of magnitudes.
func scientific(a *lexeme.Arena, low, high *limit) lexeme.Expr {
	mantissa := a.Then(a.Class(positive), fractions(a))
	var exponents []lexeme.Expr
	if low.isZero() && (high == nil || high.whole != "0") {
		exponents = append(exponents, exponent(a, a.Text("-"), 1, maxExponent))
	}
	if least := len(low.whole); high == nil && least <= maxExponent {
		if low.isZero() {
			least = 0
		}
		exponents = append(exponents, exponent(a, a.Or(lexeme.Empty, a.Text("+")), least, maxExponent))
	}
	return a.Then(mantissa, a.Or(exponents...))
}
