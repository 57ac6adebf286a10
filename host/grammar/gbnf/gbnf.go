// SPDX-License-Identifier: MIT

// Package gbnf reads llama.cpp's notation for grammars. Its guide is llama.cpp's
// grammars/README.md; what that leaves open is as llama.cpp's parser does it. Unlike there, rules
// may begin with themselves.
//
// As there, a text that begins with %llguidance is in Lark's notation instead (host/grammar/lark).
package gbnf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lark"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

// ErrInvalid is the error of a malformed grammar.
var ErrInvalid = errors.New("invalid grammar")

const (
	maxText        = 1 << 20
	maxParentheses = 200
	maxRepetitions = 2000 // of a minimum; llama.cpp takes a larger maximum as none
	maxProduct     = 1 << 20
	maxRules       = 100_000
)

// Tokens are the tokens that a grammar may name.
type Tokens struct {
	Count int                             // size of the vocabulary
	Find  func(text string) (int32, bool) // the token of a text such as <think>, if it is one; nil: none is
}

// Parse makes the grammar of a text, with a Builder that has no rules yet. An answer fits rule
// root; "" is "root".
//
// # Errors
//
//   - ErrInvalid: with the line, and what is wrong there.
func Parse(b *grammar.Builder, text, root string, tokens Tokens) (*grammar.Grammar, error) {
	r, err := Add(b, text, root, tokens)
	if err != nil {
		return nil, err
	}
	g, err := b.Build(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return g, nil
}

// Add adds the rules of a text to a Builder, and returns rule root; "" is "root". In Lark's
// notation it returns "start" in any case. Its errors are Parse's.
func Add(b *grammar.Builder, text, root string, tokens Tokens) (grammar.Rule, error) {
	if root == "" {
		root = "root"
	}
	if err := check(text); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if lark.Is(text) {
		rule, err := lark.Add(b, text, lark.Options{Token: tokens.resolve})
		if err != nil {
			return 0, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		return rule, nil
	}
	p := &parser{text: text, tokens: tokens, names: map[string]int{}}
	rules, err := p.parse()
	if err != nil {
		return 0, fmt.Errorf("%w: line %d: %w", ErrInvalid, 1+strings.Count(text[:min(p.at, len(text))], "\n"), err)
	}
	first, ok := p.names[root]
	if !ok {
		return 0, fmt.Errorf("%w: it has no rule %q", ErrInvalid, root)
	}
	return translate(b, rules, first), nil
}

func check(text string) error {
	switch {
	case len(text) > maxText:
		return fmt.Errorf("it has %d bytes; at most 1 MiB is taken", len(text))
	case !utf8.ValidString(text):
		return errors.New("it is not valid UTF-8")
	case strings.IndexByte(text, 0) >= 0:
		return errors.New("it holds a zero byte")
	}
	return nil
}

// maxWord bounds the parts of a lexeme, including those of the rules that it uses.
const maxWord = 2000

// translator makes rules of a Builder. What needs no rules becomes a lexeme, even where the text
// has rules for it, so that there are few places.
type translator struct {
	b     *grammar.Builder
	rules []rule
	made  []grammar.Rule
	words []ruleWord
	parts map[*part]partWord
	known map[string]lexeme.Expr // classes
}

// partWord is what wordOf found for a part.
type partWord struct {
	is   lexeme.Expr
	size int
}

// ruleWord is the lexeme of a rule.
type ruleWord struct {
	is    lexeme.Expr
	size  int // parts; 0: the rule is not a lexeme
	state uint8
}

const (
	untried uint8 = iota
	trying        // met again, it uses itself
	tried
)

// translate makes a Builder's rules of a text's.
func translate(b *grammar.Builder, rules []rule, root int) grammar.Rule {
	t := &translator{b: b, rules: rules, made: make([]grammar.Rule, len(rules)), words: make([]ruleWord, len(rules)),
		parts: map[*part]partWord{}, known: map[string]lexeme.Expr{}}
	for i := range rules {
		t.made[i] = b.Rule()
	}
	for i := range rules {
		b.Define(t.made[i], t.translateBody(rules[i].is))
	}
	return t.made[root]
}

// translateBody returns the body of a part.
func (t *translator) translateBody(p *part) grammar.Body {
	if is, size := t.wordOf(p, 0); size > 0 {
		return t.b.Lexeme(is, lexeme.UTF8)
	}
	switch p.kind {
	case reference:
		return t.b.Call(t.made[p.number])
	case named, other:
		return t.b.Token(int32(p.number), p.kind == other)
	case repeated:
		return t.b.Repeat(t.translateBody(p.parts[0]), p.minimum, p.maximum)
	case choice:
		return t.b.Alt(t.translateChoice(p.parts)...)
	}
	return t.b.Seq(t.translateSequence(p.parts)...)
}

// translateSequence joins neighbours that are lexemes.
func (t *translator) translateSequence(parts []*part) []grammar.Body {
	var bodies []grammar.Body
	var words []lexeme.Expr
	size := 0
	flush := func() {
		if len(words) > 0 {
			bodies = append(bodies, t.b.Lexeme(t.b.Lexemes.Then(words...), lexeme.UTF8))
		}
		words, size = nil, 0
	}
	for _, p := range parts {
		is, n := t.wordOf(p, 0)
		if n == 0 || size+n > maxWord {
			flush()
		}
		if n == 0 {
			bodies = append(bodies, t.translateBody(p))
		} else {
			words, size = append(words, is), size+n
		}
	}
	flush()
	return bodies
}

// translateChoice joins alternatives that are lexemes.
func (t *translator) translateChoice(parts []*part) []grammar.Body {
	var bodies []grammar.Body
	var words []lexeme.Expr
	size := 0
	flush := func() {
		if len(words) > 0 {
			bodies = append(bodies, t.b.Lexeme(t.b.Lexemes.Or(words...), lexeme.UTF8))
		}
		words, size = nil, 0
	}
	for _, p := range parts {
		is, n := t.wordOf(p, 0)
		switch {
		case n == 0:
			bodies = append(bodies, t.translateBody(p))
			continue
		case size+n > maxWord:
			flush()
		}
		words, size = append(words, is), size+n
	}
	flush()
	return bodies
}

// maxNesting is how deep rules are searched for lexemes.
const maxNesting = 500

// wordOf returns the expression of a part and the number of its parts; 0: it is not a lexeme, or
// has too many.
func (t *translator) wordOf(p *part, depth int) (lexeme.Expr, int) {
	if depth > maxNesting {
		return 0, 0
	}
	w, known := t.parts[p]
	if !known {
		w.is, w.size = t.makeWord(p, depth)
		t.parts[p] = w
	}
	return w.is, w.size
}

func (t *translator) makeWord(p *part, depth int) (lexeme.Expr, int) {
	a := t.b.Lexemes
	switch p.kind {
	case literal:
		if p.ranges != nil {
			return lexeme.Nothing, 1
		}
		return a.Text(p.text), 1 + len(p.text)/8
	case anything:
		return t.classExpr(nil, true), 1
	case class:
		if len(p.ranges) == 0 {
			return lexeme.Empty, 1
		}
		return t.classExpr(p.ranges, p.not), 1
	case reference:
		return t.wordOfRule(p.number, depth)
	case named, other:
		return 0, 0
	}
	size := 1
	var parts []lexeme.Expr
	for _, one := range p.parts {
		is, n := t.wordOf(one, depth+1)
		if size += n; n == 0 || size > maxWord {
			return 0, 0
		}
		parts = append(parts, is)
	}
	switch p.kind {
	case repeated:
		return a.Repeat(parts[0], p.minimum, p.maximum), size
	case choice:
		return a.Or(parts...), size
	}
	return a.Then(parts...), size
}

func (t *translator) wordOfRule(i, depth int) (lexeme.Expr, int) {
	w := &t.words[i]
	switch w.state {
	case untried:
		w.state = trying
		w.is, w.size = t.wordOf(t.rules[i].is, depth+1)
		w.state = tried
	case trying:
		return 0, 0
	}
	return w.is, w.size
}

// classExpr is the expression of a class. Most grammars write the same one often.
func (t *translator) classExpr(ranges []lexeme.Range, not bool) lexeme.Expr {
	var key []byte
	for _, r := range ranges {
		key = binary.LittleEndian.AppendUint64(key, uint64(uint32(r.Low))<<32|uint64(uint32(r.High)))
	}
	if not {
		key = append(key, 0xff)
	}
	x, known := t.known[string(key)]
	if !known {
		x = t.b.Lexemes.Class(visibleRanges(ranges, not)...)
		t.known[string(key)] = x
	}
	return x
}

// visibleRanges returns the characters of a class, or with not those outside it, without character
// 0.
func visibleRanges(ranges []lexeme.Range, not bool) []lexeme.Range {
	kept := make([]lexeme.Range, 0, len(ranges)+1)
	for _, r := range ranges {
		if r.Low = max(r.Low, 1); r.Low <= r.High {
			kept = append(kept, lexeme.Range{Low: r.Low, High: min(r.High, utf8.MaxRune)})
		}
	}
	if not {
		kept = lexeme.Complement(lexeme.Normal(append(kept, lexeme.Range{})))
	}
	return kept
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
	r.product = max(1, r.minimum, r.maximum) * repetitionsWithin(of)
	if r.product > maxProduct {
		return nil, fmt.Errorf("a repetition within others comes to more than %d", maxProduct)
	}
	p.space(nested)
	return r, nil
}

// repetitionsWithin is how often the innermost parts of a part are repeated.
func repetitionsWithin(of *part) int {
	n := max(1, of.product)
	for _, p := range of.parts {
		if of.kind != repeated {
			n = max(n, repetitionsWithin(p))
		}
	}
	return n
}

// braces reads {m}, {m,} or {m,n}, up to the closing brace.
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
		return fmt.Errorf("} is expected, not %s", p.quoteNext())
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
		return 0, fmt.Errorf("a number is expected, not %s", p.quoteNext())
	}
	n, err := strconv.Atoi(p.text[from:p.at])
	if err != nil {
		return 0, errors.New("the number of repetitions is too large")
	}
	p.space(nested)
	return n, nil
}
