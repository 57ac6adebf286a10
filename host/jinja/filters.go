// SPDX-License-Identifier: MIT

package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// filters are Jinja2's, each of a value and the arguments besides.
var filters map[string]func(r *run, v Value, a *Args) Value

func init() { // map and select call the others by name
	filters = map[string]func(r *run, v Value, a *Args) Value{
		"abs": absFilter, "attr": attrFilter, "batch": batchFilter, "count": lengthFilter, "d": defaultFilter, "default": defaultFilter,
		"dictsort": dictsortFilter, "first": firstFilter, "float": floatFilter, "format": formatFilter, "groupby": groupbyFilter, "int": intFilter,
		"items": itemsFilter, "join": joinFilter, "last": lastFilter, "length": lengthFilter, "list": listFilter, "map": mapFilter,
		"max": extremeFilter(">"), "min": extremeFilter("<"), "random": randomFilter, "reject": selectFilter(false, false), "rejectattr": selectFilter(false, true),
		"reverse": reverseFilter, "round": roundFilter, "select": selectFilter(true, false), "selectattr": selectFilter(true, true),
		"slice": sliceFilter, "sort": sortFilter, "sum": sumFilter, "tojson": toJSON, "unique": uniqueFilter,

		"capitalize": textFilter(capitalize), "lower": textFilter(lower), "upper": textFilter(upper), "title": textFilter(titleWords),
		"center": centerFilter, "e": escapeFilter, "escape": escapeFilter, "filesizeformat": filesizeFilter, "forceescape": forceescapeFilter,
		"indent": indentFilter, "pprint": pprintFilter, "replace": replaceFilter, "safe": safeFilter, "string": stringFilter, "striptags": striptagsFilter,
		"trim": trimFilter, "truncate": truncateFilter, "urlencode": urlencodeFilter, "wordcount": wordcountFilter, "wordwrap": wordwrapFilter,
		"xmlattr": xmlattrFilter,
	}
}

func absFilter(r *run, v Value, a *Args) Value {
	a.none(r)
	r.defined(v)
	switch n := number(v).(type) {
	case int, *big.Int:
		return normalInt(new(big.Int).Abs(bigOf(n)))
	case float64:
		return math.Abs(n)
	}
	r.fail("bad operand type for abs(): '%s'", typeName(v))
	return nil
}

func attrFilter(r *run, v Value, a *Args) Value {
	n, ok := textOf(a.one(r))
	if !ok {
		r.fail("attribute name must be string")
	}
	r.defined(v)
	if found, ok := r.own(v, n); ok {
		return found
	}
	return r.missing(v, n)
}

func lengthFilter(r *run, v Value, a *Args) Value {
	a.none(r)
	n, ok := r.lenOf(v)
	if !ok {
		r.fail("object of type '%s' has no len()", typeName(v))
	}
	if s, ok := textOf(v); ok {
		r.step(len(s) / 256)
	}
	return n
}

func defaultFilter(r *run, v Value, a *Args) Value {
	var otherwise, boolean Value = "", false
	a.take(r, 0, []string{"default_value", "boolean"}, &otherwise, &boolean)
	if _, ok := v.(*Undefined); ok || r.truth(boolean) && !r.truth(v) {
		return otherwise
	}
	return v
}

// folded is a value without regard to case, unless that is asked for.
func (r *run) folded(v, sensitive Value) Value {
	if s, ok := textOf(v); ok && !r.truth(sensitive) {
		return lower(s)
	}
	return v
}

// getter is what a value has at a path such as "a.0.b"; with none it is the value.
func (r *run) getter(path, otherwise Value) func(Value) Value {
	var parts []Value
	switch p := path.(type) {
	case nil:
	case string:
		for _, part := range strings.Split(p, ".") {
			if i, err := strconv.Atoi(part); err == nil && each(isDigitRune)(part) {
				parts = append(parts, i)
			} else {
				parts = append(parts, part)
			}
		}
	default:
		parts = []Value{p}
	}
	return func(v Value) Value {
		for _, part := range parts {
			v = r.item(v, part)
			if _, ok := v.(*Undefined); ok && otherwise != nil {
				v = otherwise
			}
		}
		return v
	}
}

func itemsFilter(r *run, v Value, a *Args) Value {
	a.none(r)
	switch d := v.(type) {
	case *Undefined:
		return &Generator{"generator", func() (Value, bool) { return nil, false }}
	case *Dict:
		return &Generator{"generator", r.iterate(&View{d, "items"}, "")}
	}
	return &Generator{"generator", func() (Value, bool) {
		r.fail("Can only get item pairs from a mapping.")
		return nil, false
	}}
}

func joinFilter(r *run, v Value, a *Args) Value {
	var by, path Value = "", nil
	a.take(r, 0, []string{"d", "attribute"}, &by, &path)
	get := r.getter(path, nil)
	sep := r.text(by)
	next := r.iterate(v, "'%s' object is not iterable")
	var b builder
	for i := 0; ; i++ {
		item, ok := next()
		if !ok {
			return b.String()
		}
		r.step(1)
		if i > 0 {
			b.add(r, sep)
		}
		b.add(r, r.text(get(item)))
	}
}

func listFilter(r *run, v Value, a *Args) Value {
	a.none(r)
	return &List{append([]Value(nil), r.items(v)...)}
}

// taken takes one value out of the named arguments.
func (a *Args) taken(n string) (Value, bool) {
	for i, e := range a.Named {
		if e.name == n {
			a.Named = append(a.Named[:i:i], a.Named[i+1:]...)
			return e.value, true
		}
	}
	return nil, false
}

func mapFilter(r *run, v Value, a *Args) Value {
	var of func(Value) Value
	path, byAttribute := a.taken("attribute")
	if byAttribute && len(a.Plain) == 0 {
		otherwise, _ := a.taken("default")
		if len(a.Named) > 0 {
			r.fail("Unexpected keyword argument %s", reprOfText(a.Named[0].name))
		}
		of = r.getter(path, otherwise)
	} else {
		if byAttribute {
			a.Named = append(a.Named, namedArg{"attribute", path})
		}
		of = r.byName(a, "map requires a filter argument", "filter")
	}
	return r.lazily(v, func(item Value) (Value, bool) { return of(item), true })
}

// byName is a filter or test that the first argument names, with the other arguments.
func (r *run) byName(a *Args, complaint, kind string) func(Value) Value {
	if len(a.Plain) == 0 {
		r.fail("%s", complaint)
	}
	n := r.text(a.Plain[0])
	f := filters[n]
	if kind == "test" {
		f = tests[n]
	}
	if f == nil {
		r.fail("No %s named %s.", kind, reprOfText(n))
	}
	return func(v Value) Value {
		return f(r, v, &Args{callee: n, Plain: a.Plain[1:], Named: append([]namedArg(nil), a.Named...)})
	}
}

// lazily is a generator of what of makes of the items of v, and keeps. Like Python's it fails only
// when it is asked for an item.
func (r *run) lazily(v Value, of func(Value) (Value, bool)) Value {
	var next func() (Value, bool)
	if !r.truth(v) {
		next = func() (Value, bool) { return nil, false }
	}
	return &Generator{"generator", func() (Value, bool) {
		if next == nil {
			next = r.iterate(v, "'%s' object is not iterable")
		}
		for {
			item, ok := next()
			if !ok {
				return nil, false
			}
			r.step(1)
			if out, keep := of(item); keep {
				return out, true
			}
		}
	}}
}

func selectFilter(keeps, byAttribute bool) func(r *run, v Value, a *Args) Value {
	return func(r *run, v Value, a *Args) Value {
		get := func(v Value) Value { return v }
		if byAttribute {
			if len(a.Plain) == 0 {
				r.fail("Missing parameter for attribute name")
			}
			get = r.getter(a.Plain[0], nil)
			a.Plain = a.Plain[1:]
		}
		passes := func(v Value) Value { return r.truth(v) }
		if len(a.Plain) > 0 {
			passes = r.byName(a, "", "test")
		}
		return r.lazily(v, func(item Value) (Value, bool) { return item, r.truth(passes(get(item))) == keeps })
	}
}
