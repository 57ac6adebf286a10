// SPDX-License-Identifier: MIT

package gbnf

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/grammar/lark"
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
	repeated  // repeats its part
)

// part is a part of a rule.
type part struct {
	kind             kind
	parts            []*part
	text             string // of a literal
	ranges           []lexeme.Range
	not              bool // of a class
	number           int  // rule or token
	minimum, maximum int  // of a repetition
	product          int  // how often its innermost part is repeated at most
}

// isVoid reports whether nothing was written in a part, so that there is nothing to repeat.
func (p *part) isVoid() bool {
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

// peek returns the next byte, 0 at the end.
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

// quoteNext quotes what comes next, for an error.
func (p *parser) quoteNext() string {
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
		return 0, fmt.Errorf("the name of a rule is expected, not %s", p.quoteNext())
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
	rest, ok := strings.CutPrefix(p.text[p.at:], "::=")
	if !ok {
		remedy := ""
		if p.peek() == ':' {
			remedy = "; a grammar in Lark's notation begins with " + lark.Prefix + " {}"
		}
		return fmt.Errorf("::= is expected after the name %q%s", p.rules[i].name, remedy)
	}
	p.at = len(p.text) - len(rest)
	p.space(true)
	is, err := p.alternatives(false)
	if err != nil {
		return err
	}
	p.rules[i].is = is
	if c := p.peek(); p.at < len(p.text) && c != '\n' && c != '\r' {
		return fmt.Errorf("the end of the rule is expected, not %s", p.quoteNext())
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
			if len(all.parts) == 0 || all.parts[len(all.parts)-1].isVoid() {
				return nil, fmt.Errorf("there is nothing to repeat before %s", p.quoteNext())
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
		return nil, fmt.Errorf(") is expected, not %s", p.quoteNext())
	}
	p.depth--
	return is, nil
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
			is.ranges = []lexeme.Range{} // no text contains that character
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
	return 0, fmt.Errorf("there is no escape %s", p.quoteNext())
}

// hexadecimal reads digits. Numbers beyond Unicode become the first such number.
func (p *parser) hexadecimal(digits int) (rune, error) {
	if p.at+digits <= len(p.text) {
		if n, err := strconv.ParseUint(p.text[p.at:p.at+digits], 16, 32); err == nil {
			p.at += digits
			return rune(min(n, utf8.MaxRune+1)), nil
		}
	}
	return 0, fmt.Errorf("%d hexadecimal digits are expected, not %s", digits, p.quoteNext())
}

// token reads <[123]> or <text>, either with ! before it.
func (p *parser) token() (*part, error) {
	is := &part{kind: named}
	if p.take('!') {
		is.kind = other
	}
	from := p.at
	if p.peek() != '<' {
		return nil, fmt.Errorf("< is expected, not %s", p.quoteNext())
	}
	for !p.take('>') {
		if p.at++; p.at >= len(p.text) {
			return nil, errors.New("a token's text has no end, which is >")
		}
	}
	number, err := p.tokens.resolve(p.text[from:p.at])
	is.number = int(number)
	return is, err
}

// resolve returns the token that <[123]>, or a text such as <think>, stands for.
func (t Tokens) resolve(text string) (int32, error) {
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
