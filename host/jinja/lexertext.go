// SPDX-License-Identifier: MIT

package jinja

import (
	"math/big"
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

// number takes an int or a float, with Python's underscores.
func (l *lexer) number() {
	rest := l.rest()
	if n := floatSize(rest); n > 0 && !(l.at > 0 && l.source[l.at-1] == '.') {
		f, _ := strconv.ParseFloat(strings.ReplaceAll(rest[:n], "_", ""), 64) // too large is infinite
		l.tokens = append(l.tokens, token{kind: tokenNumber, text: rest[:n], value: f, line: l.line})
		l.advance(n)
		return
	}
	n, base := intSize(rest)
	digits := strings.ReplaceAll(rest[:n], "_", "")
	if base != 10 {
		digits = digits[2:]
	} else if n > maxDigits {
		l.fail("Exceeds the limit (4300 digits) for integer string conversion")
	}
	i, _ := new(big.Int).SetString(digits, base)
	l.tokens = append(l.tokens, token{kind: tokenNumber, text: rest[:n], value: normalInt(i), line: l.line})
	l.advance(n)
}

// digitsIn is how long a run of digits is that may have single underscores within.
func digitsIn(s string, is func(byte) bool) int {
	n := 0
	for n < len(s) && (is(s[n]) || s[n] == '_' && n > 0 && s[n-1] != '_' && n+1 < len(s) && is(s[n+1])) {
		n++
	}
	return n
}

// floatSize is how long the float is that a text begins with, or 0.
func floatSize(s string) int {
	n := digitsIn(s, isDigit)
	point := 0
	if n < len(s) && s[n] == '.' {
		if d := digitsIn(s[n+1:], isDigit); d > 0 {
			point = 1 + d
		}
	}
	e := n + point
	if e < len(s) && s[e]|0x20 == 'e' {
		d := e + 1
		if d < len(s) && (s[d] == '+' || s[d] == '-') {
			d++
		}
		if digits := digitsIn(s[d:], isDigit); digits > 0 {
			return d + digits
		}
	}
	if point > 0 {
		return e
	}
	return 0
}

// intSize is how long the int is that a text begins with, and its base.
func intSize(s string) (size, base int) {
	for prefix, is := range map[string]func(byte) bool{
		"0b": func(c byte) bool { return c == '0' || c == '1' },
		"0o": func(c byte) bool { return c >= '0' && c <= '7' },
		"0x": func(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' },
	} {
		if len(s) > 2 && strings.EqualFold(s[:2], prefix) {
			skip := 2
			if s[2] == '_' {
				skip = 3
			}
			if n := digitsIn(s[skip:], is); n > 0 {
				return skip + n, map[string]int{"0b": 2, "0o": 8, "0x": 16}[prefix]
			}
		}
	}
	if s[0] == '0' {
		return digitsIn(s, func(c byte) bool { return c == '0' }), 10
	}
	return digitsIn(s, isDigit), 10
}
