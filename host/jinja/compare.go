// SPDX-License-Identifier: MIT

package jinja

import (
	"math"
	"math/big"
	"sort"
	"strings"
)

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
