// SPDX-License-Identifier: MIT

package jinja

import (
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a token is.
type kind uint8

const (
	tokenEOF kind = iota
	tokenData
	tokenVariableBegin
	tokenVariableEnd
	tokenBlockBegin
	tokenBlockEnd
	tokenName
	tokenString
	tokenNumber
	tokenOperator
)

// token is a piece of a template's source.
type token struct {
	kind  kind
	text  string // of a name, an operator, data, or a string without its quotes
	value Value  // of a number
	line  int
}

// describe names a token as Jinja2's complaints do.
func (t token) describe() string {
	switch t.kind {
	case tokenEOF:
		return "end of template"
	case tokenData:
		return "template data / text"
	case tokenVariableBegin:
		return "begin of print statement"
	case tokenVariableEnd:
		return "end of print statement"
	case tokenBlockBegin:
		return "begin of statement block"
	case tokenBlockEnd:
		return "end of statement block"
	case tokenString:
		return "string"
	case tokenNumber:
		if _, ok := t.value.(float64); ok {
			return "float"
		}
		return "integer"
	}
	return t.text
}

// lexer cuts a source into tokens, with trim_blocks and lstrip_blocks.
type lexer struct {
	source string
	at     int
	line   int
	tokens []token
}

// tokensOf cuts a whole source. Errors are panics of a failure.
func tokensOf(source string) []token {
	source = normalNewlines(source)
	source = strings.TrimSuffix(source, "\n")
	l := &lexer{source: source, line: 1}
	for l.at < len(l.source) {
		l.data()
	}
	l.emit(tokenEOF, "")
	return l.tokens
}

func normalNewlines(s string) string {
	if !strings.Contains(s, "\r") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

func (l *lexer) emit(k kind, text string) {
	l.tokens = append(l.tokens, token{kind: k, text: text, line: l.line})
}

func (l *lexer) fail(reason string) { panic(&failure{line: l.line, reason: reason}) }

// advance goes on by n bytes and counts their lines.
func (l *lexer) advance(n int) {
	l.line += strings.Count(l.source[l.at:l.at+n], "\n")
	l.at += n
}

func (l *lexer) rest() string { return l.source[l.at:] }

// data takes the text up to the next tag, and the tag.
func (l *lexer) data() {
	rest := l.rest()
	n := tagIn(rest)
	if n < 0 {
		l.emit(tokenData, rest)
		l.advance(len(rest))
		return
	}
	begin := rest[n : n+2]
	sign := byte(0)
	if n+2 < len(rest) && (rest[n+2] == '-' || rest[n+2] == '+') {
		sign = rest[n+2]
	}
	if text := l.before(rest[:n], sign, begin != "{{"); text != "" {
		l.emit(tokenData, text)
	}
	l.advance(n)
	if begin == "{%" && l.raw() {
		return
	}
	l.advance(2)
	if sign != 0 {
		l.advance(1)
	}
	switch begin {
	case "{#":
		l.comment()
	case "{{":
		l.emit(tokenVariableBegin, "")
		l.inside(false)
	default:
		l.emit(tokenBlockBegin, "")
		l.inside(true)
	}
}

// tagIn is where the first tag of a text begins, or negative.
func tagIn(text string) int {
	for from := 0; ; {
		n := strings.IndexByte(text[from:], '{')
		if n < 0 || from+n+1 >= len(text) {
			return -1
		}
		n += from
		if c := text[n+1]; c == '{' || c == '%' || c == '#' {
			return n
		}
		from = n + 1
	}
}

// before is what is left of the text before a tag whose sign is that.
func (l *lexer) before(text string, sign byte, isBlock bool) string {
	switch {
	case sign == '-':
		return strings.TrimRightFunc(text, isSpace)
	case sign == '+' || !isBlock:
		return text
	}
	begin := strings.LastIndexByte(text, '\n') + 1
	starts := begin > 0 || l.at == 0 || l.source[l.at-1] == '\n'
	if starts && strings.TrimLeftFunc(text[begin:], isSpace) == "" {
		return text[:begin]
	}
	return text
}

// comment skips to behind the end of a comment.
func (l *lexer) comment() {
	n := strings.Index(l.rest(), "#}")
	if n < 0 {
		l.fail("Missing end of comment tag")
	}
	sign := byte(0)
	if n > 0 {
		sign = l.rest()[n-1]
	}
	l.advance(n + 2)
	l.behind(sign)
}

// behind skips what a tag's end takes with it.
func (l *lexer) behind(sign byte) {
	switch {
	case sign == '-':
		rest := l.rest()
		l.advance(len(rest) - len(strings.TrimLeftFunc(rest, isSpace)))
	case sign != '+' && strings.HasPrefix(l.rest(), "\n"):
		l.advance(1)
	}
}

// raw takes a raw block, if one begins here.
func (l *lexer) raw() bool {
	rest := l.rest()
	n, sign, ok := rawTag(rest, "raw")
	if !ok || sign == '+' {
		return false
	}
	l.advance(n)
	if sign == '-' {
		l.behind('-')
	}
	rest = l.rest()
	for from := 0; ; {
		at := strings.Index(rest[from:], "{%")
		if at < 0 {
			l.fail("Missing end of raw directive")
		}
		at += from
		size, endSign, ok := rawTag(rest[at:], "endraw")
		if !ok {
			from = at + 2
			continue
		}
		beginSign := byte(0)
		if c := rest[at+2]; c == '-' || c == '+' {
			beginSign = c
		}
		if text := l.before(rest[:at], beginSign, true); text != "" {
			l.emit(tokenData, text)
		}
		l.advance(at + size)
		l.behind(endSign)
		return true
	}
}

// rawTag reads a tag that has nothing but a name, and tells its size and the sign at its end.
func rawTag(text, name string) (size int, sign byte, ok bool) {
	rest := text[2:]
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		rest = rest[1:]
	}
	rest = strings.TrimLeftFunc(rest, isSpace)
	rest, ok = strings.CutPrefix(rest, name)
	if !ok {
		return 0, 0, false
	}
	rest = strings.TrimLeftFunc(rest, isSpace)
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		sign, rest = rest[0], rest[1:]
	}
	rest, ok = strings.CutPrefix(rest, "%}")
	return len(text) - len(rest), sign, ok
}

// inside cuts what stands within a tag, up to its end.
func (l *lexer) inside(isBlock bool) {
	end, endKind := "}}", tokenVariableEnd
	if isBlock {
		end, endKind = "%}", tokenBlockEnd
	}
	var open []byte
	for {
		rest := l.rest()
		l.advance(len(rest) - len(strings.TrimLeftFunc(rest, isSpace)))
		rest = l.rest()
		if rest == "" {
			return
		}
		if len(open) == 0 {
			if strings.HasPrefix(rest, end) {
				l.emit(endKind, "")
				l.advance(2)
				if isBlock {
					l.behind(0)
				}
				return
			}
			if c := rest[0]; (c == '-' || c == '+' && isBlock) && strings.HasPrefix(rest[1:], end) {
				l.emit(endKind, "")
				l.advance(3)
				l.behind(c)
				return
			}
		}
		switch c := rest[0]; {
		case isDigit(c):
			l.number()
		case c == '"' || c == '\'':
			l.text()
		case c == '_' || c >= utf8.RuneSelf || isASCIILetter(c):
			l.name()
		default:
			open = l.operator(open)
		}
	}
}

func isDigit(c byte) bool       { return c >= '0' && c <= '9' }
func isASCIILetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func (l *lexer) name() {
	rest := l.rest()
	n := strings.IndexFunc(rest, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.Is(unicode.Mn, r) && !unicode.Is(unicode.Mc, r)
	})
	if n < 0 {
		n = len(rest)
	}
	if n == 0 {
		l.unexpected(rest)
	}
	l.emit(tokenName, rest[:n])
	l.advance(n)
}

func (l *lexer) unexpected(rest string) {
	r, _ := utf8.DecodeRuneInString(rest)
	l.fail("unexpected char " + reprOfText(string(r)) + " at " + strconv.Itoa(utf8.RuneCountInString(l.source[:l.at])))
}

// operators are tried from the longest on.
var operators = []string{"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".", ":", "|", ",", ";"}

// closes is what ends each bracket.
var closes = map[byte]byte{'(': ')', '[': ']', '{': '}'}

func (l *lexer) operator(open []byte) []byte {
	rest := l.rest()
	for _, op := range operators {
		if !strings.HasPrefix(rest, op) {
			continue
		}
		switch c := op[0]; c {
		case '(', '[', '{':
			if len(open) >= maxNesting {
				l.fail("the template nests more than " + strconv.Itoa(maxNesting) + " deep")
			}
			open = append(open, closes[c])
		case ')', ']', '}':
			if len(open) == 0 {
				l.fail("unexpected '" + op + "'")
			}
			if last := open[len(open)-1]; last != c {
				l.fail("unexpected '" + op + "', expected '" + string(last) + "'")
			}
			open = open[:len(open)-1]
		}
		l.emit(tokenOperator, op)
		l.advance(len(op))
		return open
	}
	l.unexpected(rest)
	return nil
}

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

// escapes has the escapes of one letter.
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
