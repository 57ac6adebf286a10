// SPDX-License-Identifier: MIT

package gbnf

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

func (p *parser) literal() (*part, error) {
	p.at++
	var text []byte
	is := &part{kind: literal}
	for !p.take('"') {
		r, err := p.character()
		if err != nil {
			return nil, err
		}
		if !utf8.ValidRune(r) || r == 0 {
			is.ranges = []lexeme.Range{} // no text has that character
			r = utf8.RuneError
		}
		text = utf8.AppendRune(text, r)
	}
	is.text = string(text)
	return is, nil
}

func (p *parser) class() (*part, error) {
	p.at++
	is := &part{kind: class, not: p.take('^')}
	for !p.take(']') {
		low, err := p.character()
		if err != nil {
			return nil, err
		}
		high := low
		if p.peek() == '-' && p.at+1 < len(p.text) && p.text[p.at+1] != ']' {
			p.at++
			if high, err = p.character(); err != nil {
				return nil, err
			}
		}
		is.ranges = append(is.ranges, lexeme.Range{Low: low, High: high})
	}
	return is, nil
}

// character reads a character of a literal or a class.
func (p *parser) character() (rune, error) {
	if p.at >= len(p.text) {
		return 0, errors.New("the text ends within a literal or a class")
	}
	if p.text[p.at] != '\\' {
		r, size := utf8.DecodeRuneInString(p.text[p.at:])
		p.at += size
		return r, nil
	}
	p.at += 2
	if p.at > len(p.text) {
		return 0, errors.New("the text ends within a literal or a class")
	}
	switch c := p.text[p.at-1]; c {
	case 'x':
		return p.hexadecimal(2)
	case 'u':
		return p.hexadecimal(4)
	case 'U':
		return p.hexadecimal(8)
	case 't':
		return '\t', nil
	case 'r':
		return '\r', nil
	case 'n':
		return '\n', nil
	case '\\', '"', '[', ']', '-':
		return rune(c), nil
	}
	p.at -= 2
	return 0, fmt.Errorf("there is no escape %s", p.here())
}

// hexadecimal reads digits. What is beyond all characters becomes the first number that is.
func (p *parser) hexadecimal(digits int) (rune, error) {
	if p.at+digits <= len(p.text) {
		if n, err := strconv.ParseUint(p.text[p.at:p.at+digits], 16, 32); err == nil {
			p.at += digits
			return rune(min(n, utf8.MaxRune+1)), nil
		}
	}
	return 0, fmt.Errorf("%d hexadecimal digits are expected, not %s", digits, p.here())
}

// token reads <[123]>, <text>, and either with ! before it.
func (p *parser) token() (*part, error) {
	is := &part{kind: named}
	if p.take('!') {
		is.kind = other
	}
	from := p.at
	if p.peek() != '<' {
		return nil, fmt.Errorf("< is expected, not %s", p.here())
	}
	for !p.take('>') {
		if p.at++; p.at >= len(p.text) {
			return nil, errors.New("a token's text has no end, which is >")
		}
	}
	number, err := p.tokens.number(p.text[from:p.at])
	is.number = int(number)
	return is, err
}

// number is the token that <[123]>, or a text such as <think>, stands for.
func (t Tokens) number(text string) (int32, error) {
	if digits, ok := strings.CutPrefix(text, "<["); ok {
		n, err := strconv.ParseUint(strings.TrimSuffix(digits, "]>"), 10, 31)
		switch {
		case err != nil || !strings.HasSuffix(text, "]>"):
			return 0, errors.New("a token's number is expected, as in <[123]>")
		case int(n) >= t.Count:
			return 0, fmt.Errorf("the vocabulary has no token %d", n)
		}
		return int32(n), nil
	}
	if t.Find != nil {
		if token, ok := t.Find(text); ok {
			return token, nil
		}
	}
	return 0, fmt.Errorf("%q is not one token of the vocabulary", excerpt.Of(text, 100))
}
