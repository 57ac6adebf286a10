// SPDX-License-Identifier: MIT

package jinja

import (
	"strings"
	"unicode/utf8"
)

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
