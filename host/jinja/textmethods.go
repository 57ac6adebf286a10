// SPDX-License-Identifier: MIT

package jinja

import (
	"strings"
	"unicode/utf8"
)

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

// bounds are those of a search within a text, which the last two arguments may give: of the part
// that is searched, and how many characters are before it.
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
