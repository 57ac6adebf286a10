// SPDX-License-Identifier: MIT

package lark

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/host/grammar/pattern"
)

// literal reads a text, or the characters from one to another: "a".."z".
func (p *parser) literal() (*part, error) {
	text, err := p.quoted()
	if err != nil {
		return nil, err
	}
	if rest, ok := strings.CutPrefix(strings.TrimLeft(p.text[p.at:], " \t"), ".."); ok {
		p.at = len(p.text) - len(rest)
		if p.space(); p.peek() != '"' {
			return nil, p.unexpected("the last character of a range")
		}
		last, err := p.quoted()
		if err != nil {
			return nil, err
		}
		low, _ := utf8.DecodeRuneInString(text)
		high, _ := utf8.DecodeRuneInString(last)
		if utf8.RuneCountInString(text) != 1 || utf8.RuneCountInString(last) != 1 || low > high {
			return nil, fmt.Errorf("a range goes from one character to a later one, not from %q to %q", excerpt.Of(text, 30), excerpt.Of(last, 30))
		}
		return newWord(p.lexemes.Class(lexeme.Range{Low: low, High: high})), nil
	}
	if p.take("i") {
		return p.pattern("(?i)" + regexp.QuoteMeta(text))
	}
	return newWord(p.lexemes.Text(text)), nil
}

var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'f': '\f', '\\': '\\', '"': '"'}

// quoted reads a text in double quotes.
func (p *parser) quoted() (string, error) {
	p.at++
	var text []byte
	for {
		switch c := p.peek(); {
		case p.at >= len(p.text) || c == '\n':
			return "", errors.New(`a text has no end in its line; write \n for a line end`)
		case c == '"':
			p.at++
			return string(text), nil
		case c == '\\':
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			text = utf8.AppendRune(text, r)
		default:
			p.at++
			text = append(text, c)
		}
	}
}

// escape reads a character that is written with a backslash. Lark and llguidance differ in what
// they make of unknown ones.
func (p *parser) escape() (rune, error) {
	p.at++
	c := p.peek()
	if is, known := escapes[c]; known {
		p.at++
		return rune(is), nil
	}
	digits := hexadecimals[c]
	if digits == 0 {
		return 0, fmt.Errorf(`there is no escape %q in a text; a backslash is \\`, excerpt.Of(p.text[p.at-1:], 3))
	}
	p.at++
	if p.at+digits <= len(p.text) {
		if n, err := strconv.ParseUint(p.text[p.at:p.at+digits], 16, 32); err == nil && n <= utf8.MaxRune && utf8.ValidRune(rune(n)) {
			p.at += digits
			return rune(n), nil
		}
	}
	return 0, fmt.Errorf("a character's %d hexadecimal digits are expected after \\%c", digits, c)
}

// hexadecimals are the digits of escapes.
var hexadecimals = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// regex reads a regular expression in slashes, and its flags.
func (p *parser) regex() (*part, error) {
	p.at++
	var source strings.Builder
	for p.peek() != '/' {
		if p.at >= len(p.text) || p.peek() == '\n' {
			return nil, errors.New(`a regular expression has no end in its line; write \n for a line end`)
		}
		if p.peek() == '\\' {
			p.regexEscape(&source)
			continue
		}
		source.WriteByte(p.peek())
		p.at++
	}
	p.at++
	flags := ""
	for isLetter(p.peek()) {
		switch c := p.peek(); c {
		case 'i', 'm', 's':
			flags += string(rune(c))
		case 'u': // texts are Unicode's anyway
		default:
			return nil, fmt.Errorf("the flag %c of a regular expression is not supported; take i, m, s or u, and write it without white space and comments", c)
		}
		p.at++
		if len(flags) > 3 {
			return nil, errors.New("a regular expression has a flag twice")
		}
	}
	if flags != "" {
		flags = "(?" + flags + ")"
	}
	return p.pattern(flags + source.String())
}

// regexEscape copies an escape of a regular expression: Python writes a few in another way than Go.
func (p *parser) regexEscape(to *strings.Builder) {
	rest := p.text[p.at:]
	c := byte(0)
	if len(rest) > 1 {
		c = rest[1]
	}
	size, code := 2, ""
	if digits := hexadecimals[c]; len(rest) >= 2+digits {
		code = rest[2 : 2+digits]
	}
	_, err := strconv.ParseUint(code, 16, 32)
	switch {
	case c == '/':
		to.WriteByte('/')
	case c == 'Z':
		to.WriteString(`\z`)
	case len(code) > 2 && err == nil:
		size += len(code)
		to.WriteString(`\x{` + code + `}`)
	case c == '\n' || c == 0: // which has no end in its line
		size = 1
		to.WriteByte('\\')
	default:
		to.WriteString(rest[:size])
	}
	p.at += size
}

// pattern is the word of a regular expression in Go's syntax. Most grammars repeat one often.
func (p *parser) pattern(source string) (*part, error) {
	is, known := p.patterns[source]
	if !known {
		if !p.lexemes.Spend(stepsPerPattern + len(source)/2) {
			return nil, p.lexemes.Err()
		}
		var err error
		if is, err = pattern.Go(p.lexemes, source); err != nil {
			return nil, fmt.Errorf("/%s/ is not supported: %w; regular expressions are in Go's syntax, without look-around and references to groups",
				excerpt.Of(source, 100), err)
		}
		p.patterns[source] = is
	}
	return newWord(is), nil
}

// special reads a token: <[123]> or its text.
func (p *parser) special() (*part, error) {
	end := strings.IndexByte(p.text[p.at:], '>')
	if end < 0 {
		return nil, errors.New("a token has no end, which is >")
	}
	number, err := p.Token(p.text[p.at : p.at+end+1])
	if err != nil {
		return nil, err
	}
	p.at += end + 1
	return &part{kind: special, number: int(number), product: 1}, nil
}

// json reads llguidance's %json: a JSON schema, whose values stand there.
func (p *parser) json() (*part, error) {
	at := p.at
	if p.Spell != nil {
		return nil, errors.New("%json is not supported in the input of a tool; write its rules here")
	}
	p.space()
	var schema json.RawMessage
	d := json.NewDecoder(strings.NewReader(p.text[p.at:]))
	if err := d.Decode(&schema); err != nil {
		return nil, fmt.Errorf("%%json takes a JSON schema, but this is no JSON: %w", err)
	}
	p.at += int(d.InputOffset())
	return &part{kind: jsonValue, schema: string(schema), at: at, product: 1}, nil
}
