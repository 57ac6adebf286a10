// SPDX-License-Identifier: MIT

package jinja

import (
	"strings"
	"unicode/utf8"
)

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
