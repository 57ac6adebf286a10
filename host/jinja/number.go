// SPDX-License-Identifier: MIT

package jinja

import (
	"math"
	"math/big"
	"sort"
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

// repeat repeats a text or a list.
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

// compare is the result of a comparison.
func (r *run) compare(op string, left, right Value) Value {
	switch op {
	case "==":
		return r.equal(left, right)
	case "!=":
		return !r.equal(left, right)
	case "in":
		return r.contains(right, left)
	case "not in":
		return !r.contains(right, left)
	}
	r.defined(left, right)
	c, ok := r.order(left, right)
	if !ok {
		r.fail("'%s' not supported between instances of '%s' and '%s'", op, typeName(left), typeName(right))
	}
	if c == unordered {
		return false
	}
	switch op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

// unordered is how NaN compares.
const unordered = 2

// order compares two values that have an order.
func (r *run) order(a, b Value) (int, bool) {
	r.step(1)
	if x, y := number(a), number(b); x != nil && y != nil {
		return compareNumbers(x, y), true
	}
	if x, ok := textOf(a); ok {
		if y, ok := textOf(b); ok {
			r.scan(min(len(x), len(y)))
			return strings.Compare(x, y), true
		}
		return 0, false
	}
	switch x := a.(type) {
	case *List:
		if y, ok := b.(*List); ok {
			return r.orderItems(x.Items, y.Items)
		}
	case *Tuple:
		if y, ok := b.(*Tuple); ok {
			return r.orderItems(x.items, y.items)
		}
	}
	return 0, false
}

func (r *run) orderItems(a, b []Value) (int, bool) {
	defer r.deeper()()
	for i := range min(len(a), len(b)) {
		if r.equal(a[i], b[i]) {
			continue
		}
		return r.order(a[i], b[i])
	}
	return sign3(len(a), len(b)), true
}

func compareNumbers(a, b Value) int {
	x, xIsFloat := a.(float64)
	y, yIsFloat := b.(float64)
	switch {
	case xIsFloat && math.IsNaN(x) || yIsFloat && math.IsNaN(y):
		return unordered
	case xIsFloat && yIsFloat:
		return sign3(x, y)
	case xIsFloat:
		return -compareNumbers(b, a)
	case yIsFloat && math.IsInf(y, 0):
		return sign3(0, y)
	case yIsFloat:
		return new(big.Rat).SetInt(bigOf(a)).Cmp(new(big.Rat).SetFloat64(y))
	}
	if i, ok := a.(int); ok {
		if j, ok := b.(int); ok {
			return sign3(i, j)
		}
	}
	return bigOf(a).Cmp(bigOf(b))
}

func sign3[T int | float64](x, y T) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func (r *run) equal(a, b Value) bool {
	r.step(1)
	if x, y := number(a), number(b); x != nil && y != nil {
		return compareNumbers(x, y) == 0
	}
	if x, ok := textOf(a); ok {
		y, ok := textOf(b)
		if ok = ok && len(x) == len(y); ok {
			r.scan(len(x))
		}
		return ok && x == y
	}
	switch x := a.(type) {
	case nil:
		return b == nil
	case *Undefined:
		_, ok := b.(*Undefined)
		return ok
	case *List:
		y, ok := b.(*List)
		return ok && r.equalItems(x.Items, y.Items)
	case *Tuple:
		y, ok := b.(*Tuple)
		return ok && r.equalItems(x.items, y.items)
	case *Dict:
		y, ok := b.(*Dict)
		return ok && r.equalDicts(x, y)
	case *Range:
		y, ok := b.(*Range)
		return ok && r.equalItems(r.items(x), r.items(y))
	case *View:
		y, ok := b.(*View)
		return ok && x.what != "values" && len(x.of.entries) == len(y.of.entries) && r.allIn(x, y)
	}
	return a == b
}

func (r *run) allIn(x, y *View) bool {
	for _, item := range r.items(x) {
		if !r.contains(y, item) {
			return false
		}
	}
	return true
}

func (r *run) equalItems(a, b []Value) bool {
	if len(a) != len(b) {
		return false
	}
	defer r.deeper()()
	for i := range a {
		if !r.equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func (r *run) equalDicts(a, b *Dict) bool {
	if len(a.entries) != len(b.entries) {
		return false
	}
	defer r.deeper()()
	for _, e := range a.entries {
		i := b.find(e.hash)
		if i < 0 || !r.equal(e.value, b.entries[i].value) {
			return false
		}
	}
	return true
}

// contains is item in of.
func (r *run) contains(of, item Value) bool {
	if text, ok := textOf(of); ok {
		part, ok := textOf(item)
		if !ok {
			r.fail("'in <string>' requires string as left operand, not %s", typeName(item))
		}
		r.scan(len(text))
		return strings.Contains(text, part)
	}
	switch of := of.(type) {
	case *Dict:
		_, ok := of.get(r, item)
		return ok
	case *View:
		if of.what == "keys" {
			_, ok := of.of.get(r, item)
			return ok
		}
	case *Undefined:
		return false
	}
	next := r.iterate(of, "argument of type '%s' is not iterable")
	for {
		v, ok := next()
		if !ok {
			return false
		}
		if r.equal(v, item) {
			return true
		}
	}
}

// sorted sorts what has an order by what key makes of it. It is stable.
func (r *run) sorted(items []Value, key func(Value) Value, reverse bool) []Value {
	r.charge(32 * len(items))
	keys := make([]Value, len(items))
	places := make([]int, len(items))
	for i, v := range items {
		keys[i], places[i] = key(v), i
	}
	sort.SliceStable(places, func(i, j int) bool {
		a, b := keys[places[i]], keys[places[j]]
		if reverse {
			a, b = b, a
		}
		return r.compare("<", a, b) == true
	})
	out := make([]Value, len(items))
	for i, place := range places {
		out[i] = items[place]
	}
	return out
}
