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

	"github.com/penstock/penstock/host/excerpt"
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
