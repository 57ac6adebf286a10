// SPDX-License-Identifier: MIT

package jinja

import (
	"math"
	"math/big"
)

// calculate is the result of an operator on numbers.
func (r *run) calculate(op string, a, b Value) Value {
	_, isFloat := a.(float64)
	if _, ok := b.(float64); ok || isFloat {
		return r.floats(op, r.floatOf(a), r.floatOf(b))
	}
	if x, ok := a.(int); ok {
		if y, ok := b.(int); ok {
			if v, ok := smallInts(op, x, y); ok {
				return v
			}
		}
	}
	return r.bigInts(op, bigOf(a), bigOf(b))
}

// smallInts calculates what surely fits an int.
func smallInts(op string, x, y int) (Value, bool) {
	const small = 1 << 31
	if x <= -small || x >= small || y <= -small || y >= small {
		return nil, false
	}
	switch op {
	case "+":
		return x + y, true
	case "-":
		return x - y, true
	case "*":
		return x * y, true
	case "/":
		if y != 0 {
			return float64(x) / float64(y), true
		}
	case "//", "%":
		if y == 0 {
			return nil, false
		}
		quotient, rest := x/y, x%y
		if rest != 0 && (rest < 0) != (y < 0) {
			quotient, rest = quotient-1, rest+y
		}
		if op == "%" {
			return rest, true
		}
		return quotient, true
	}
	return nil, false
}

func (r *run) bigInts(op string, x, y *big.Int) Value {
	out := new(big.Int)
	switch op {
	case "+":
		out.Add(x, y)
	case "-":
		out.Sub(x, y)
	case "*":
		r.bits(x.BitLen() + y.BitLen())
		out.Mul(x, y)
	case "/":
		if y.Sign() == 0 {
			r.fail("division by zero")
		}
		f, _ := new(big.Rat).SetFrac(x, y).Float64()
		if math.IsInf(f, 0) {
			r.fail("integer division result too large for a float")
		}
		return f
	case "//", "%":
		if y.Sign() == 0 {
			r.fail("integer division or modulo by zero")
		}
		r.bits(x.BitLen())
		rest := new(big.Int)
		out.QuoRem(x, y, rest)
		if rest.Sign() != 0 && rest.Sign() != y.Sign() {
			out.Sub(out, big.NewInt(1))
			rest.Add(rest, y)
		}
		if op == "%" {
			return normalInt(rest)
		}
	case "**":
		return r.power(x, y)
	}
	r.bits(out.BitLen())
	return normalInt(out)
}

// bits charges the making of an int.
func (r *run) bits(n int) {
	if n > maxBits {
		r.exceed("a number has more than %d bits", maxBits)
	}
	r.charge(n / 8)
	r.step(1 + n/64*(n/64)/64)
}

func (r *run) power(x, y *big.Int) Value {
	if y.Sign() < 0 {
		if x.Sign() == 0 {
			r.fail("0.0 cannot be raised to a negative power")
		}
		return r.floats("**", r.floatOf(normalInt(x)), r.floatOf(normalInt(y)))
	}
	if x.BitLen() > 1 {
		if !y.IsInt64() || y.Int64() > maxBits {
			r.bits(maxBits + 1)
		}
		r.bits(x.BitLen() * int(y.Int64()))
	} else if x.Sign() < 0 { // -1: only whether y is odd counts
		return normalInt(new(big.Int).Exp(x, new(big.Int).And(y, big.NewInt(1)), nil))
	} else if y.Sign() > 0 {
		return normalInt(x)
	}
	return normalInt(new(big.Int).Exp(x, y, nil))
}

func (r *run) floats(op string, x, y float64) Value {
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "**":
		return r.floatPower(x, y)
	}
	if y == 0 {
		r.fail("%s", map[string]string{"/": "float division by zero", "//": "float floor division by zero", "%": "float modulo"}[op])
	}
	if op == "/" {
		return x / y
	}
	rest := math.Mod(x, y)
	quotient := (x - rest) / y
	if rest != 0 {
		if (y < 0) != (rest < 0) {
			rest += y
			quotient--
		}
	} else {
		rest = math.Copysign(0, y)
	}
	if op == "%" {
		return rest
	}
	if quotient == 0 {
		return math.Copysign(0, x/y)
	}
	floor := math.Floor(quotient)
	if quotient-floor > 0.5 {
		floor++
	}
	return floor
}

func (r *run) floatPower(x, y float64) Value {
	if x == 0 && y < 0 {
		r.fail("0.0 cannot be raised to a negative power")
	}
	if x < 0 && y != math.Trunc(y) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		r.fail("a power that is a complex number is not supported")
	}
	f := math.Pow(x, y)
	if math.IsInf(f, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		r.fail("(34, 'Numerical result out of range')")
	}
	return f
}
