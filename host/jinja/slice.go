// SPDX-License-Identifier: MIT

package jinja

import (
	"math/big"
	"strings"
)

// slice is of[start:stop:step].
func (r *run) slice(of Value, s slice) Value {
	r.defined(of)
	bound := func(e expression) (int, bool) {
		if e == nil {
			return 0, false
		}
		v := r.eval(e)
		switch n := number(v).(type) {
		case int:
			return n, true
		case *big.Int:
			return n.Sign() * (1 << 62), true
		}
		if v == nil {
			return 0, false
		}
		r.fail("slice indices must be integers or None or have an __index__ method")
		return 0, false
	}
	start, hasStart := bound(s.start)
	stop, hasStop := bound(s.stop)
	step, hasStep := bound(s.step)
	if !hasStep {
		step = 1
	}
	if _, isRange := of.(*Range); !isRange && !isSequence(of) {
		if _, isDict := of.(*Dict); isDict {
			r.fail("unhashable type: 'slice'")
		}
		r.fail("'%s' object is not subscriptable", typeName(of))
	}
	n, _ := r.lenOf(of)
	if step == 0 {
		r.fail("slice step cannot be zero")
	}
	start, count := sliceBounds(n, start, stop, step, hasStart, hasStop)
	return r.taken(of, start, step, count)
}

// sliceBounds is where a slice begins and how many items it has.
func sliceBounds(n, start, stop, step int, hasStart, hasStop bool) (first, count int) {
	low, high := 0, n
	if step < 0 {
		low, high = -1, n-1
	}
	clamp := func(i int) int {
		if i < 0 {
			i += n
		}
		return min(max(i, low), high)
	}
	if !hasStart {
		start = low
		if step < 0 {
			start = high
		}
	} else {
		start = clamp(start)
	}
	if !hasStop {
		stop = high
		if step < 0 {
			stop = low
		}
	} else {
		stop = clamp(stop)
	}
	switch {
	case step > 0 && stop > start:
		return start, (stop-start-1)/step + 1
	case step < 0 && stop < start:
		return start, int(uint(start-stop-1)/uint(-step)) + 1
	}
	return start, 0
}

// taken is count items from start on.
func (r *run) taken(of Value, start, step, count int) Value {
	switch v := of.(type) {
	case string:
		return r.takenText(v, start, step, count)
	case Markup:
		return Markup(r.takenText(string(v), start, step, count))
	case *Range:
		return &Range{v.start + start*v.step, v.start + (start+count*step)*v.step, v.step * step}
	}
	r.charge(16 * count)
	items := make([]Value, count)
	from, isList := of.(*List)
	for i := range items {
		if isList {
			items[i] = from.Items[start+i*step]
		} else {
			items[i] = of.(*Tuple).items[start+i*step]
		}
	}
	if isList {
		return &List{items}
	}
	return &Tuple{items: items}
}

func (r *run) takenText(s string, start, step, count int) string {
	if isASCII(s) && step == 1 {
		if count == 0 {
			return ""
		}
		r.step(len(s) / 256)
		return s[start : start+count]
	}
	r.charge(5 * len(s))
	chars := []rune(s)
	var b strings.Builder
	for i := range count {
		b.WriteRune(chars[start+i*step])
	}
	return b.String()
}
