// SPDX-License-Identifier: MIT

// Package json reads the JSON that a plugin gets: its configuration and conversations. The standard
// library's encoding/json would make up most of a plugin's size; this package is small, and agrees
// with it on what is valid and what it means.
package json

import (
	"errors"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind is the kind of a value.
type Kind uint8

// The kinds. Null also stands for a missing value.
const (
	Null Kind = iota
	Bool
	Number
	Text
	List
	Object
)

// Value is a JSON value. Its methods return a zero value if it is of another kind, so optional
// fields need no checks.
type Value struct {
	kind   Kind
	text   string  // of a Text
	number float64 // of a Number; 1 for true
	names  []string
	items  []Value // of a List, or of an Object beside names
}

// Kind is what the value is.
func (v Value) Kind() Kind { return v.kind }

// Text is a text; "" for all else.
func (v Value) Text() string { return v.text }

// Float is a number; 0 for all else.
func (v Value) Float() float64 {
	if v.kind != Number {
		return 0
	}
	return v.number
}

// Int is a number without its fraction, or the nearest number that an int can hold; 0 for all else.
func (v Value) Int() int {
	switch x := v.Float(); {
	case x >= math.MaxInt:
		return math.MaxInt
	case x <= math.MinInt:
		return math.MinInt
	default:
		return int(x)
	}
}

// Bool is true or false; false for all else.
func (v Value) Bool() bool { return v.kind == Bool && v.number != 0 }

// Len is the number of values in a list; 0 for all else.
func (v Value) Len() int {
	if v.kind != List {
		return 0
	}
	return len(v.items)
}

// At is the value at an index of a list, 0 ≤ i < Len.
func (v Value) At(i int) Value { return v.items[i] }

// Get is the value of an object's field; of a name that occurs several times, the last. It is Null
// if there is none.
func (v Value) Get(name string) Value {
	for i := len(v.names) - 1; i >= 0; i-- {
		if v.names[i] == name {
			return v.items[i]
		}
	}
	return Value{}
}

// Names are the names of an object's fields, in their order. They must not be changed.
func (v Value) Names() []string { return v.names }

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
