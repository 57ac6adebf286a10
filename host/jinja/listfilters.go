// SPDX-License-Identifier: MIT

package jinja

import (
	"strings"
	"unicode/utf8"
)

func batchFilter(r *run, v Value, a *Args) Value {
	var count, fill Value
	a.take(r, 1, []string{"linecount", "fill_with"}, &count, &fill)
	n := r.intArg(count)
	next := r.iterate(v, "'%s' object is not iterable")
	done := false
	var held []Value
	return &Generator{"generator", func() (Value, bool) {
		for !done {
			item, ok := next()
			if !ok {
				done = true
				break
			}
			r.step(1)
			r.charge(32)
			full := held
			if len(full) == n {
				held = []Value{item}
				return &List{full}, true
			}
			held = append(held, item)
		}
		last := held
		held = nil
		if len(last) == 0 {
			return nil, false
		}
		for fill != nil && len(last) < n {
			r.charge(32)
			last = append(last, fill)
		}
		return &List{last}, true
	}}
}

func firstFilter(r *run, v Value, a *Args) Value {
	a.none(r)
	if item, ok := r.iterate(v, "'%s' object is not iterable")(); ok {
		return item
	}
	return &Undefined{hint: "No first item, sequence was empty."}
}

func lastFilter(r *run, v Value, a *Args) Value {
	a.none(r)
	if item, ok := r.reversed(v, "'%s' object is not reversible")(); ok {
		return item
	}
	return &Undefined{hint: "No last item, sequence was empty."}
}

// reversed goes through a value from its end.
func (r *run) reversed(v Value, complaint string) func() (Value, bool) {
	if s, ok := textOf(v); ok {
		return func() (Value, bool) {
			if s == "" {
				return nil, false
			}
			_, n := utf8.DecodeLastRuneInString(s)
			c := s[len(s)-n:]
			s = s[:len(s)-n]
			return c, true
		}
	}
	var items []Value
	switch v := v.(type) {
	case *List, *Tuple, *Dict, *View, *Range:
		items = r.items(v)
	case *Undefined:
	default:
		r.fail(complaint, typeName(v))
	}
	i := len(items)
	return func() (Value, bool) {
		if i--; i < 0 {
			return nil, false
		}
		return items[i], true
	}
}

func reverseFilter(r *run, v Value, a *Args) Value {
	a.none(r)
	if s, ok := textOf(v); ok {
		r.charge(5 * len(s))
		chars := []rune(s)
		reverse(chars)
		return string(chars)
	}
	switch v.(type) {
	case *Generator, *Undefined, *Loop:
		items := r.items(v)
		reverse(items)
		return &List{items}
	case *List, *Tuple, *Dict, *View, *Range:
		return &Generator{"reversed", r.reversed(v, "")}
	}
	r.fail("argument must be iterable")
	return nil
}

func groupbyFilter(r *run, v Value, a *Args) Value {
	var path, otherwise, sensitive Value = nil, nil, false
	a.take(r, 1, []string{"attribute", "default", "case_sensitive"}, &path, &otherwise, &sensitive)
	get := r.getter(path, otherwise)
	key := func(v Value) Value { return r.folded(get(v), sensitive) }
	out := &List{}
	var group *List
	var last Value
	for _, item := range r.sorted(r.items(v), key, false) {
		if k := key(item); group == nil || !r.equal(k, last) {
			group, last = &List{}, k
			out.Items = append(out.Items, &Tuple{items: []Value{get(item), group}, names: []string{"grouper", "list"}})
		}
		r.grow(group, item)
	}
	return out
}

func sliceFilter(r *run, v Value, a *Args) Value {
	var slices, fill Value
	a.take(r, 1, []string{"slices", "fill_with"}, &slices, &fill)
	items, n := r.items(v), r.intArg(slices)
	if n == 0 {
		r.fail("integer division or modulo by zero")
	}
	out := &List{}
	at := 0
	for i := range max(n, 0) {
		r.charge(64)
		r.step(1)
		size := len(items) / n
		if i < len(items)%n {
			size++
		}
		part := append([]Value(nil), items[at:at+size]...)
		at += size
		if fill != nil && i >= len(items)%n {
			part = append(part, fill)
		}
		out.Items = append(out.Items, &List{part})
	}
	return &Generator{"generator", r.iterate(out, "")}
}

func sortFilter(r *run, v Value, a *Args) Value {
	var back, sensitive, path Value = false, false, nil
	a.take(r, 0, []string{"reverse", "case_sensitive", "attribute"}, &back, &sensitive, &path)
	gets := []func(Value) Value{r.getter(path, nil)}
	if s, ok := path.(string); ok {
		gets = nil
		for _, one := range strings.Split(s, ",") {
			gets = append(gets, r.getter(one, nil))
		}
	}
	return &List{r.sorted(r.items(v), func(item Value) Value {
		keys := &List{}
		for _, get := range gets {
			keys.Items = append(keys.Items, r.folded(get(item), sensitive))
		}
		return keys
	}, r.truth(back))}
}

func sumFilter(r *run, v Value, a *Args) Value {
	var path, total Value = nil, 0
	a.take(r, 0, []string{"attribute", "start"}, &path, &total)
	if _, ok := textOf(total); ok {
		r.fail("sum() can't sum strings [use ''.join(seq) instead]")
	}
	get := r.getter(path, nil)
	for _, item := range r.items(v) {
		total = r.operate("+", total, get(item))
	}
	return total
}

func uniqueFilter(r *run, v Value, a *Args) Value {
	var sensitive, path Value = false, nil
	a.take(r, 0, []string{"case_sensitive", "attribute"}, &sensitive, &path)
	get := r.getter(path, nil)
	seen := NewDict(0)
	next := r.iterate(v, "'%s' object is not iterable")
	return &Generator{"generator", func() (Value, bool) {
		for {
			item, ok := next()
			if !ok {
				return nil, false
			}
			key := r.folded(get(item), sensitive)
			if _, known := seen.get(r, key); !known {
				r.set(seen, key, true)
				return item, true
			}
		}
	}}
}

func extremeFilter(op string) func(r *run, v Value, a *Args) Value {
	return func(r *run, v Value, a *Args) Value {
		var sensitive, path Value = false, nil
		a.take(r, 0, []string{"case_sensitive", "attribute"}, &sensitive, &path)
		get := r.getter(path, nil)
		items := r.items(v)
		if len(items) == 0 {
			return &Undefined{hint: "No aggregated item, sequence was empty."}
		}
		best := items[0]
		key := r.folded(get(best), sensitive)
		for _, item := range items[1:] {
			if k := r.folded(get(item), sensitive); r.compare(op, k, key) == true {
				best, key = item, k
			}
		}
		return best
	}
}

func dictsortFilter(r *run, v Value, a *Args) Value {
	var sensitive, by, back Value = false, "key", false
	a.take(r, 0, []string{"case_sensitive", "by", "reverse"}, &sensitive, &by, &back)
	place := 0
	switch by {
	case "key":
	case "value":
		place = 1
	default:
		r.fail(`You can only sort by either "key" or "value"`)
	}
	d, ok := v.(*Dict)
	if !ok {
		r.defined(v)
		r.fail("'%s' object has no attribute 'items'", typeName(v))
	}
	pairs := r.items(&View{d, "items"})
	return &List{r.sorted(pairs, func(pair Value) Value { return r.folded(pair.(*Tuple).items[place], sensitive) }, r.truth(back))}
}
