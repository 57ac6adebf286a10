// SPDX-License-Identifier: MIT

package jinja

import (
	"math/big"
	"slices"
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
		return &Function{name: n, of: of, call: func(r *run, a *Args) Value {
			r.scanTexts(of, a)
			return m(r, of, a)
		}}, true
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
	if s, ok := textOf(of); ok {
		r.scan(len(s))
		return charAt(s, i)
	}
	switch v := of.(type) {
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

// scanTexts counts the reading of texts by a filter, test or method.
func (r *run) scanTexts(v Value, a *Args) {
	if s, ok := textOf(v); ok {
		r.scan(len(s))
	}
	for _, arg := range a.Plain {
		if s, ok := textOf(arg); ok {
			r.scan(len(s))
		}
	}
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

// Args are the arguments of a call.
type Args struct {
	callee string
	Plain  []Value
	Named  []namedArg
}

type namedArg struct {
	name  string
	value Value
}

func (a *Args) name(r *run, n string, v Value) {
	r.step(len(a.Named) / 8)
	for _, e := range a.Named {
		if e.name == n {
			r.fail("%s() got multiple values for keyword argument %s", a.callee, reprOfText(n))
		}
	}
	a.Named = append(a.Named, namedArg{n, v})
}

func (a *Args) named() []entry {
	out := make([]entry, len(a.Named))
	for i, e := range a.Named {
		out[i] = entry{key: e.name, value: e.value}
	}
	return out
}

// take gives parameters their arguments: those from the first optional one on may be missing, and
// then are what they were.
func (a *Args) take(r *run, required int, names []string, into ...*Value) {
	if len(a.Plain) > len(into) {
		r.fail("%s() takes %d positional arguments but %d were given", a.callee, len(into), len(a.Plain))
	}
	given := make([]bool, len(into))
	for i, to := range into[:len(a.Plain)] {
		*to, given[i] = a.Plain[i], true
	}
	for _, e := range a.Named {
		i := slices.Index(names, e.name)
		switch {
		case i < 0:
			r.fail("%s() got an unexpected keyword argument %s", a.callee, reprOfText(e.name))
		case given[i]:
			r.fail("%s() got multiple values for argument %s", a.callee, reprOfText(e.name))
		}
		*into[i], given[i] = e.value, true
	}
	for i := range required {
		if !given[i] {
			n := "argument"
			if i < len(names) {
				n = names[i]
			}
			r.fail("%s() missing 1 required positional argument: %s", a.callee, reprOfText(n))
		}
	}
}

// none takes no arguments.
func (a *Args) none(r *run) { a.take(r, 0, nil) }

// call is of(...).
func (r *run) call(of Value, a *Args) Value {
	r.step(1)
	switch f := of.(type) {
	case *Function:
		a.callee = f.name
		return f.call(r, a)
	case *Macro:
		return f.invoke(r, a)
	case *Loop:
		if f.recurse == nil {
			r.fail("The loop must have the 'recursive' marker to be called recursively.")
		}
		var over Value
		a.callee = "__call__"
		a.take(r, 1, []string{"iterable"}, &over)
		return f.recurse(over)
	case *Joiner:
		if !f.used {
			f.used = true
			return ""
		}
		return f.sep
	case *Undefined:
		r.defined(f)
	}
	r.fail("'%s' object is not callable", typeName(of))
	return nil
}

// intArg is an argument that is an int.
func (r *run) intArg(v Value) int {
	switch n := number(v).(type) {
	case int:
		return n
	case nil, float64:
		r.defined(v)
		r.fail("'%s' object cannot be interpreted as an integer", typeName(v))
	}
	r.fail("Python int too large to convert to C ssize_t")
	return 0
}

// textArg is an argument that is a text.
func (r *run) textArg(v Value, of string) string {
	s, ok := textOf(v)
	if !ok {
		r.fail("%s must be str, not %s", of, typeName(v))
	}
	return s
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
