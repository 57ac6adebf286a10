// SPDX-License-Identifier: MIT

package gbnf

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

type kind uint8

const (
	sequence kind = iota // of parts; none: the empty text
	choice               // of parts
	literal
	class
	anything
	reference // to a rule
	named     // token number
	other     // any token but number
	repeated  // its part
)

// part is a part of a rule.
type part struct {
	kind             kind
	parts            []*part
	text             string // of a literal
	ranges           []lexeme.Range
	not              bool // of a class
	number           int  // rule or token
	minimum, maximum int  // of what is repeated
	product          int  // how often, at most, its innermost part is repeated
}

// void reports whether a part is one that nothing was written in: a repetition of it has nothing to repeat.
func (p *part) void() bool {
	return p.kind == literal && p.text == "" || p.kind == class && len(p.ranges) == 0 || p.kind == repeated && p.maximum == 0
}

type rule struct {
	name string
	is   *part
	at   int // in the text, where it is first used
}

type parser struct {
	text   string
	at     int
	depth  int
	tokens Tokens
	rules  []rule
	names  map[string]int
}

func (p *parser) parse() ([]rule, error) {
	for p.space(true); p.at < len(p.text); p.space(true) {
		if err := p.rule(); err != nil {
			return nil, err
		}
	}
	for _, r := range p.rules {
		if r.is == nil {
			p.at = r.at
			return nil, fmt.Errorf("the rule %q is used, but not defined", r.name)
		}
	}
	return p.rules, nil
}

// peek is the byte that is to be read, 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) take(c byte) bool {
	if p.peek() == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) space(newlines bool) {
	for ; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '#':
			for p.at < len(p.text) && p.text[p.at] != '\n' && p.text[p.at] != '\r' {
				p.at++
			}
			p.at--
		case c == ' ' || c == '\t' || newlines && (c == '\n' || c == '\r'):
		default:
			return
		}
	}
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-'
}

// here quotes what is to be read, for an error.
func (p *parser) here() string {
	rest := p.text[min(p.at, len(p.text)):]
	if rest == "" {
		return "the end of the text"
	}
	n := 0
	for i := range rest {
		if rest[i] == '\n' || n == 20 {
			return strconv.Quote(rest[:i])
		}
		n++
	}
	return strconv.Quote(rest)
}

func (p *parser) name() (int, error) {
	from := p.at
	for isWord(p.peek()) {
		p.at++
	}
	if from == p.at {
		return 0, fmt.Errorf("the name of a rule is expected, not %s", p.here())
	}
	name := p.text[from:p.at]
	i, ok := p.names[name]
	if !ok {
		if len(p.rules) >= maxRules {
			return 0, fmt.Errorf("there are more than %d rules", maxRules)
		}
		i = len(p.rules)
		p.names[name] = i
		p.rules = append(p.rules, rule{name: name, at: from})
	}
	return i, nil
}

func (p *parser) rule() error {
	i, err := p.name()
	if err != nil {
		return err
	}
	p.space(false)
	if !p.take(':') || !p.take(':') || !p.take('=') {
		return fmt.Errorf("::= is expected after the name %q", p.rules[i].name)
	}
	p.space(true)
	is, err := p.alternatives(false)
	if err != nil {
		return err
	}
	p.rules[i].is = is
	if c := p.peek(); p.at < len(p.text) && c != '\n' && c != '\r' {
		return fmt.Errorf("the end of the rule is expected, not %s", p.here())
	}
	return nil
}

func (p *parser) alternatives(nested bool) (*part, error) {
	all := &part{kind: choice}
	for {
		one, err := p.sequence(nested)
		if err != nil {
			return nil, err
		}
		all.parts = append(all.parts, one)
		if !p.take('|') {
			return all, nil
		}
		p.space(true)
	}
}

func (p *parser) sequence(nested bool) (*part, error) {
	all := &part{kind: sequence}
	for {
		var one *part
		var err error
		switch c := p.peek(); {
		case c == '"':
			one, err = p.literal()
		case c == '[':
			one, err = p.class()
		case c == '<' || c == '!':
			one, err = p.token()
		case c == '(':
			one, err = p.group()
		case c == '.':
			p.at++
			one = &part{kind: anything}
		case c == '*' || c == '+' || c == '?' || c == '{':
			if len(all.parts) == 0 || all.parts[len(all.parts)-1].void() {
				return nil, fmt.Errorf("there is nothing to repeat before %s", p.here())
			}
			last := &all.parts[len(all.parts)-1]
			*last, err = p.repetition(*last, nested)
			if err != nil {
				return nil, err
			}
			continue
		case isWord(c):
			var i int
			i, err = p.name()
			one = &part{kind: reference, number: i}
		default:
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all.parts = append(all.parts, one)
		p.space(nested)
	}
}

func (p *parser) group() (*part, error) {
	if p.depth++; p.depth > maxParentheses {
		return nil, fmt.Errorf("parentheses nest more than %d deep", maxParentheses)
	}
	p.at++
	p.space(true)
	is, err := p.alternatives(true)
	if err != nil {
		return nil, err
	}
	if !p.take(')') {
		return nil, fmt.Errorf(") is expected, not %s", p.here())
	}
	p.depth--
	return is, nil
}

func (p *parser) repetition(of *part, nested bool) (*part, error) {
	r := &part{kind: repeated, parts: []*part{of}, maximum: lexeme.Unbounded}
	switch c := p.peek(); c {
	case '+':
		r.minimum = 1
	case '?':
		r.maximum = 1
	case '{':
		if err := p.braces(r, nested); err != nil {
			return nil, err
		}
	}
	p.at++
	r.product = max(1, r.minimum, r.maximum) * most(of)
	if r.product > maxProduct {
		return nil, fmt.Errorf("a repetition within others comes to more than %d", maxProduct)
	}
	p.space(nested)
	return r, nil
}

// most is how often the innermost parts of a part are repeated.
func most(of *part) int {
	n := max(1, of.product)
	for _, p := range of.parts {
		if of.kind != repeated {
			n = max(n, most(p))
		}
	}
	return n
}

// braces reads {m}, {m,} or {m,n} up to its closing brace.
func (p *parser) braces(r *part, nested bool) error {
	p.at++
	p.space(nested)
	least, err := p.count(nested)
	if err != nil {
		return err
	}
	r.minimum, r.maximum = least, least
	if p.take(',') {
		p.space(nested)
		r.maximum = lexeme.Unbounded
		if c := p.peek(); c >= '0' && c <= '9' {
			if r.maximum, err = p.count(nested); err != nil {
				return err
			}
			if r.maximum < least {
				return fmt.Errorf("a repetition asks for at least %d and at most %d", least, r.maximum)
			}
		}
	}
	if p.peek() != '}' {
		return fmt.Errorf("} is expected, not %s", p.here())
	}
	if r.minimum > maxRepetitions {
		return fmt.Errorf("a repetition asks for more than %d", maxRepetitions)
	}
	if r.maximum > maxRepetitions {
		r.maximum = lexeme.Unbounded
	}
	return nil
}

func (p *parser) count(nested bool) (int, error) {
	from := p.at
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.at++
	}
	if from == p.at {
		return 0, fmt.Errorf("a number is expected, not %s", p.here())
	}
	n, err := strconv.Atoi(p.text[from:p.at])
	if err != nil {
		return 0, errors.New("the number of repetitions is too large")
	}
	p.space(nested)
	return n, nil
}

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
	if !p.take('<') {
		return nil, fmt.Errorf("< is expected, not %s", p.here())
	}
	if p.take('[') {
		number := p.at
		for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
			p.at++
		}
		n, err := strconv.Atoi(p.text[number:p.at])
		if err != nil || !p.take(']') || !p.take('>') {
			return nil, errors.New("a token's number is expected, as in <[123]>")
		}
		if n >= p.tokens.Count {
			return nil, fmt.Errorf("the vocabulary has no token %d", n)
		}
		is.number = n
		return is, nil
	}
	for p.peek() != '>' {
		if p.at++; p.at >= len(p.text) {
			return nil, errors.New("a token's text has no end, which is >")
		}
	}
	p.at++
	if p.tokens.Find != nil {
		if token, ok := p.tokens.Find(p.text[from:p.at]); ok {
			is.number = int(token)
			return is, nil
		}
	}
	return nil, fmt.Errorf("%q is not one token of the vocabulary", p.text[from:p.at])
}
