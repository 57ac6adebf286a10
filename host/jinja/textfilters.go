// SPDX-License-Identifier: MIT

package jinja

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// textFilter is a filter that makes a text of a text.
func textFilter(f func(string) string) func(r *run, v Value, a *Args) Value {
	return func(r *run, v Value, a *Args) Value {
		a.none(r)
		s := r.text(v)
		r.charge(3 * len(s))
		return like(v, f(s))
	}
}

// like is a text that is Markup if another is.
func like(v Value, s string) Value {
	if _, ok := v.(Markup); ok {
		return Markup(s)
	}
	return s
}

// titleWords has each word begin with a capital letter, where Jinja2 has words begin.
func titleWords(s string) string {
	isGap := func(c rune) bool { return isSpace(c) || strings.ContainsRune("-({[<", c) }
	var b strings.Builder
	for s != "" {
		n := strings.IndexFunc(s, func(c rune) bool { return !isGap(c) })
		if n < 0 {
			n = len(s)
		}
		b.WriteString(s[:n])
		if s = s[n:]; s == "" {
			break
		}
		end := strings.IndexFunc(s, isGap)
		if end < 0 {
			end = len(s)
		}
		c, size := utf8.DecodeRuneInString(s)
		b.WriteString(upper(string(c)) + lower(s[size:end]))
		s = s[end:]
	}
	return b.String()
}

func centerFilter(r *run, v Value, a *Args) Value {
	var width Value = 80
	a.take(r, 0, []string{"width"}, &width)
	return like(v, r.pad(r.text(v), r.intArg(width), " ", 0))
}

func stringFilter(r *run, v Value, a *Args) Value {
	a.none(r)
	return like(v, r.text(v))
}

func indentFilter(r *run, v Value, a *Args) Value {
	var width, first, blank Value = 4, false, false
	a.take(r, 0, []string{"width", "first", "blank"}, &width, &first, &blank)
	by, ok := textOf(width)
	if !ok {
		by = r.pad("", r.intArg(width), " ", 1)
	}
	s, ok := textOf(v)
	if !ok {
		r.defined(v)
		r.fail("unsupported operand type(s) for +=: '%s' and 'str'", typeName(v))
	}
	var b builder
	for i, line := range lines(s+"\n", false) {
		if i > 0 {
			b.add(r, "\n")
		}
		if i == 0 && r.truth(first) || i > 0 && (line != "" || r.truth(blank)) {
			b.add(r, by)
		}
		b.add(r, line)
	}
	return like(v, b.String())
}

func pprintFilter(r *run, v Value, a *Args) Value {
	a.none(r)
	var b builder
	r.writePretty(&b, r.withSortedKeys(v), 0, 0)
	return b.String()
}

// writePretty writes a value as pprint does: what does not fit a line of 80 has its items a line
// each. column is where it begins, after how many characters follow it.
func (r *run) writePretty(b *builder, v Value, column, after int) {
	const width = 80
	text := r.repr(v)
	begin, end := "[", "]"
	var items []Value
	switch v := v.(type) {
	case *List:
		items = v.Items
	case *Tuple:
		if items, begin, end = v.items, "(", ")"; len(items) == 1 {
			end = ",)"
		}
	case *Dict:
		items, begin, end = r.items(&View{v, "items"}), "{", "}"
	}
	if len(items) == 0 || utf8.RuneCountInString(text) <= width-column-after {
		b.add(r, text)
		return
	}
	defer r.deeper()()
	b.add(r, begin)
	for i, item := range items {
		at, behind := column+1, 1
		if i > 0 {
			b.add(r, ",\n"+r.repeated(" ", at))
		}
		if i == len(items)-1 {
			behind = after + len(end)
		}
		if _, isDict := v.(*Dict); isDict {
			pair := item.(*Tuple).items
			key := r.repr(pair[0])
			b.add(r, key+": ")
			at += utf8.RuneCountInString(key) + 2
			item = pair[1]
		}
		r.writePretty(b, item, at, behind)
	}
	b.add(r, end)
}

func (r *run) withSortedKeys(v Value) Value {
	defer r.deeper()()
	switch v := v.(type) {
	case *List:
		l := &List{r.items(v)}
		for i, item := range l.Items {
			l.Items[i] = r.withSortedKeys(item)
		}
		return l
	case *Dict:
		d := NewDict(len(v.entries))
		for _, key := range r.sorted(r.items(v), func(key Value) Value { return key }, false) {
			value, _ := v.get(r, key)
			r.set(d, key, r.withSortedKeys(value))
		}
		return d
	}
	return v
}

func replaceFilter(r *run, v Value, a *Args) Value {
	var old, by, most Value
	a.take(r, 2, []string{"old", "new", "count"}, &old, &by, &most)
	n := -1
	if most != nil {
		n = r.intArg(most)
	}
	return r.replace(r.text(v), r.text(old), r.text(by), n)
}

func trimFilter(r *run, v Value, a *Args) Value {
	var chars Value
	a.take(r, 0, []string{"chars"}, &chars)
	return like(v, r.strip(r.text(v), chars, true, true))
}

func truncateFilter(r *run, v Value, a *Args) Value {
	var length, kill, end, leeway Value = 255, false, "...", 5
	a.take(r, 0, []string{"length", "killwords", "end", "leeway"}, &length, &kill, &end, &leeway)
	if leeway == nil {
		leeway = 5
	}
	count, ok := r.lenOf(v)
	if !ok {
		r.fail("object of type '%s' has no len()", typeName(v))
	}
	last := r.textArg(end, "end")
	n, extra, endLen := r.intArg(length), r.intArg(leeway), utf8.RuneCountInString(last)
	switch {
	case n < endLen:
		r.fail("expected length >= %d, got %d", endLen, n)
	case extra < 0:
		r.fail("expected leeway >= 0, got %d", extra)
	case count <= n+extra:
		return v
	}
	s, ok := textOf(v)
	if !ok {
		r.fail("'%s' object has no attribute 'rsplit'", typeName(v))
	}
	s = s[:byteAt(s, n-endLen)]
	if at := strings.LastIndexByte(s, ' '); at >= 0 && !r.truth(kill) {
		s = s[:at]
	}
	return s + last
}

func isWordRune(c rune) bool {
	return c == '_' || isAlnum(c)
}

func wordcountFilter(r *run, v Value, a *Args) Value {
	a.none(r)
	s := r.text(v)
	r.step(len(s) / 16)
	n, within := 0, false
	for _, c := range s {
		is := isWordRune(c)
		if is && !within {
			n++
		}
		within = is
	}
	return n
}

func wordwrapFilter(r *run, v Value, a *Args) Value {
	var width, long, with, hyphens Value = 79, true, nil, true
	a.take(r, 0, []string{"width", "break_long_words", "wrapstring", "break_on_hyphens"}, &width, &long, &with, &hyphens)
	by := "\n"
	if with != nil {
		by = r.textArg(with, "wrapstring")
	}
	n := r.intArg(width)
	if n <= 0 {
		r.fail("invalid width %d (must be > 0)", n)
	}
	s, ok := textOf(v)
	if !ok {
		r.defined(v)
		r.fail("'%s' object has no attribute 'splitlines'", typeName(v))
	}
	r.charge(4 * len(s))
	r.step(len(s) / 2)
	var out []string
	for _, line := range lines(s, false) {
		out = append(out, strings.Join(wrapped(line, n, r.truth(long), r.truth(hyphens)), by))
	}
	return strings.Join(out, by)
}

// pieces are the words of a line and the gaps between them; a hyphen within letters ends a piece.
func pieces(line string, hyphens bool) (out []string) {
	chars := []rune(line)
	from := 0
	isGap := func(c rune) bool { return strings.ContainsRune("\t\n\v\f\r ", c) }
	for i := 1; i <= len(chars); i++ {
		ends := i == len(chars) || isGap(chars[i]) != isGap(chars[i-1])
		if !ends && hyphens && chars[i-1] == '-' && i-from > 2 && unicode.IsLetter(chars[i]) && unicode.IsLetter(chars[i-2]) && unicode.IsLetter(chars[i-3]) &&
			i+1 < len(chars) && (unicode.IsLetter(chars[i+1]) || chars[i+1] == '-') {
			ends = true
		}
		if ends {
			out = append(out, string(chars[from:i]))
			from = i
		}
	}
	return out
}

// wrapped breaks a line into lines of at most width characters, as Python's textwrap does.
func wrapped(line string, width int, long, hyphens bool) (out []string) {
	parts := pieces(line, hyphens)
	for len(parts) > 0 {
		if len(out) > 0 && strings.TrimFunc(parts[0], isSpace) == "" {
			parts = parts[1:]
		}
		var now []string
		used := 0
		for len(parts) > 0 && used+utf8.RuneCountInString(parts[0]) <= width {
			used += utf8.RuneCountInString(parts[0])
			now, parts = append(now, parts[0]), parts[1:]
		}
		if len(parts) > 0 && utf8.RuneCountInString(parts[0]) > width {
			if long {
				room := byteAt(parts[0], max(width-used, 1))
				now = append(now, parts[0][:room])
				parts[0] = parts[0][room:]
			} else if len(now) == 0 {
				now, parts = append(now, parts[0]), parts[1:]
			}
		}
		if n := len(now); n > 0 && strings.TrimFunc(now[n-1], isSpace) == "" {
			now = now[:n-1]
		}
		if len(now) > 0 {
			out = append(out, strings.Join(now, ""))
		}
	}
	return out
}

func formatFilter(r *run, v Value, a *Args) Value {
	if len(a.Plain) > 0 && len(a.Named) > 0 {
		r.fail("can't handle positional and keyword arguments at the same time")
	}
	if len(a.Named) == 0 {
		return r.percent(r.text(v), &Tuple{items: a.Plain})
	}
	d := NewDict(len(a.Named))
	for _, e := range a.Named {
		d.Set(e.name, e.value)
	}
	return r.percent(r.text(v), d)
}

var htmlUnescapes = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&quot;", `"`, "&nbsp;", "\u00a0")

var (
	comments = regexp.MustCompile(`(?s)<!--.*?-->`)
	tags     = regexp.MustCompile(`(?s)<.*?>`)
)

var htmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// escape is a value's text with HTML's characters escaped, unless they are.
func (r *run) escape(v Value) Markup {
	if m, ok := v.(Markup); ok {
		return m
	}
	s := r.text(v)
	r.charge(len(s))
	escaped := htmlEscapes.Replace(s)
	r.charge(len(escaped) - min(len(s), len(escaped)))
	return Markup(escaped)
}

func escapeFilter(r *run, v Value, a *Args) Value {
	a.none(r)
	return r.escape(v)
}

func forceescapeFilter(r *run, v Value, a *Args) Value {
	a.none(r)
	return r.escape(r.text(v))
}

// safeFilter marks nothing. With Python's, functionary 3.1's template has its tools escaped as
// HTML, since it adds them to a text that is safe; that model has never seen such.
func safeFilter(r *run, v Value, a *Args) Value {
	a.none(r)
	return r.text(v)
}

func striptagsFilter(r *run, v Value, a *Args) Value {
	a.none(r)
	s := r.text(v)
	r.charge(4 * len(s))
	r.step(len(s) / 4)
	s = tags.ReplaceAllString(comments.ReplaceAllString(s, ""), "")
	return htmlUnescapes.Replace(strings.Join(fields(s, -1), " "))
}

func urlencodeFilter(r *run, v Value, a *Args) Value {
	a.none(r)
	d, isDict := v.(*Dict)
	_, isText := textOf(v)
	switch {
	case isText || !isIterable(r, v):
		return r.urlQuote(v, "/")
	case isDict:
		v = &View{d, "items"}
	}
	var b builder
	for i, pair := range r.items(v) {
		kv := r.unpack(pair, 2)
		if i > 0 {
			b.add(r, "&")
		}
		b.add(r, strings.ReplaceAll(r.urlQuote(kv[0], ""), "%20", "+"))
		b.add(r, "=")
		b.add(r, strings.ReplaceAll(r.urlQuote(kv[1], ""), "%20", "+"))
	}
	return b.String()
}

func (r *run) urlQuote(v Value, safe string) string {
	s := r.text(v)
	r.charge(3 * len(s))
	var out []byte
	for i := range len(s) {
		if c := s[i]; isASCIILetter(c) || isDigit(c) || strings.IndexByte("_.-~"+safe, c) >= 0 {
			out = append(out, c)
		} else {
			out = append(out, format("%%%02X", c)...)
		}
	}
	return string(out)
}

func xmlattrFilter(r *run, v Value, a *Args) Value {
	var space Value = true
	a.take(r, 0, []string{"autospace"}, &space)
	d, ok := v.(*Dict)
	if !ok {
		r.defined(v)
		r.fail("'%s' object has no attribute 'items'", typeName(v))
	}
	var b builder
	for _, e := range d.entries {
		if _, ok := e.value.(*Undefined); ok || e.value == nil {
			continue
		}
		key, ok := textOf(e.key)
		if !ok {
			r.fail("expected string or bytes-like object, got '%s'", typeName(e.key))
		}
		if strings.ContainsAny(key, " \t\n\r\f\v/>=") {
			r.fail("Invalid character in attribute name: %s", reprOfText(key))
		}
		if b.Len() > 0 || r.truth(space) {
			b.add(r, " ")
		}
		b.add(r, string(r.escape(key))+`="`+string(r.escape(e.value))+`"`)
	}
	return b.String()
}

// tests are Jinja2's, each of a value and the arguments besides.
var tests map[string]func(r *run, v Value, a *Args) Value

func init() { // two of them look others up
	tests = map[string]func(r *run, v Value, a *Args) Value{
		"odd":  func(r *run, v Value, a *Args) Value { return r.equal(r.operate("%", v, 2), 1) && noArgs(r, a) },
		"even": func(r *run, v Value, a *Args) Value { return r.equal(r.operate("%", v, 2), 0) && noArgs(r, a) },
		"divisibleby": func(r *run, v Value, a *Args) Value {
			return r.equal(r.operate("%", v, a.one(r)), 0)
		},
		"filter": func(r *run, v Value, a *Args) Value { s, ok := r.hash(v).(string); return ok && filters[s] != nil },
		"test":   func(r *run, v Value, a *Args) Value { s, ok := r.hash(v).(string); return ok && tests[s] != nil },

		"defined":   is(func(_ *run, v Value) bool { _, ok := v.(*Undefined); return !ok }),
		"undefined": is(func(_ *run, v Value) bool { _, ok := v.(*Undefined); return ok }),
		"none":      is(func(_ *run, v Value) bool { return v == nil }),
		"boolean":   is(func(_ *run, v Value) bool { _, ok := v.(bool); return ok }),
		"false":     is(func(_ *run, v Value) bool { return v == false }),
		"true":      is(func(_ *run, v Value) bool { return v == true }),
		"integer":   is(func(_ *run, v Value) bool { return typeName(v) == "int" }),
		"float":     is(func(_ *run, v Value) bool { _, ok := v.(float64); return ok }),
		"number":    is(func(_ *run, v Value) bool { return number(v) != nil }),
		"string":    is(func(_ *run, v Value) bool { _, ok := textOf(v); return ok }),
		"mapping":   is(func(_ *run, v Value) bool { _, ok := v.(*Dict); return ok }),
		"lower":     is(func(r *run, v Value) bool { return isLower(r.text(v)) }),
		"upper":     is(func(r *run, v Value) bool { return isUpper(r.text(v)) }),
		"escaped":   is(func(_ *run, v Value) bool { _, ok := v.(Markup); return ok }),
		"callable":  is(isCallable),
		"sequence":  is(isSequenceTest),
		"iterable":  is(isIterable),
		"sameas":    func(r *run, v Value, a *Args) Value { return same(v, a.one(r)) },
		"in":        func(r *run, v Value, a *Args) Value { return r.contains(a.one(r), v) },
	}
	for op, names := range map[string][]string{
		"==": {"==", "eq", "equalto"}, "!=": {"!=", "ne"}, ">": {">", "gt", "greaterthan"}, ">=": {">=", "ge"}, "<": {"<", "lt", "lessthan"}, "<=": {"<=", "le"},
	} {
		for _, n := range names {
			tests[n] = func(r *run, v Value, a *Args) Value { return r.compare(op, v, a.one(r)) }
		}
	}
}

func noArgs(r *run, a *Args) bool {
	a.none(r)
	return true
}

// is makes a test of a question that takes nothing besides.
func is(question func(r *run, v Value) bool) func(r *run, v Value, a *Args) Value {
	return func(r *run, v Value, a *Args) Value {
		a.none(r)
		return question(r, v)
	}
}

func isCallable(_ *run, v Value) bool {
	switch v.(type) {
	case *Function, *Macro, *Loop, *Joiner, *Undefined:
		return true
	}
	return false
}

func isSequenceTest(_ *run, v Value) bool {
	switch v.(type) {
	case *Dict, *Range, *Undefined:
		return true
	}
	return isSequence(v)
}

func isIterable(_ *run, v Value) bool {
	switch v.(type) {
	case *Dict, *View, *Range, *Generator, *Undefined, *Loop:
		return true
	}
	return isSequence(v)
}

// same is whether two values are one object: numbers and texts that are equal count as one.
func same(a, b Value) bool {
	if typeName(a) != typeName(b) {
		return false
	}
	switch a.(type) {
	case string, Markup, int, float64, bool, nil:
		return a == b
	}
	return a == b
}
