// SPDX-License-Identifier: MIT

package jinja

import (
	"strconv"
	"strings"
)

// fields of str.format(), and what they are filled with.
type replacement struct {
	r     *run
	plain []Value
	named []entry
	next  int // of the fields without a name; negative: fields have numbers
}

// braces is pattern.format(...).
func (r *run) braces(pattern string, plain []Value, named []entry) string {
	return (&replacement{r: r, plain: plain, named: named}).fill(pattern, 2)
}

// fill fills a pattern, whose fields' formats may have fields to some depth.
func (p *replacement) fill(s string, depth int) string {
	r := p.r
	if depth == 0 {
		r.fail("Max string recursion exceeded")
	}
	var b builder
	for s != "" {
		at := strings.IndexAny(s, "{}")
		if at < 0 {
			b.add(r, s)
			break
		}
		b.add(r, s[:at])
		c := s[at]
		if s = s[at+1:]; s != "" && s[0] == c {
			b.add(r, string(c))
			s = s[1:]
			continue
		}
		switch {
		case c == '}':
			r.fail("Single '}' encountered in format string")
		case s == "":
			r.fail("Single '{' encountered in format string")
		}
		end := p.end(s)
		b.add(r, p.field(s[:end], depth))
		s = s[end+1:]
	}
	return b.String()
}

// end is where the field ends that was begun.
func (p *replacement) end(s string) int {
	depth := 1
	brackets := false
	for i := range len(s) {
		switch {
		case brackets:
			brackets = s[i] != ']'
		case s[i] == '[':
			brackets = depth == 1 && !strings.Contains(s[:i], ":")
		case s[i] == '{':
			depth++
		case s[i] == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	p.r.fail("expected '}' before end of string")
	return 0
}

func (p *replacement) field(s string, depth int) string {
	r := p.r
	n, how := s, ""
	conversion := byte(0)
	if at := strings.IndexAny(s, ":!"); at >= 0 {
		n, how = s[:at], s[at+1:]
		if s[at] == '!' {
			if how == "" || len(how) > 1 && how[1] != ':' {
				r.fail("expected ':' after conversion specifier")
			}
			conversion = how[0]
			how = strings.TrimPrefix(how[1:], ":")
		}
	}
	v := p.value(n)
	switch conversion {
	case 0:
	case 's':
		v = r.text(v)
	case 'r':
		v = r.repr(v)
	case 'a':
		v = asciiOnly(r.repr(v))
	default:
		r.fail("Unknown conversion specifier %s", reprOfText(string(conversion)))
	}
	return r.format(v, p.fill(how, depth-1+boolInt(how == "")))
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// value is what a field's name stands for, with its attributes and items.
func (p *replacement) value(n string) Value {
	r := p.r
	end := strings.IndexAny(n, ".[")
	if end < 0 {
		end = len(n)
	}
	v := p.first(n[:end])
	for rest := n[end:]; rest != ""; {
		if rest[0] == '.' {
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			if end == 0 {
				r.fail("Empty attribute in format string")
			}
			v, rest = r.attribute(v, rest[1:1+end]), rest[1+end:]
			continue
		}
		end := strings.IndexByte(rest, ']')
		switch {
		case end < 0:
			r.fail("Missing ']' in format string")
		case end == 1:
			r.fail("Empty attribute in format string")
		}
		var key Value = rest[1:end]
		if i, err := strconv.Atoi(rest[1:end]); err == nil && isDigit(rest[1]) {
			key = i
		}
		v, rest = r.item(v, key), rest[end+1:]
		if rest != "" && rest[0] != '.' && rest[0] != '[' {
			r.fail("Only '.' or '[' may follow ']' in format field specifier")
		}
	}
	return v
}

func (p *replacement) first(n string) Value {
	r := p.r
	i, err := strconv.Atoi(n)
	switch {
	case n == "":
		if p.next < 0 {
			r.fail("cannot switch from manual field specification to automatic field numbering")
		}
		i = p.next
		p.next++
	case err == nil && i >= 0:
		if p.next > 0 {
			r.fail("cannot switch from automatic field numbering to manual field specification")
		}
		p.next = -1
	default:
		for _, e := range p.named {
			if e.key == n {
				return e.value
			}
		}
		r.fail("%s", reprOfText(n))
	}
	if i >= len(p.plain) {
		r.fail("Replacement index %d out of range for positional args tuple", i)
	}
	return p.plain[i]
}
