// SPDX-License-Identifier: MIT

package jinja

import (
	"regexp"
	"strings"
)

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
