// SPDX-License-Identifier: MIT

package json

import (
	"unicode/utf16"
	"unicode/utf8"
)

// quoted reads a text from its opening quote to its closing one. Invalid UTF-8 and half a surrogate
// pair become U+FFFD, as in the standard library.
func (p *parser) quoted() (string, error) {
	p.at++
	var b []byte
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return string(b), nil
		case c < ' ':
			return "", ErrSyntax
		case c == '\\':
			r, ok := p.escape()
			if !ok {
				return "", ErrSyntax
			}
			b = utf8.AppendRune(b, r)
		default:
			r, size := utf8.DecodeRune(p.text[p.at:])
			b = utf8.AppendRune(b, r)
			p.at += size
		}
	}
	return "", ErrSyntax
}

// escape reads what follows a backslash, and the second half of a surrogate pair.
func (p *parser) escape() (rune, bool) {
	if p.at+1 >= len(p.text) {
		return 0, false
	}
	c := p.text[p.at+1]
	if c == 'u' {
		return p.unicode()
	}
	p.at += 2
	switch c {
	case '"', '\\', '/':
		return rune(c), true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	}
	return 0, false
}

func (p *parser) unicode() (rune, bool) {
	r, ok := p.hex()
	if !ok || !utf16.IsSurrogate(r) {
		p.at += 6
		return r, ok
	}
	p.at += 6
	low, ok := p.hex()
	if pair := utf16.DecodeRune(r, low); ok && pair != utf8.RuneError {
		p.at += 6
		return pair, true
	}
	return utf8.RuneError, true
}

// hex reads \uXXXX without moving on.
func (p *parser) hex() (rune, bool) {
	if p.at+6 > len(p.text) || p.text[p.at] != '\\' || p.text[p.at+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range p.text[p.at+2 : p.at+6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
