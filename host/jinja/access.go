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
