// SPDX-License-Identifier: MIT

package lark

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

type kind uint8

const (
	sequence   kind = iota // of parts; none: the empty text
	choice                 // of parts
	both                   // the intersection of parts, in terminals
	complement             // what its part is not, in terminals
	shortest               // texts of its part that do not begin with another of them
	repeated               // repeats its part
	word                   // expression is
	reference              // to rule number
	usage                  // of template number, with parts as its arguments
	parameter              // number of the template
	special                // token number
	jsonValue              // of schema
)

// part is a part of a rule.
type part struct {
	kind             kind
	parts            []*part
	is               lexeme.Expr // of a word
	number           int
	schema           string
	minimum, maximum int // of a repetition
	at               int // in the text, of a reference or usage
	size             int // how many words it consists of; 0: it has rules or tokens too
	product          int // how often its innermost part is repeated at most
}

// newPart returns a part made of others.
func newPart(k kind, parts ...*part) *part {
	p := &part{kind: k, parts: parts, size: 1, product: 1}
	for _, of := range parts {
		p.product = max(p.product, of.product)
		if of.size == 0 {
			p.size = 0
		} else if p.size > 0 {
			p.size += of.size
		}
	}
	return p
}

func newWord(is lexeme.Expr) *part { return &part{kind: word, is: is, size: 1, product: 1} }

// joinParts returns one part made of some.
func joinParts(k kind, parts []*part) *part {
	if len(parts) == 1 {
		return parts[0]
	}
	return newPart(k, parts...)
}

func (p *parser) alternatives() (*part, error) {
	var all []*part
	for {
		one, err := p.intersection()
		if err != nil {
			return nil, err
		}
		all = append(all, one)
		if p.take("->") { // an alias, which names a node of Lark's tree
			p.space()
			if _, err := p.name(); err != nil {
				return nil, err
			}
			p.space()
		}
		if !p.take("|") {
			return joinParts(choice, all), nil
		}
		p.space()
	}
}

// intersection reads sequences with & between them, which llguidance allows in terminals.
func (p *parser) intersection() (*part, error) {
	var all []*part
	for {
		one, err := p.sequence()
		if err != nil {
			return nil, err
		}
		all = append(all, one)
		if p.peek() != '&' {
			return joinParts(both, all), nil
		}
		if err := p.wantTerminal("&"); err != nil {
			return nil, err
		}
		p.at++
		p.space()
	}
}

// wantTerminal returns an error where a rule has something that only a terminal may have.
func (p *parser) wantTerminal(what string) error {
	if p.inTerminal {
		return nil
	}
	return fmt.Errorf("%s belongs to terminals; give what it is about a name in upper case", what)
}

func (p *parser) sequence() (*part, error) {
	var all []*part
	for p.at < len(p.text) && !p.atDefinition() {
		one, err := p.atom()
		if err != nil {
			return nil, err
		}
		if one == nil {
			break
		}
		p.space()
		if one, err = p.repetition(one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return joinParts(sequence, all), nil
}

// unsupported are characters of llguidance's notation, or of other habits, that are not supported.
var unsupported = map[byte]string{
	'\'': "texts do not stand in single quotes; write double ones",
	'@':  "there are no other grammars that @ could name; write their rules here",
	'*':  "there is nothing to repeat before *",
	'+':  "there is nothing to repeat before +",
	'?':  "there is nothing to repeat before ?",
	'{':  "there is nothing to repeat before {",
}

// atom reads an element of a sequence; nil: something else follows.
func (p *parser) atom() (*part, error) {
	if err := p.lexemes.Ask(1); err != nil {
		return nil, err
	}
	switch c := p.peek(); {
	case c == '"':
		return p.literal()
	case c == '/':
		return p.regex()
	case c == '(' || c == '[':
		return p.group()
	case c == '<':
		return p.special()
	case isLetter(c) || c == '_':
		return p.use()
	case c == '~':
		return p.negation()
	case p.take("%json"):
		return p.json()
	default:
		if why, known := unsupported[c]; known {
			return nil, errors.New(why)
		}
		return nil, nil
	}
}

// negation reads what a text must not be, which llguidance allows in terminals.
func (p *parser) negation() (*part, error) {
	if err := p.wantTerminal("~ before something"); err != nil {
		return nil, err
	}
	if err := p.nest(); err != nil {
		return nil, err
	}
	p.at++
	p.space()
	of, err := p.atom()
	if err != nil {
		return nil, err
	}
	if of == nil {
		return nil, p.wantError("what ~ is about")
	}
	p.depth--
	return newPart(complement, of), nil
}

func (p *parser) nest() error {
	if p.depth++; p.depth > maxParentheses {
		return fmt.Errorf("parentheses nest more than %d deep", maxParentheses)
	}
	return nil
}

// group reads what stands in parentheses, or in brackets, where it is optional.
func (p *parser) group() (*part, error) {
	if err := p.nest(); err != nil {
		return nil, err
	}
	optional, end := p.peek() == '[', ")"
	if optional {
		end = "]"
	}
	p.at++
	p.space()
	is, err := p.alternatives()
	if err != nil {
		return nil, err
	}
	if !p.take(end) {
		return nil, p.wantError(end)
	}
	p.depth--
	if optional {
		return p.repeat(is, 0, 1)
	}
	return is, nil
}

// use reads a name, and a template's arguments after it.
func (p *parser) use() (*part, error) {
	at := p.at
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	if i := slices.Index(p.parameters, name); i >= 0 {
		return &part{kind: parameter, number: i, product: 1}, nil
	}
	i, err := p.ruleNumber(name, at)
	if err != nil {
		return nil, err
	}
	is := newPart(reference)
	if p.peek() == '{' {
		if next := strings.TrimLeft(p.text[p.at+1:], " \t"); next != "" && next[0] != ',' && !isDigit(next[0]) {
			arguments, err := p.arguments()
			if err != nil {
				return nil, err
			}
			is = newPart(usage, arguments...)
		}
	}
	is.number, is.at = i, at
	if is.kind == usage || !p.rules[i].terminal {
		is.size = 0
	}
	return is, nil
}

func (p *parser) arguments() ([]*part, error) {
	if err := p.nest(); err != nil {
		return nil, err
	}
	var all []*part
	for {
		p.at++
		p.space()
		one, err := p.atom()
		if err != nil {
			return nil, err
		}
		if one == nil {
			return nil, p.wantError("an argument of a template")
		}
		all = append(all, one)
		p.space()
		if p.peek() == '}' {
			p.at++
			p.depth--
			return all, nil
		}
		if p.peek() != ',' {
			return nil, p.wantError("} after the arguments of a template")
		}
	}
}

// repetition reads how often a part comes. {m,n} is llguidance's.
func (p *parser) repetition(of *part) (*part, error) {
	low, high, err := 0, lexeme.Unbounded, error(nil)
	switch {
	case p.peek() == '?' && !p.atDefinition():
		p.at++
		high = 1
	case p.take("*"):
	case p.take("+"):
		low = 1
	case p.take("~"):
		low, high, err = p.span()
	case p.take("{"):
		low, high, err = p.braces()
	default:
		return of, nil
	}
	if err != nil {
		return nil, err
	}
	p.space()
	if c := p.peek(); (c == '?' || c == '*' || c == '+' || c == '~' || c == '{') && !p.atDefinition() {
		return nil, errors.New("a repetition is repeated; put it in parentheses")
	}
	return p.repeat(of, low, high)
}

// span reads n or m..n after a ~.
func (p *parser) span() (low, high int, err error) {
	p.space()
	if low, err = p.count(); err != nil {
		return 0, 0, err
	}
	if p.space(); !p.take("..") {
		return low, low, nil
	}
	p.space()
	high, err = p.count()
	return low, high, err
}

// braces reads n}, m,}, ,n} or m,n}.
func (p *parser) braces() (low, high int, err error) {
	if p.space(); p.peek() != ',' {
		if low, err = p.count(); err != nil {
			return 0, 0, err
		}
	}
	high = low
	if p.space(); p.take(",") {
		high = lexeme.Unbounded
		if p.space(); p.peek() != '}' {
			if high, err = p.count(); err != nil {
				return 0, 0, err
			}
		}
	}
	if p.space(); !p.take("}") {
		return 0, 0, p.wantError("}")
	}
	return low, high, nil
}

func (p *parser) count() (int, error) {
	from := p.at
	for isDigit(p.peek()) {
		p.at++
	}
	if from == p.at {
		return 0, p.wantError("a number")
	}
	n, err := strconv.Atoi(p.text[from:p.at])
	if err != nil || n > maxProduct {
		return 0, fmt.Errorf("a number is larger than %d", maxProduct)
	}
	return n, nil
}

func (p *parser) repeat(of *part, low, high int) (*part, error) {
	if high != lexeme.Unbounded && high < low {
		return nil, fmt.Errorf("a repetition asks for at least %d and at most %d", low, high)
	}
	is := newPart(repeated, of)
	is.minimum, is.maximum = low, high
	if is.product = max(1, low, high) * of.product; is.product > maxProduct {
		return nil, fmt.Errorf("a repetition within others comes to more than %d", maxProduct)
	}
	return is, nil
}
