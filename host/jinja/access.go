// SPDX-License-Identifier: MIT

package jinja

import (
	"math/big"
	"strings"
	"unicode/utf8"
)

// textOf is a value that is a text.
func textOf(v Value) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case Markup:
		return string(v), true
	}
	return "", false
}

// attribute is of.name: an attribute, or else an item.
func (r *run) attribute(of Value, n string) Value {
	if v, ok := r.own(of, n); ok {
		return v
	}
	if v, ok := r.element(of, n); ok {
		return v
	}
	return r.missing(of, n)
}

// item is of[key]: an item, or else an attribute.
func (r *run) item(of, key Value) Value {
	if v, ok := r.element(of, key); ok {
		return v
	}
	if n, ok := textOf(key); ok {
		if v, ok := r.own(of, n); ok {
			return v
		}
	}
	return r.missing(of, key)
}

func (r *run) missing(of, n Value) Value {
	if s, ok := n.(string); ok && strings.HasPrefix(s, "__") {
		return &Undefined{hint: format("access to attribute %s of %s object is unsafe.", reprOfText(s), reprOfText(typeName(of)))}
	}
	return &Undefined{of: of, name: n, hasOf: true}
}

// own is an attribute that a value has by its type.
func (r *run) own(of Value, n string) (Value, bool) {
	switch v := of.(type) {
	case *Undefined:
		if !strings.HasPrefix(n, "__") {
			r.defined(v)
		}
		return nil, false
	case *Namespace:
		return v.attrs.get(r, n)
	case *Loop:
		return v.attribute(r, n)
	case *Macro:
		switch n {
		case "name":
			if v.body.name == "" {
				return nil, true
			}
			return v.body.name, true
		case "arguments":
			t := &Tuple{}
			for _, p := range v.body.params {
				t.items = append(t.items, p)
			}
			return t, true
		case "caller":
			return v.body.usesCaller, true
		case "catch_kwargs":
			return v.body.usesNamed, true
		case "catch_varargs":
			return v.body.usesPlain, true
		}
	case *Cycler:
		if n == "current" {
			return v.items[v.at], true
		}
	case *Range:
		switch n {
		case "start":
			return v.start, true
		case "stop":
			return v.stop, true
		case "step":
			return v.step, true
		}
	case *Tuple:
		if len(v.names) > 0 {
			for i, field := range v.names {
				if field == n {
					return v.items[i], true
				}
			}
		}
	case int, *big.Int, float64, bool:
		if n == "real" {
			return number(of), true
		}
	}
	if m := methodOf(of, n); m != nil {
		return &Function{name: n, of: of, call: func(r *run, a *Args) Value { return m(r, of, a) }}, true
	}
	return nil, false
}

// element is what stands at a key or a number.
func (r *run) element(of, key Value) (Value, bool) {
	switch v := of.(type) {
	case *Undefined:
		r.defined(v)
	case *Dict:
		switch key.(type) {
		case *List, *Dict:
			return nil, false
		}
		return v.get(r, key)
	}
	i, ok := number(key).(int)
	if !ok {
		return nil, false
	}
	switch v := of.(type) {
	case string:
		return charAt(v, i)
	case Markup:
		return charAt(string(v), i)
	case *List:
		return at(v.Items, i)
	case *Tuple:
		return at(v.items, i)
	case *Range:
		n := v.len()
		if i < 0 {
			i += n
		}
		if i < 0 || i >= n {
			return nil, false
		}
		return v.start + i*v.step, true
	}
	return nil, false
}

func at(items []Value, i int) (Value, bool) {
	if i < 0 {
		i += len(items)
	}
	if i < 0 || i >= len(items) {
		return nil, false
	}
	return items[i], true
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func charAt(s string, i int) (Value, bool) {
	if i < 0 {
		i += utf8.RuneCountInString(s)
	}
	if i < 0 || i >= len(s) {
		return nil, false
	}
	for at, c := range s {
		if i == 0 {
			return s[at : at+utf8.RuneLen(c)], true
		}
		i--
	}
	return nil, false
}

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
	n, ok := r.lenOf(of)
	if _, isDict := of.(*Dict); !ok || isDict || !isSequence(of) && typeName(of) != "range" {
		return r.missing(of, "slice")
	}
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

// lenOf is len(v).
func (r *run) lenOf(v Value) (int, bool) {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v), true
	case Markup:
		return utf8.RuneCountInString(string(v)), true
	case *List:
		return len(v.Items), true
	case *Tuple:
		return len(v.items), true
	case *Dict:
		return len(v.entries), true
	case *View:
		return len(v.of.entries), true
	case *Range:
		return v.len(), true
	case *Undefined:
		return 0, true
	case *Loop:
		return v.length(r), true
	}
	return 0, false
}

func (r *Range) len() int {
	switch {
	case r.step > 0 && r.stop > r.start:
		return int(uint(r.stop-r.start-1)/uint(r.step)) + 1
	case r.step < 0 && r.stop < r.start:
		return int(uint(r.start-r.stop-1)/uint(-r.step)) + 1
	}
	return 0
}

// iterate goes through a value. The complaint about what cannot be may take
// the type's name.
func (r *run) iterate(v Value, complaint string) func() (Value, bool) {
	i := -1
	switch v := v.(type) {
	case string:
		return characters(v)
	case Markup:
		return characters(string(v))
	case *List: // it may grow while it is gone through
		return func() (Value, bool) {
			if i++; i >= len(v.Items) {
				return nil, false
			}
			return v.Items[i], true
		}
	case *Tuple:
		return func() (Value, bool) {
			if i++; i >= len(v.items) {
				return nil, false
			}
			return v.items[i], true
		}
	case *Dict:
		return r.iterate(&View{v, "keys"}, complaint)
	case *View:
		n := len(v.of.entries)
		return func() (Value, bool) {
			if len(v.of.entries) != n {
				r.fail("dictionary changed size during iteration")
			}
			if i++; i >= n {
				return nil, false
			}
			return v.at(i), true
		}
	case *Range:
		n := v.len()
		return func() (Value, bool) {
			if i++; i >= n {
				return nil, false
			}
			return v.start + i*v.step, true
		}
	case *Generator:
		return v.next
	case *Undefined:
		return func() (Value, bool) { return nil, false }
	case *Loop:
		return func() (Value, bool) {
			item, ok := v.advance()
			return &Tuple{items: []Value{item, v}}, ok
		}
	}
	if strings.Contains(complaint, "%s") {
		complaint = format(complaint, typeName(v))
	}
	r.fail("%s", complaint)
	return nil
}

func (v *View) at(i int) Value {
	e := v.of.entries[i]
	switch v.what {
	case "keys":
		return e.key
	case "values":
		return e.value
	}
	return &Tuple{items: []Value{e.key, e.value}}
}

func characters(s string) func() (Value, bool) {
	return func() (Value, bool) {
		if s == "" {
			return nil, false
		}
		_, n := utf8.DecodeRuneInString(s)
		c := s[:n]
		s = s[n:]
		return c, true
	}
}

// items is list(v).
func (r *run) items(v Value) []Value {
	switch v := v.(type) {
	case *List:
		r.charge(16 * len(v.Items))
		return append([]Value(nil), v.Items...)
	case *Tuple:
		return v.items
	case *Range:
		r.charge(16 * v.len())
	}
	next := r.iterate(v, "'%s' object is not iterable")
	var out []Value
	for {
		item, ok := next()
		if !ok {
			return out
		}
		r.step(1)
		r.charge(32)
		out = append(out, item)
	}
}
