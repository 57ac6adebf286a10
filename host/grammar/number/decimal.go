// SPDX-License-Identifier: MIT

package number

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// maxDigits are the digits of a bound or a multiple, without exponent. The largest number of 64
// bits has 309, the smallest 324.
const maxDigits = 400

// decimal is a number as its digits. whole has no zeros in front but for "0" itself, fraction none
// at its end.
type decimal struct {
	negative        bool
	whole, fraction string
}

var zero = decimal{whole: "0"}

// parse reads a JSON number.
func parse(text string) (decimal, error) {
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(text), "e")
	shift := 0
	if scientific {
		var err error
		if shift, err = strconv.Atoi(exponent); err != nil || shift > maxDigits || shift < -maxDigits {
			return decimal{}, tooLarge(text)
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
		return decimal{}, tooLarge(text)
	}
	if d.whole == "" {
		d.whole = "0"
	}
	if d.isZero() {
		d.negative = false
	}
	return d, nil
}

// tooLarge is the error of a number whose digits are not written out.
func tooLarge(text string) error {
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
