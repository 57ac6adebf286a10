// SPDX-License-Identifier: MIT

package jinja

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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

func intFilter(r *run, v Value, a *Args) Value {
	var otherwise, base Value = 0, 10
	a.take(r, 0, []string{"default", "base"}, &otherwise, &base)
	r.defined(v)
	if s, ok := textOf(v); ok {
		if i, ok := r.parseInt(s, r.intArg(base)); ok {
			return i
		}
		f, ok := parseFloat(s)
		if !ok || math.IsInf(f, 0) || math.IsNaN(f) {
			return otherwise
		}
		return intOf(f)
	}
	switch n := number(v).(type) {
	case int, *big.Int:
		return n
	case float64:
		if math.IsInf(n, 0) {
			r.fail("cannot convert float infinity to integer")
		}
		if !math.IsNaN(n) {
			return intOf(n)
		}
	}
	return otherwise
}

// asciiDigits is a number's text as Go reads it: without space around, with the digits of all
// scripts as ASCII's.
func asciiDigits(s string) string {
	s = strings.TrimFunc(s, isSpace)
	if isASCII(s) {
		return s
	}
	return strings.Map(func(c rune) rune {
		if c >= 0x80 && unicode.IsDigit(c) { // they stand in tens
			zero := c
			for n := 0; n < 9 && unicode.IsDigit(zero-1); n++ {
				zero--
			}
			return '0' + (c-zero)%10
		}
		return c
	}, s)
}

// parseInt is int(s, base).
func (r *run) parseInt(s string, base int) (Value, bool) {
	s = asciiDigits(s)
	if base != 0 && (base < 2 || base > 36) {
		return nil, false
	}
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if len(s) > 1 && s[0] == '0' {
		if b := map[byte]int{'x': 16, 'o': 8, 'b': 2}[s[1]|0x20]; b != 0 && (base == b || base == 0) {
			base, s = b, strings.TrimPrefix(s[2:], "_")
		}
	}
	if base == 0 {
		if len(s) > 1 && s[0] == '0' && strings.Trim(s, "0_") != "" {
			return nil, false
		}
		base = 10
	}
	if s == "" || s[0] == '_' || s[len(s)-1] == '_' || strings.Contains(s, "__") || s[0] == '-' || s[0] == '+' {
		return nil, false
	}
	s = strings.ReplaceAll(s, "_", "")
	if len(s) > maxDigits {
		return nil, false
	}
	i, ok := new(big.Int).SetString(s, base)
	if !ok {
		return nil, false
	}
	if negative {
		i.Neg(i)
	}
	return normalInt(i), true
}

// parseFloat is float(s).
func parseFloat(s string) (float64, bool) {
	s = asciiDigits(s)
	switch strings.ToLower(strings.TrimLeft(s, "+-")) {
	case "inf", "infinity", "nan":
		if len(strings.TrimLeft(s, "+-"))+1 < len(s) {
			return 0, false
		}
	default:
		if strings.ContainsFunc(s, func(c rune) bool { return !isDigit(byte(c)) && !strings.ContainsRune("+-.eE_", c) }) {
			return 0, false // Go reads hexadecimal too
		}
		for i := range len(s) {
			if s[i] == '_' && (i == 0 || i+1 == len(s) || !isDigit(s[i-1]) || !isDigit(s[i+1])) {
				return 0, false
			}
		}
		s = strings.ReplaceAll(s, "_", "")
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || math.IsInf(f, 0)
}

func floatFilter(r *run, v Value, a *Args) Value {
	var otherwise Value = 0.0
	a.take(r, 0, []string{"default"}, &otherwise)
	r.defined(v)
	if s, ok := textOf(v); ok {
		if f, ok := parseFloat(s); ok {
			return f
		}
		return otherwise
	}
	if n := number(v); n != nil {
		return r.floatOf(n)
	}
	return otherwise
}

func roundFilter(r *run, v Value, a *Args) Value {
	var precision, how Value = 0, "common"
	a.take(r, 0, []string{"precision", "method"}, &precision, &how)
	if how != "common" && how != "ceil" && how != "floor" {
		r.fail("method must be common, ceil or floor")
	}
	r.defined(v)
	n, p := number(v), r.intArg(precision)
	if n == nil {
		r.fail("type %s doesn't define __round__ method", typeName(v))
	}
	if how != "common" {
		scaled := r.operate("*", n, r.operate("**", 10, p))
		f := r.floatOf(number(scaled))
		if math.IsInf(f, 0) || math.IsNaN(f) {
			r.fail("cannot convert float infinity to integer")
		}
		whole := math.Ceil(f)
		if how == "floor" {
			whole = math.Floor(f)
		}
		return r.operate("/", intOf(whole), r.operate("**", 10, p))
	}
	if f, ok := n.(float64); ok {
		return roundFloat(f, p)
	}
	if p >= 0 {
		return n
	}
	return r.roundInt(bigOf(n), -p)
}

// roundFloat rounds to p digits behind the point, halves of the exact value to even.
func roundFloat(f float64, p int) float64 {
	switch {
	case math.IsInf(f, 0) || math.IsNaN(f) || p > 323:
		return f
	case p < -308:
		return math.Copysign(0, f)
	case p >= 0:
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', p, 64), 64)
		return rounded
	}
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-p)), nil))
	text := new(big.Rat).Quo(new(big.Rat).SetFloat64(f), scale)
	whole, _ := new(big.Int).SetString(halfEven(text), 10)
	rounded, _ := new(big.Rat).Mul(new(big.Rat).SetInt(whole), scale).Float64()
	if rounded == 0 {
		return math.Copysign(0, f)
	}
	return rounded
}

// halfEven is a fraction as the nearest int, halves as the even one.
func halfEven(x *big.Rat) string {
	double := new(big.Int).Lsh(x.Num(), 1)
	floor := new(big.Int).Div(new(big.Int).Add(double, x.Denom()), new(big.Int).Lsh(x.Denom(), 1))
	if new(big.Rat).Sub(new(big.Rat).SetInt(floor), x).Cmp(big.NewRat(1, 2)) == 0 && floor.Bit(0) == 1 {
		floor.Sub(floor, big.NewInt(1))
	}
	return floor.String()
}

func (r *run) roundInt(i *big.Int, zeros int) Value {
	if zeros > maxDigits {
		return 0
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(zeros)), nil)
	whole, _ := new(big.Int).SetString(halfEven(new(big.Rat).SetFrac(i, scale)), 10)
	return normalInt(whole.Mul(whole, scale))
}

func filesizeFilter(r *run, v Value, a *Args) Value {
	var binary Value = false
	a.take(r, 0, []string{"binary"}, &binary)
	size, ok := number(v), true
	if s, isText := textOf(v); isText {
		size, ok = parseFloat(s)
	}
	if size == nil || !ok {
		r.defined(v)
		r.fail("could not convert %s to float", r.repr(v))
	}
	base, middle := 1000.0, "B"
	if r.truth(binary) {
		base, middle = 1024, "iB"
	}
	bytes := r.floatOf(size)
	switch {
	case bytes == 1:
		return "1 Byte"
	case bytes < base:
		return r.text(intOf(bytes)) + " Bytes"
	}
	unit, prefix := base, ""
	for _, p := range "kMGTPEZY" {
		unit *= base
		prefix = string(p)
		if bytes < unit {
			break
		}
	}
	if prefix == "k" && r.truth(binary) {
		prefix = "K"
	}
	return strconv.FormatFloat(base*bytes/unit, 'f', 1, 64) + " " + prefix + middle
}

func randomFilter(r *run, v Value, a *Args) Value {
	a.none(r)
	n, ok := r.lenOf(v)
	if !ok {
		r.fail("object of type '%s' has no len()", typeName(v))
	}
	if n == 0 {
		return &Undefined{hint: "No random item, sequence was empty."}
	}
	return r.item(v, rand.IntN(n)) //nolint:gosec // a template's choice is no secret
}
