// SPDX-License-Identifier: MIT

package jinja

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// text takes a string literal.
func (l *lexer) text() {
	rest := l.rest()
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case rest[0]:
			l.emit(tokenString, l.unescaped(rest[1:i]))
			l.advance(i + 1)
			return
		}
	}
	l.unexpected(rest)
}

// escapes are those of one letter.
var escapes = map[byte]string{'\n': "", '\\': "\\", '\'': "'", '"': "\"", 'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v"}

// unescaped is a literal as Python reads it: an unknown escape stays as it is.
func (l *lexer) unescaped(s string) string {
	if !strings.Contains(s, "\\") {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			out.WriteByte(s[i])
			i++
			continue
		}
		c := s[i+1] // text has seen it
		switch plain, ok := escapes[c]; {
		case ok:
			out.WriteString(plain)
			i += 2
		case c >= '0' && c <= '7':
			n := i + 1
			for n < len(s) && n < i+4 && s[n] >= '0' && s[n] <= '7' {
				n++
			}
			code, _ := strconv.ParseUint(s[i+1:n], 8, 32)
			out.WriteRune(rune(code))
			i = n
		case c == 'x' || c == 'u' || c == 'U':
			r, n := l.hexEscape(s[i:], c)
			out.WriteRune(r)
			i += n
		case c == 'N':
			l.fail(`\N{...} is not supported in a string`)
		default:
			out.WriteByte('\\')
			i++
		}
	}
	return out.String()
}

// hexEscape reads \x41, \u0041 or \U00000041. Two halves of a pair are one character, though Python
// keeps them apart: it could not encode them.
func (l *lexer) hexEscape(s string, c byte) (rune, int) {
	n := 2 + map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if len(s) < n {
		l.fail("truncated \\" + string(c) + " escape in a string")
	}
	code, err := strconv.ParseUint(s[2:n], 16, 32)
	if err != nil || code > utf8.MaxRune {
		l.fail("truncated \\" + string(c) + " escape in a string")
	}
	if code >= 0xD800 && code < 0xDC00 && c == 'u' && len(s) >= n+6 && s[n] == '\\' && s[n+1] == 'u' {
		if low, err := strconv.ParseUint(s[n+2:n+6], 16, 32); err == nil && low >= 0xDC00 && low < 0xE000 {
			return rune((code-0xD800)<<10 + (low - 0xDC00) + 0x10000), n + 6
		}
	}
	return rune(code), n
}
