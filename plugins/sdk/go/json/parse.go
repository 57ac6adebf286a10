// SPDX-License-Identifier: MIT

package json

import (
	"errors"
	"strconv"
)

// Deepest is how deep lists and objects may be nested; a plugin's stack is small.
const Deepest = 200

// Errors of Parse.
var (
	ErrSyntax = errors.New("not valid JSON")
	ErrDepth  = errors.New("JSON is nested too deep")
	ErrNumber = errors.New("a number in JSON is too large")
)

// Parse reads one value. Only white space may surround it.
func Parse(text []byte) (Value, error) {
	p := parser{text: text}
	v, err := p.value(0)
	if err != nil {
		return Value{}, err
	}
	if p.space(); p.at < len(text) {
		return Value{}, ErrSyntax
	}
	return v, nil
}

// parser is a text and how far it was read.
type parser struct {
	text []byte
	at   int
}

// peek is the next byte, or 0 at the end; no JSON has a 0 where this is asked.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// take moves past a byte if it is the next.
func (p *parser) take(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.at++
	return true
}

func (p *parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

func (p *parser) value(depth int) (Value, error) {
	if depth > Deepest {
		return Value{}, ErrDepth
	}
	p.space()
	switch c := p.peek(); {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.list(depth)
	case c == '"':
		s, err := p.quoted()
		return Value{kind: Text, text: s}, err
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	case c == 't':
		return p.word("true", Value{kind: Bool, number: 1})
	case c == 'f':
		return p.word("false", Value{kind: Bool})
	}
	return p.word("null", Value{})
}

func (p *parser) word(word string, v Value) (Value, error) {
	if end := p.at + len(word); end <= len(p.text) && string(p.text[p.at:end]) == word {
		p.at = end
		return v, nil
	}
	return Value{}, ErrSyntax
}

func (p *parser) list(depth int) (Value, error) {
	v := Value{kind: List}
	p.at++
	if p.space(); p.take(']') {
		return v, nil
	}
	for {
		item, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		v.items = append(v.items, item)
		p.space()
		if p.take(']') {
			return v, nil
		}
		if !p.take(',') {
			return Value{}, ErrSyntax
		}
	}
}

func (p *parser) object(depth int) (Value, error) {
	v := Value{kind: Object}
	p.at++
	if p.space(); p.take('}') {
		return v, nil
	}
	for {
		if p.space(); p.peek() != '"' {
			return Value{}, ErrSyntax
		}
		name, err := p.quoted()
		if err != nil {
			return Value{}, err
		}
		if p.space(); !p.take(':') {
			return Value{}, ErrSyntax
		}
		item, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		v.names, v.items = append(v.names, name), append(v.items, item)
		p.space()
		if p.take('}') {
			return v, nil
		}
		if !p.take(',') {
			return Value{}, ErrSyntax
		}
	}
}

// digits moves past digits and reports whether there was one.
func (p *parser) digits() bool {
	from := p.at
	for c := p.peek(); '0' <= c && c <= '9'; c = p.peek() {
		p.at++
	}
	return p.at > from
}

func (p *parser) number() (Value, error) {
	from := p.at
	p.take('-')
	if !p.take('0') && !p.digits() {
		return Value{}, ErrSyntax
	}
	if p.take('.') && !p.digits() {
		return Value{}, ErrSyntax
	}
	if p.take('e') || p.take('E') {
		if !p.take('+') {
			p.take('-')
		}
		if !p.digits() {
			return Value{}, ErrSyntax
		}
	}
	x, err := strconv.ParseFloat(string(p.text[from:p.at]), 64)
	if err != nil {
		return Value{}, ErrNumber
	}
	return Value{kind: Number, number: x}, nil
}
