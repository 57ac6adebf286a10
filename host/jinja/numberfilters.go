// SPDX-License-Identifier: MIT

package jinja

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode"
)

func intFilter(r *run, v Value, a *Args) Value {
	var otherwise, base Value = 0, 10
	a.take(r, 0, []string{"default", "base"}, &otherwise, &base)
	r.defined(v)
	if s, ok := textOf(v); ok {
		if i, ok := r.parseInt(s, r.intArg(base)); ok {
			return i
		}
		f, ok := parseFloat(s)
		if !ok || math.IsInf(f, 0) || math.IsNaN(f) {
			return otherwise
		}
		return intOf(f)
	}
	switch n := number(v).(type) {
	case int, *big.Int:
		return n
	case float64:
		if math.IsInf(n, 0) {
			r.fail("cannot convert float infinity to integer")
		}
		if !math.IsNaN(n) {
			return intOf(n)
		}
	}
	return otherwise
}

// asciiDigits is a number's text as Go reads it: without space around, with the digits of all
// scripts as ASCII's.
func asciiDigits(s string) string {
	s = strings.TrimFunc(s, isSpace)
	if isASCII(s) {
		return s
	}
	return strings.Map(func(c rune) rune {
		if c >= 0x80 && unicode.IsDigit(c) { // they stand in tens
			zero := c
			for n := 0; n < 9 && unicode.IsDigit(zero-1); n++ {
				zero--
			}
			return '0' + (c-zero)%10
		}
		return c
	}, s)
}

// parseInt is int(s, base).
func (r *run) parseInt(s string, base int) (Value, bool) {
	s = asciiDigits(s)
	if base != 0 && (base < 2 || base > 36) {
		return nil, false
	}
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if len(s) > 1 && s[0] == '0' {
		if b := map[byte]int{'x': 16, 'o': 8, 'b': 2}[s[1]|0x20]; b != 0 && (base == b || base == 0) {
			base, s = b, strings.TrimPrefix(s[2:], "_")
		}
	}
	if base == 0 {
		if len(s) > 1 && s[0] == '0' && strings.Trim(s, "0_") != "" {
			return nil, false
		}
		base = 10
	}
	if s == "" || s[0] == '_' || s[len(s)-1] == '_' || strings.Contains(s, "__") || s[0] == '-' || s[0] == '+' {
		return nil, false
	}
	s = strings.ReplaceAll(s, "_", "")
	if len(s) > maxDigits {
		return nil, false
	}
	i, ok := new(big.Int).SetString(s, base)
	if !ok {
		return nil, false
	}
	if negative {
		i.Neg(i)
	}
	return normalInt(i), true
}

// parseFloat is float(s).
func parseFloat(s string) (float64, bool) {
	s = asciiDigits(s)
	switch strings.ToLower(strings.TrimLeft(s, "+-")) {
	case "inf", "infinity", "nan":
		if len(strings.TrimLeft(s, "+-"))+1 < len(s) {
			return 0, false
		}
	default:
		if strings.ContainsFunc(s, func(c rune) bool { return !isDigit(byte(c)) && !strings.ContainsRune("+-.eE_", c) }) {
			return 0, false // Go reads hexadecimal too
		}
		for i := range len(s) {
			if s[i] == '_' && (i == 0 || i+1 == len(s) || !isDigit(s[i-1]) || !isDigit(s[i+1])) {
				return 0, false
			}
		}
		s = strings.ReplaceAll(s, "_", "")
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || math.IsInf(f, 0)
}

func floatFilter(r *run, v Value, a *Args) Value {
	var otherwise Value = 0.0
	a.take(r, 0, []string{"default"}, &otherwise)
	r.defined(v)
	if s, ok := textOf(v); ok {
		if f, ok := parseFloat(s); ok {
			return f
		}
		return otherwise
	}
	if n := number(v); n != nil {
		return r.floatOf(n)
	}
	return otherwise
}

func roundFilter(r *run, v Value, a *Args) Value {
	var precision, how Value = 0, "common"
	a.take(r, 0, []string{"precision", "method"}, &precision, &how)
	if how != "common" && how != "ceil" && how != "floor" {
		r.fail("method must be common, ceil or floor")
	}
	r.defined(v)
	n, p := number(v), r.intArg(precision)
	if n == nil {
		r.fail("type %s doesn't define __round__ method", typeName(v))
	}
	if how != "common" {
		scaled := r.operate("*", n, r.operate("**", 10, p))
		f := r.floatOf(number(scaled))
		if math.IsInf(f, 0) || math.IsNaN(f) {
			r.fail("cannot convert float infinity to integer")
		}
		whole := math.Ceil(f)
		if how == "floor" {
			whole = math.Floor(f)
		}
		return r.operate("/", intOf(whole), r.operate("**", 10, p))
	}
	if f, ok := n.(float64); ok {
		return roundFloat(f, p)
	}
	if p >= 0 {
		return n
	}
	return r.roundInt(bigOf(n), -p)
}

// roundFloat rounds to p digits behind the point, halves of the exact value to even.
func roundFloat(f float64, p int) float64 {
	switch {
	case math.IsInf(f, 0) || math.IsNaN(f) || p > 323:
		return f
	case p < -308:
		return math.Copysign(0, f)
	case p >= 0:
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', p, 64), 64)
		return rounded
	}
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-p)), nil))
	text := new(big.Rat).Quo(new(big.Rat).SetFloat64(f), scale)
	whole, _ := new(big.Int).SetString(halfEven(text), 10)
	rounded, _ := new(big.Rat).Mul(new(big.Rat).SetInt(whole), scale).Float64()
	if rounded == 0 {
		return math.Copysign(0, f)
	}
	return rounded
}

// halfEven is a fraction as the nearest int, halves as the even one.
func halfEven(x *big.Rat) string {
	double := new(big.Int).Lsh(x.Num(), 1)
	floor := new(big.Int).Div(new(big.Int).Add(double, x.Denom()), new(big.Int).Lsh(x.Denom(), 1))
	if new(big.Rat).Sub(new(big.Rat).SetInt(floor), x).Cmp(big.NewRat(1, 2)) == 0 && floor.Bit(0) == 1 {
		floor.Sub(floor, big.NewInt(1))
	}
	return floor.String()
}

func (r *run) roundInt(i *big.Int, zeros int) Value {
	if zeros > maxDigits {
		return 0
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(zeros)), nil)
	whole, _ := new(big.Int).SetString(halfEven(new(big.Rat).SetFrac(i, scale)), 10)
	return normalInt(whole.Mul(whole, scale))
}

func filesizeFilter(r *run, v Value, a *Args) Value {
	var binary Value = false
	a.take(r, 0, []string{"binary"}, &binary)
	size, ok := number(v), true
	if s, isText := textOf(v); isText {
		size, ok = parseFloat(s)
	}
	if size == nil || !ok {
		r.defined(v)
		r.fail("could not convert %s to float", r.repr(v))
	}
	base, middle := 1000.0, "B"
	if r.truth(binary) {
		base, middle = 1024, "iB"
	}
	bytes := r.floatOf(size)
	switch {
	case bytes == 1:
		return "1 Byte"
	case bytes < base:
		return r.text(intOf(bytes)) + " Bytes"
	}
	unit, prefix := base, ""
	for _, p := range "kMGTPEZY" {
		unit *= base
		prefix = string(p)
		if bytes < unit {
			break
		}
	}
	if prefix == "k" && r.truth(binary) {
		prefix = "K"
	}
	return strconv.FormatFloat(base*bytes/unit, 'f', 1, 64) + " " + prefix + middle
}

func randomFilter(r *run, v Value, a *Args) Value {
	a.none(r)
	n, ok := r.lenOf(v)
	if !ok {
		r.fail("object of type '%s' has no len()", typeName(v))
	}
	if n == 0 {
		return &Undefined{hint: "No random item, sequence was empty."}
	}
	return r.item(v, rand.IntN(n)) //nolint:gosec // a template's choice is no secret
}
