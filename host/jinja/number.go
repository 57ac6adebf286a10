// SPDX-License-Identifier: MIT

package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// number is a value as int, *big.Int or float64, of which a bool is one; nil: it is none.
func number(v Value) Value {
	switch v := v.(type) {
	case bool:
		if v {
			return 1
		}
		return 0
	case int, *big.Int, float64:
		return v
	}
	return nil
}

// normalInt is an int in the smallest type that holds it.
func normalInt(i *big.Int) Value {
	if i.IsInt64() {
		return int(i.Int64())
	}
	return i
}

// intOf is a float, which is finite, without its fraction.
func intOf(f float64) Value {
	if math.Abs(f) < 1<<62 {
		return int(f)
	}
	i, _ := big.NewFloat(f).Int(nil)
	return normalInt(i)
}

func bigOf(v Value) *big.Int {
	switch v := v.(type) {
	case int:
		return big.NewInt(int64(v))
	case *big.Int:
		return v
	}
	return nil
}

// floatOf is a number as float.
func (r *run) floatOf(v Value) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		if math.IsInf(f, 0) {
			r.fail("int too large to convert to float")
		}
		return f
	case float64:
		return v
	}
	return 0
}

// decimal is an int's digits, of which Python writes at most 4300.
func (r *run) decimal(i *big.Int) string {
	if i.BitLen() > maxDigits*3322/1000+8 {
		r.fail("Exceeds the limit (4300 digits) for integer string conversion")
	}
	s := i.String()
	if len(strings.TrimPrefix(s, "-")) > maxDigits {
		r.fail("Exceeds the limit (4300 digits) for integer string conversion")
	}
	return s
}

// floatText is the repr of a float.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.TrimPrefix(map[bool]string{true: "inf", false: "-inf"}[f > 0], "+")
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	at := strings.IndexByte(s, 'e')
	if exp, _ := strconv.Atoi(s[at+1:]); exp >= -4 && exp < 16 {
		s = strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
	}
	return s
}

// operate is the result of an operator.
func (r *run) operate(op string, left, right Value) Value {
	if r.lenient && op == "+" {
		left, right = r.textBeside(right, left), r.textBeside(left, right)
	}
	r.defined(left)
	if s, ok := left.(string); ok && op == "%" {
		return r.percent(s, right)
	}
	r.defined(right)
	if a, b := number(left), number(right); a != nil && b != nil {
		return r.calculate(op, a, b)
	}
	switch op {
	case "+":
		if v, ok := r.join(left, right); ok {
			return v
		}
	case "*":
		if v, ok := r.repeat(left, right); ok {
			return v
		}
		if v, ok := r.repeat(right, left); ok {
			return v
		}
	case "%":
		if m, ok := left.(Markup); ok {
			return Markup(r.percent(string(m), right).(string))
		}
	}
	r.wrongOperands(op, left, right)
	return nil
}

// textBeside is v, or its text where the other is one: that of a number, a list or a dict, and none
// of what is undefined or None.
func (r *run) textBeside(other, v Value) Value {
	if _, ok := textOf(other); !ok {
		return v
	}
	if _, undefined := v.(*Undefined); undefined || v == nil {
		return ""
	}
	switch v.(type) {
	case *List, *Dict:
		return r.repr(v)
	}
	if number(v) != nil {
		return r.repr(v)
	}
	return v
}

func (r *run) wrongOperands(op string, left, right Value) {
	_, isText := left.(string)
	switch {
	case op == "+" && isText:
		r.fail("can only concatenate str (not \"%s\") to str", typeName(right))
	case op == "+" && typeName(left) == "list":
		r.fail("can only concatenate list (not \"%s\") to list", typeName(right))
	case op == "+" && typeName(left) == "tuple":
		r.fail("can only concatenate tuple (not \"%s\") to tuple", typeName(right))
	case op == "*" && (isSequence(left) || isSequence(right)):
		if isSequence(left) {
			left = right
		}
		r.fail("can't multiply sequence by non-int of type '%s'", typeName(left))
	case op == "**":
		op = "** or pow()"
	}
	r.fail("unsupported operand type(s) for %s: '%s' and '%s'", op, typeName(left), typeName(right))
}

// join is left + right of what is no number.
func (r *run) join(left, right Value) (Value, bool) {
	switch a := left.(type) {
	case string:
		switch b := right.(type) {
		case string:
			r.charge(len(a) + len(b))
			return a + b, true
		case Markup:
			return r.escape(a) + b, true
		}
	case Markup:
		if b, ok := textOf(right); ok {
			r.charge(len(a) + len(b))
			return a + r.escape(right), true
		}
	case *List:
		if b, ok := right.(*List); ok {
			r.charge(16 * (len(a.Items) + len(b.Items)))
			return &List{append(append(make([]Value, 0, len(a.Items)+len(b.Items)), a.Items...), b.Items...)}, true
		}
	case *Tuple:
		if b, ok := right.(*Tuple); ok {
			r.charge(16 * (len(a.items) + len(b.items)))
			return &Tuple{items: append(append(make([]Value, 0, len(a.items)+len(b.items)), a.items...), b.items...)}, true
		}
	}
	return nil, false
}

// repeat is a text or list so many times.
func (r *run) repeat(v, times Value) (Value, bool) {
	n, ok := number(times).(int)
	if !ok {
		if i, isBig := times.(*big.Int); isBig && isSequence(v) {
			n, ok = 1<<62, true
			if i.Sign() < 0 {
				n = 0
			}
		}
	}
	if !ok {
		return nil, false
	}
	n = max(n, 0)
	size := func(each int) {
		if each > 0 && n > r.bytes/each {
			r.charge(-1)
		}
		r.charge(each * n)
	}
	switch v := v.(type) {
	case string:
		size(len(v))
		if v == "" {
			n = 0
		}
		return strings.Repeat(v, n), true
	case Markup:
		size(len(v))
		if v == "" {
			n = 0
		}
		return Markup(strings.Repeat(string(v), n)), true
	case *List:
		size(16 * len(v.Items))
		return &List{repeated(v.Items, n)}, true
	case *Tuple:
		size(16 * len(v.items))
		return &Tuple{items: repeated(v.items, n)}, true
	}
	return nil, false
}

func repeated(items []Value, n int) []Value {
	if len(items) == 0 {
		return nil
	}
	out := make([]Value, 0, len(items)*n)
	for range n {
		out = append(out, items...)
	}
	return out
}

func isSequence(v Value) bool {
	switch v.(type) {
	case string, Markup, *List, *Tuple:
		return true
	}
	return false
}
