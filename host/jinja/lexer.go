// SPDX-License-Identifier: MIT

package jinja

import (
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
