// SPDX-License-Identifier: MIT

package jinja

import (
	"math"
	"strings"
	"unicode/utf8"
)

var listMethods = map[string]method{
	"index": indexOf, "count": countOf,
	"append": func(r *run, of Value, a *Args) Value {
		r.grow(of.(*List), a.one(r))
		return nil
	},
	"extend": func(r *run, of Value, a *Args) Value {
		r.grow(of.(*List), r.items(a.one(r))...)
		return nil
	},
	"insert": func(r *run, of Value, a *Args) Value {
		var at, v Value
		a.take(r, 2, nil, &at, &v)
		l, i := of.(*List), r.intArg(at)
		if i < 0 {
			i = max(i+len(l.Items), 0)
		}
		i = min(i, len(l.Items))
		r.grow(l, nil)
		r.step(len(l.Items) / 64)
		copy(l.Items[i+1:], l.Items[i:])
		l.Items[i] = v
		return nil
	},
	"pop": func(r *run, of Value, a *Args) Value {
		var at Value = -1
		a.take(r, 0, nil, &at)
		l := of.(*List)
		if len(l.Items) == 0 {
			r.fail("pop from empty list")
		}
		i := r.intArg(at)
		if i < 0 {
			i += len(l.Items)
		}
		if i < 0 || i >= len(l.Items) {
			r.fail("pop index out of range")
		}
		v := l.Items[i]
		r.step(len(l.Items) / 64)
		l.Items = append(l.Items[:i:i], l.Items[i+1:]...)
		return v
	},
	"remove": func(r *run, of Value, a *Args) Value {
		l, v := of.(*List), a.one(r)
		for i, item := range l.Items {
			if r.equal(item, v) {
				l.Items = append(l.Items[:i:i], l.Items[i+1:]...)
				return nil
			}
		}
		r.fail("list.remove(x): x not in list")
		return nil
	},
	"clear": func(r *run, of Value, a *Args) Value {
		a.none(r)
		of.(*List).Items = nil
		return nil
	},
	"copy": func(r *run, of Value, a *Args) Value {
		a.none(r)
		return &List{r.items(of)}
	},
	"reverse": func(r *run, of Value, a *Args) Value {
		a.none(r)
		r.step(len(of.(*List).Items))
		reverse(of.(*List).Items)
		return nil
	},
	"sort": func(r *run, of Value, a *Args) Value {
		var key, back Value = nil, false
		a.take(r, 0, []string{"key", "reverse"}, &key, &back)
		l := of.(*List)
		l.Items = r.sorted(l.Items, func(v Value) Value {
			if key == nil {
				return v
			}
			return r.call(key, &Args{Plain: []Value{v}})
		}, r.truth(back))
		return nil
	},
}

// grow puts values at the end of a list.
func (r *run) grow(l *List, values ...Value) {
	r.charge(32 * len(values))
	l.Items = append(l.Items, values...)
}

var tupleMethods = map[string]method{"index": indexOf, "count": countOf}

func indexOf(r *run, of Value, a *Args) Value {
	var v, start, stop Value = nil, 0, math.MaxInt
	a.take(r, 1, nil, &v, &start, &stop)
	items := r.items(of)
	from, to := r.intArg(start), r.intArg(stop)
	if from < 0 {
		from = max(from+len(items), 0)
	}
	if to < 0 {
		to += len(items)
	}
	for i := from; i < min(to, len(items)); i++ {
		if r.equal(items[i], v) {
			return i
		}
	}
	if typeName(of) == "tuple" {
		r.fail("tuple.index(x): x not in tuple")
	}
	r.fail("%s is not in list", r.repr(v))
	return nil
}

func countOf(r *run, of Value, a *Args) Value {
	v, n := a.one(r), 0
	for _, item := range r.items(of) {
		if r.equal(item, v) {
			n++
		}
	}
	return n
}

func view(what string) method {
	return func(r *run, of Value, a *Args) Value {
		a.none(r)
		return &View{of.(*Dict), what}
	}
}

var dictMethods = map[string]method{
	"keys": view("keys"), "values": view("values"), "items": view("items"),
	"get": func(r *run, of Value, a *Args) Value {
		var key, otherwise Value
		a.take(r, 1, nil, &key, &otherwise)
		if v, ok := of.(*Dict).get(r, key); ok {
			return v
		}
		return otherwise
	},
	"copy": func(r *run, of Value, a *Args) Value {
		a.none(r)
		return of.(*Dict).copy(r)
	},
	"update": func(r *run, of Value, a *Args) Value {
		r.update(of.(*Dict), a)
		return nil
	},
	"setdefault": func(r *run, of Value, a *Args) Value {
		var key, otherwise Value
		a.take(r, 1, nil, &key, &otherwise)
		d := of.(*Dict)
		if v, ok := d.get(r, key); ok {
			return v
		}
		r.set(d, key, otherwise)
		return otherwise
	},
	"pop": func(r *run, of Value, a *Args) Value {
		var key, otherwise Value = nil, missing
		a.take(r, 1, nil, &key, &otherwise)
		if v, ok := of.(*Dict).pop(r, key); ok {
			return v
		}
		if otherwise == missing {
			r.fail("%s", r.repr(key))
		}
		return otherwise
	},
	"popitem": func(r *run, of Value, a *Args) Value {
		a.none(r)
		d := of.(*Dict)
		if len(d.entries) == 0 {
			r.fail("'popitem(): dictionary is empty'")
		}
		e := d.entries[len(d.entries)-1]
		d.pop(r, e.key)
		return &Tuple{items: []Value{e.key, e.value}}
	},
	"clear": func(r *run, of Value, a *Args) Value {
		a.none(r)
		*of.(*Dict) = Dict{}
		return nil
	},
}

// update puts into a dict what dict() takes.
func (r *run) update(d *Dict, a *Args) {
	if len(a.Plain) > 1 {
		r.fail("%s expected at most 1 argument, got %d", a.callee, len(a.Plain))
	}
	if len(a.Plain) == 1 {
		if from, ok := a.Plain[0].(*Dict); ok {
			for _, e := range from.entries {
				r.charge(64)
				d.put(e.hash, e.key, e.value)
			}
		} else {
			for _, pair := range r.items(a.Plain[0]) {
				kv := r.unpack(pair, 2)
				r.set(d, kv[0], kv[1])
			}
		}
	}
	for _, e := range a.Named {
		r.set(d, e.name, e.value)
	}
}

var floatMethods = map[string]method{
	"is_integer": func(r *run, of Value, a *Args) Value {
		a.none(r)
		f := of.(float64)
		return f == math.Trunc(f) && !math.IsInf(f, 0)
	},
}

var cyclerMethods = map[string]method{
	"next": func(r *run, of Value, a *Args) Value {
		a.none(r)
		c := of.(*Cycler)
		v := c.items[c.at]
		c.at = (c.at + 1) % len(c.items)
		return v
	},
	"reset": func(r *run, of Value, a *Args) Value {
		a.none(r)
		of.(*Cycler).at = 0
		return nil
	},
}

// method is a method of a value.
type method func(r *run, of Value, a *Args) Value

// methodOf is the method of a value that has this name; nil: there is none.
func methodOf(of Value, n string) method {
	switch of.(type) {
	case string, Markup:
		return textMethods[n]
	case *List:
		return listMethods[n]
	case *Tuple, *Range:
		return tupleMethods[n]
	case *Dict:
		return dictMethods[n]
	case *Cycler:
		return cyclerMethods[n]
	case float64:
		return floatMethods[n]
	}
	return nil
}

// ofText is a method that takes nothing and gives a text of a text.
func ofText(f func(string) string) method {
	return func(r *run, of Value, a *Args) Value {
		a.none(r)
		s, _ := textOf(of)
		r.charge(3 * len(s))
		return f(s)
	}
}

// asks is a method that takes nothing and tells whether something is so.
func asks(f func(string) bool) method {
	return func(r *run, of Value, a *Args) Value {
		a.none(r)
		s, _ := textOf(of)
		r.step(len(s) / 64)
		return f(s)
	}
}

var textMethods map[string]method

func init() { // the methods call each other through it
	textMethods = map[string]method{
		"upper": ofText(upper), "lower": ofText(lower), "capitalize": ofText(capitalize), "title": ofText(title),
		"casefold": ofText(casefold), "swapcase": ofText(swapcase),
		"isspace": asks(isSpaces), "isdigit": asks(each(isDigitRune)), "isdecimal": asks(each(isDecimal)), "isnumeric": asks(each(isNumeric)),
		"isalpha": asks(each(isAlpha)), "isalnum": asks(each(isAlnum)), "isupper": asks(isUpper), "islower": asks(isLower), "istitle": asks(isTitle),
		"isascii": asks(isASCII), "isidentifier": asks(isIdentifier), "isprintable": asks(isPrintable),
		"strip": stripper(true, true), "lstrip": stripper(true, false), "rstrip": stripper(false, true),
		"split": splitText, "rsplit": splitText, "splitlines": splitLinesMethod, "partition": partition(false), "rpartition": partition(true),
		"join":    func(r *run, of Value, a *Args) Value { return r.joinTexts(of, a.one(r)) },
		"replace": replaceMethod, "startswith": affix(strings.HasPrefix), "endswith": affix(strings.HasSuffix),
		"removeprefix": func(r *run, of Value, a *Args) Value {
			return strings.TrimPrefix(r.text(of), r.textArg(a.one(r), "removeprefix() argument"))
		},
		"removesuffix": func(r *run, of Value, a *Args) Value {
			return strings.TrimSuffix(r.text(of), r.textArg(a.one(r), "removesuffix() argument"))
		},
		"find": finder(false, false), "rfind": finder(true, false), "index": finder(false, true), "rindex": finder(true, true), "count": countMethod,
		"center": padded(0), "ljust": padded(-1), "rjust": padded(1), "zfill": zfill, "expandtabs": expandTabs,
		"format": func(r *run, of Value, a *Args) Value { return r.braces(r.text(of), a.Plain, a.named()) },
		"format_map": func(r *run, of Value, a *Args) Value {
			d, ok := a.one(r).(*Dict)
			if !ok {
				r.fail("format_map() needs a mapping")
			}
			return r.braces(r.text(of), nil, d.entries)
		},
	}
}

// one takes one argument.
func (a *Args) one(r *run) (v Value) {
	a.take(r, 1, nil, &v)
	return v
}

func stripper(left, right bool) method {
	return func(r *run, of Value, a *Args) Value {
		var chars Value
		a.take(r, 0, nil, &chars)
		return r.strip(r.text(of), chars, left, right)
	}
}

// strip takes characters from the ends of a text: white space where chars is None.
func (r *run) strip(s string, chars Value, left, right bool) string {
	drop := isSpace
	if chars != nil {
		set := r.textArg(chars, "strip arg")
		r.step(len(set) / 4)
		drop = oneOf(set)
	}
	r.scan(len(s))
	if left {
		s = strings.TrimLeftFunc(s, drop)
	}
	if right {
		s = strings.TrimRightFunc(s, drop)
	}
	return s
}

// oneOf is whether a character is one of a set.
func oneOf(set string) func(rune) bool {
	if len(set) <= 16 {
		return func(c rune) bool { return strings.ContainsRune(set, c) }
	}
	has := map[rune]bool{}
	for _, c := range set {
		has[c] = true
	}
	return func(c rune) bool { return has[c] }
}

func (r *run) joinTexts(sep, items Value) Value {
	by := r.text(sep)
	next := r.iterate(items, "can only join an iterable")
	var b builder
	for i := 0; ; i++ {
		item, ok := next()
		if !ok {
			return b.String()
		}
		r.step(1)
		if i > 0 {
			b.add(r, by)
		}
		s, ok := textOf(item)
		if !ok {
			r.fail("sequence item %d: expected str instance, %s found", i, typeName(item))
		}
		b.add(r, s)
	}
}

func replaceMethod(r *run, of Value, a *Args) Value {
	var old, by, most Value = nil, nil, -1
	a.take(r, 2, []string{"old", "new", "count"}, &old, &by, &most)
	return r.replace(r.text(of), r.textArg(old, "replace() argument 1"), r.textArg(by, "replace() argument 2"), r.intArg(most))
}

// replace replaces at most n times where n is not negative.
func (r *run) replace(s, old, by string, n int) string {
	times := strings.Count(s, old)
	if n >= 0 {
		times = min(times, n)
	}
	if len(by) > 0 && times > r.bytes/len(by) {
		r.charge(-1)
	}
	r.charge(len(s) + times*len(by))
	return strings.Replace(s, old, by, times)
}

// part cuts out the part of a text that is searched, which start and stop bound, and counts the
// characters before it.
func (r *run) part(s string, start, stop Value) (string, int) {
	n := utf8.RuneCountInString(s)
	from, to := 0, n
	if start != nil {
		from = r.intArg(start)
	}
	if stop != nil {
		to = r.intArg(stop)
	}
	if from < 0 {
		from = max(from+n, 0)
	}
	if to < 0 {
		to = max(to+n, 0)
	}
	to = min(to, n)
	if from > to {
		return "", -1
	}
	return s[byteAt(s, from):byteAt(s, to)], from
}

// byteAt is where the nth character of a text begins.
func byteAt(s string, n int) int {
	if isASCII(s) {
		return n
	}
	for at := range s {
		if n == 0 {
			return at
		}
		n--
	}
	return len(s)
}

func finder(fromRight, must bool) method {
	return func(r *run, of Value, a *Args) Value {
		var sub, start, stop Value
		a.take(r, 1, nil, &sub, &start, &stop)
		s, what := r.text(of), r.textArg(sub, "find() argument 1")
		r.step(len(s) / 64)
		part, before := r.part(s, start, stop)
		at := -1
		if before >= 0 {
			if at = strings.Index(part, what); fromRight {
				at = strings.LastIndex(part, what)
			}
		}
		switch {
		case at >= 0:
			return before + utf8.RuneCountInString(part[:at])
		case must:
			r.fail("substring not found")
		}
		return -1
	}
}

func countMethod(r *run, of Value, a *Args) Value {
	var sub, start, stop Value
	a.take(r, 1, nil, &sub, &start, &stop)
	part, before := r.part(r.text(of), start, stop)
	if before < 0 {
		return 0
	}
	return strings.Count(part, r.textArg(sub, "count() argument 1"))
}

func affix(has func(s, affix string) bool) method {
	return func(r *run, of Value, a *Args) Value {
		var what, start, stop Value
		a.take(r, 1, nil, &what, &start, &stop)
		s := r.text(of)
		before := 0
		if start != nil || stop != nil {
			s, before = r.part(s, start, stop)
		}
		if t, ok := what.(*Tuple); ok {
			for _, one := range t.items {
				if before >= 0 && has(s, r.textArg(one, "tuple for "+a.callee+" must only contain str, and an item")) {
					return true
				}
			}
			return false
		}
		w, ok := textOf(what)
		if !ok {
			r.fail("%s first arg must be str or a tuple of str, not %s", a.callee, typeName(what))
		}
		return before >= 0 && has(s, w)
	}
}

// padded fills a text up to a width; side is where the text goes.
func padded(side int) method {
	return func(r *run, of Value, a *Args) Value {
		var width, fill Value = nil, " "
		a.take(r, 1, nil, &width, &fill)
		with := r.textArg(fill, "the fill character")
		if utf8.RuneCountInString(with) != 1 {
			r.fail("The fill character must be exactly one character long")
		}
		return r.pad(r.text(of), r.intArg(width), with, side)
	}
}

// pad fills a text: left of it where side is positive, right where negative, else on both sides as
// str.center does.
func (r *run) pad(s string, width int, fill string, side int) string {
	n := width - utf8.RuneCountInString(s)
	if n <= 0 {
		return s
	}
	if n > r.bytes/len(fill) {
		r.charge(-1)
	}
	r.charge(len(s) + n*len(fill))
	left := 0
	switch {
	case side > 0:
		left = n
	case side == 0:
		left = n/2 + n&width&1
	}
	return strings.Repeat(fill, left) + s + strings.Repeat(fill, n-left)
}

func zfill(r *run, of Value, a *Args) Value {
	s, width := r.text(of), r.intArg(a.one(r))
	sign := ""
	if s != "" && (s[0] == '+' || s[0] == '-') {
		sign, s = s[:1], s[1:]
		width--
	}
	return sign + r.pad(s, width, "0", 1)
}

func expandTabs(r *run, of Value, a *Args) Value {
	var size Value = 8
	a.take(r, 0, []string{"tabsize"}, &size)
	n := r.intArg(size)
	var b builder
	column := 0
	for _, c := range r.text(of) {
		switch {
		case c == '\t' && n > 0:
			b.add(r, r.pad("", n-column%n, " ", 1))
			column += n - column%n
		case c == '\t':
		default:
			b.add(r, string(c))
			if column++; c == '\n' || c == '\r' {
				column = 0
			}
		}
	}
	return b.String()
}

func splitText(r *run, of Value, a *Args) Value {
	var sep, most Value = nil, -1
	fromRight := a.callee == "rsplit"
	a.take(r, 0, []string{"sep", "maxsplit"}, &sep, &most)
	s, n := r.text(of), r.intArg(most)
	var parts []string
	switch {
	case sep == nil && fromRight && n >= 0:
		parts = rightFields(s, n)
	case sep == nil:
		parts = fields(s, n)
	default:
		by := r.textArg(sep, "sep")
		if by == "" {
			r.fail("empty separator")
		}
		r.charge(32 * (strings.Count(s, by) + 1))
		switch {
		case n < 0:
			parts = strings.Split(s, by)
		case fromRight:
			parts = rightSplit(s, by, n)
		default:
			parts = strings.SplitN(s, by, n+1)
		}
	}
	return r.texts(parts)
}

func (r *run) texts(parts []string) *List {
	r.charge(32 * len(parts))
	l := &List{make([]Value, len(parts))}
	for i, p := range parts {
		l.Items[i] = p
	}
	return l
}

// fields splits at white space, at most n times where n is not negative.
func fields(s string, n int) (parts []string) {
	for {
		s = strings.TrimLeftFunc(s, isSpace)
		if s == "" {
			return parts
		}
		if n >= 0 && len(parts) == n {
			return append(parts, s)
		}
		end := strings.IndexFunc(s, isSpace)
		if end < 0 {
			return append(parts, s)
		}
		parts, s = append(parts, s[:end]), s[end:]
	}
}

func rightFields(s string, n int) (parts []string) {
	for {
		s = strings.TrimRightFunc(s, isSpace)
		if s == "" {
			break
		}
		if len(parts) == n {
			parts = append(parts, s)
			break
		}
		begin := strings.LastIndexFunc(s, isSpace)
		if begin < 0 {
			parts = append(parts, s)
			break
		}
		_, size := utf8.DecodeRuneInString(s[begin:])
		parts, s = append(parts, s[begin+size:]), s[:begin]
	}
	reverse(parts)
	return parts
}

func rightSplit(s, by string, n int) (parts []string) {
	for len(parts) < n {
		at := strings.LastIndex(s, by)
		if at < 0 {
			break
		}
		parts, s = append(parts, s[at+len(by):]), s[:at]
	}
	parts = append(parts, s)
	reverse(parts)
	return parts
}

func reverse[T any](items []T) {
	for i, j := 0, len(items)-1; i < j; i, j = i+1, j-1 {
		items[i], items[j] = items[j], items[i]
	}
}

func splitLinesMethod(r *run, of Value, a *Args) Value {
	var keep Value = false
	a.take(r, 0, []string{"keepends"}, &keep)
	return r.texts(lines(r.text(of), r.truth(keep)))
}

// lines splits where Python has lines end.
func lines(s string, keep bool) (out []string) {
	for s != "" {
		at := strings.IndexFunc(s, isLineEnd)
		if at < 0 {
			return append(out, s)
		}
		_, size := utf8.DecodeRuneInString(s[at:])
		if strings.HasPrefix(s[at:], "\r\n") {
			size = 2
		}
		end := at
		if keep {
			end = at + size
		}
		out, s = append(out, s[:end]), s[at+size:]
	}
	return out
}

func isLineEnd(c rune) bool {
	return c >= '\n' && c <= '\r' || c >= 0x1c && c <= 0x1e || c == 0x85 || c == 0x2028 || c == 0x2029
}

func partition(fromRight bool) method {
	return func(r *run, of Value, a *Args) Value {
		s, sep := r.text(of), r.textArg(a.one(r), "partition() argument")
		if sep == "" {
			r.fail("empty separator")
		}
		at := strings.Index(s, sep)
		if fromRight {
			at = strings.LastIndex(s, sep)
		}
		switch {
		case at >= 0:
			return &Tuple{items: []Value{s[:at], sep, s[at+len(sep):]}}
		case fromRight:
			return &Tuple{items: []Value{"", "", s}}
		}
		return &Tuple{items: []Value{s, "", ""}}
	}
}
