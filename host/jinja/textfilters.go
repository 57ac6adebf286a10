// SPDX-License-Identifier: MIT

package jinja

import (
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

// wrapped is a line in lines of at most so many characters, as textwrap's.
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
