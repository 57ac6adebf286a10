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
	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/host/grammar/pattern"
	"github.com/penstock/penstock/host/grammar/schema"
)

// compiler makes a Builder's rules of a text's. What has no rules becomes one lexeme.
type compiler struct {
	p         *parser
	b         *grammar.Builder
	ignored   lexeme.Expr // what may follow a terminal
	terminals []terminal  // by rule
	nested    int         // how many terminals are being compiled
	made      []grammar.Rule
	calls     []grammar.Body          // by rule; 0: not called yet
	instances map[string]grammar.Body // calls of templates
	waiting   []instance
	schemas   map[string]grammar.Body // by their text
}

type terminal struct {
	is           lexeme.Expr
	begun, ended bool
}

// instance is a template with its arguments, which becomes a rule.
type instance struct {
	of        int
	arguments []grammar.Body
	rule      grammar.Rule
}

func newCompiler(b *grammar.Builder, p *parser) *compiler {
	n := len(p.rules)
	return &compiler{p: p, b: b, terminals: make([]terminal, n), made: make([]grammar.Rule, n), calls: make([]grammar.Body, n),
		instances: map[string]grammar.Body{}, schemas: map[string]grammar.Body{}}
}

// compile returns the rule of the whole text.
func (c *compiler) compile(start int) (grammar.Rule, error) {
	var skipped []lexeme.Expr
	for _, of := range c.p.ignored {
		is, err := c.wordOf(of, lexeme.Empty)
		if err != nil {
			return 0, err
		}
		skipped = append(skipped, is)
	}
	c.ignored = c.b.Lexemes.Repeat(c.b.Lexemes.Or(skipped...), 0, lexeme.Unbounded)
	for i, r := range c.p.rules {
		if !r.terminal && len(r.parameters) == 0 {
			c.made[i] = c.b.Rule()
		}
	}
	root := c.b.Rule()
	begin, err := c.compileUse(&part{kind: reference, number: start, at: c.p.rules[start].at}, nil)
	if err != nil {
		return 0, err
	}
	if c.p.initialSkip {
		begin = c.b.Seq(c.spellLexeme(c.ignored), begin)
	}
	c.b.Define(root, begin)
	return root, c.defineRules()
}

// spellLexeme returns a lexeme as it is written in the answer.
func (c *compiler) spellLexeme(is lexeme.Expr) grammar.Body {
	if c.p.Spell != nil {
		return c.p.Spell(c.b, is)
	}
	return c.b.Lexeme(is, lexeme.UTF8)
}

// defineRules defines all rules, and templates as they are used.
func (c *compiler) defineRules() error {
	for i, r := range c.p.rules {
		c.p.at = r.at
		switch {
		case r.terminal:
			if _, err := c.compileTerminal(i); err != nil {
				return err
			}
		case len(r.parameters) == 0:
			is, err := c.compileBody(r.is, nil)
			if err != nil {
				return err
			}
			c.b.Define(c.made[i], is)
		}
	}
	for len(c.waiting) > 0 {
		last := len(c.waiting) - 1
		made := c.waiting[last]
		c.waiting = c.waiting[:last]
		c.p.at = c.p.rules[made.of].at
		is, err := c.compileBody(c.p.rules[made.of].is, made.arguments)
		if err != nil {
			return err
		}
		c.b.Define(made.rule, is)
	}
	return nil
}

// compileBody returns the body of a part of a rule. arguments are those of the template that it is
// in.
func (c *compiler) compileBody(p *part, arguments []grammar.Body) (grammar.Body, error) {
	if !c.b.Lexemes.Spend(1) {
		return 0, c.b.Lexemes.Err()
	}
	if p.size > 0 && p.size <= maxWord {
		is, err := c.wordOf(p, c.ignored)
		return c.spellLexeme(is), err
	}
	switch p.kind {
	case parameter:
		return arguments[p.number], nil
	case special:
		return c.b.Seq(c.b.Token(int32(p.number), false), c.spellLexeme(c.ignored)), nil
	case jsonValue:
		return c.compileJSON(p)
	case reference, usage:
		return c.compileUse(p, arguments)
	}
	of := p.parts
	if p.kind != repeated {
		of = groupWords(p.kind, of)
	}
	parts, err := c.compileBodies(of, arguments)
	switch {
	case err != nil:
		return 0, err
	case p.kind == repeated:
		return c.b.Repeat(parts[0], p.minimum, p.maximum), nil
	case p.kind == choice:
		return c.b.Alt(parts...), nil
	}
	return c.b.Seq(parts...), nil
}

// compileJSON is the values that fit a schema.
func (c *compiler) compileJSON(p *part) (grammar.Body, error) {
	if is, known := c.schemas[p.schema]; known {
		return is, nil
	}
	c.p.at = p.at
	if !c.b.Lexemes.Spend(stepsPerSchema) {
		return 0, c.b.Lexemes.Err()
	}
	rule, _, err := schema.Read(c.b, json.RawMessage(p.schema), schema.Options{})
	if err != nil {
		return 0, fmt.Errorf("%%json: %w", err)
	}
	is := c.b.Seq(c.b.Call(rule), c.spellLexeme(c.ignored))
	c.schemas[p.schema] = is
	return is, nil
}

// groupWords joins neighbours without rules, within a bound, so that there are few lexemes.
func groupWords(k kind, parts []*part) []*part {
	var all, run []*part
	size := 0
	flush := func() {
		if len(run) > 0 {
			all = append(all, joinParts(k, run))
		}
		run, size = nil, 0
	}
	for _, p := range parts {
		if p.size == 0 || size+p.size >= maxWord {
			flush()
		}
		if p.size == 0 {
			all = append(all, p)
		} else {
			run, size = append(run, p), size+p.size
		}
	}
	flush()
	return all
}

func (c *compiler) compileBodies(parts []*part, arguments []grammar.Body) ([]grammar.Body, error) {
	all := make([]grammar.Body, len(parts))
	for i, p := range parts {
		var err error
		if all[i], err = c.compileBody(p, arguments); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// compileUse calls a rule, or a template with arguments.
func (c *compiler) compileUse(p *part, arguments []grammar.Body) (grammar.Body, error) {
	r := &c.p.rules[p.number]
	if len(r.parameters) != len(p.parts) {
		c.p.at = p.at
		return 0, fmt.Errorf("%q takes %d arguments, not %d", r.name, len(r.parameters), len(p.parts))
	}
	if len(p.parts) == 0 {
		if c.calls[p.number] == 0 {
			c.calls[p.number] = c.b.Call(c.made[p.number])
		}
		return c.calls[p.number], nil
	}
	given, err := c.compileBodies(p.parts, arguments)
	if err != nil {
		return 0, err
	}
	key := fmt.Sprint(p.number, given)
	call, known := c.instances[key]
	if !known {
		if len(c.instances) >= maxInstances {
			c.p.at = p.at
			return 0, fmt.Errorf("templates are used with more than %d different arguments, by themselves perhaps", maxInstances)
		}
		rule := c.b.Rule()
		call = c.b.Call(rule)
		c.instances[key] = call
		c.waiting = append(c.waiting, instance{p.number, given, rule})
	}
	return call, nil
}

// wordOf returns the expression of a part without rules. after may follow each of its terminals.
func (c *compiler) wordOf(p *part, after lexeme.Expr) (lexeme.Expr, error) {
	a := c.b.Lexemes
	if !a.Spend(1) {
		return lexeme.Nothing, a.Err()
	}
	switch p.kind {
	case word:
		return a.Then(p.is, after), nil
	case reference:
		is, err := c.compileTerminal(p.number)
		return a.Then(is, after), err
	}
	within := after
	if p.kind == shortest {
		within = lexeme.Empty
	}
	parts := make([]lexeme.Expr, len(p.parts))
	for i, of := range p.parts {
		var err error
		if parts[i], err = c.wordOf(of, within); err != nil {
			return lexeme.Nothing, err
		}
	}
	switch p.kind {
	case repeated:
		return a.Repeat(parts[0], p.minimum, p.maximum), nil
	case choice:
		return a.Or(parts...), nil
	case both:
		return a.And(parts...), nil
	case complement:
		return a.Not(parts[0]), nil
	case shortest:
		longer := a.Then(parts[0], a.Repeat(lexeme.Char, 1, lexeme.Unbounded))
		return a.Then(a.And(parts[0], a.Not(longer)), after), nil
	}
	return a.Then(parts...), nil
}

// compileTerminal returns the expression of a terminal.
func (c *compiler) compileTerminal(i int) (lexeme.Expr, error) {
	t, r := &c.terminals[i], c.p.rules[i]
	if t.ended {
		return t.is, nil
	}
	why := ""
	switch {
	case t.begun:
		why = "uses itself; make it a rule, with a name in lower case"
	case r.is.size == 0:
		why = "uses a rule or a token; make it a rule, with a name in lower case"
	case c.nested >= maxNesting:
		why = fmt.Sprintf("is used by terminals that nest more than %d deep; make it a rule, with a name in lower case", maxNesting)
	}
	if why != "" {
		c.p.at = r.at
		return lexeme.Nothing, fmt.Errorf("the terminal %q %s", r.name, why)
	}
	t.begun = true
	c.nested++
	var err error
	t.is, err = c.wordOf(r.is, lexeme.Empty)
	c.nested--
	t.ended = true
	return t.is, err
}

// literal reads a text, or the characters from one to another: "a".."z".
func (p *parser) literal() (*part, error) {
	text, err := p.quoted()
	if err != nil {
		return nil, err
	}
	if rest, ok := strings.CutPrefix(strings.TrimLeft(p.text[p.at:], " \t"), ".."); ok {
		p.at = len(p.text) - len(rest)
		if p.space(); p.peek() != '"' {
			return nil, p.wantError("the last character of a range")
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

// escape reads a character written with a backslash. Lark and llguidance differ about unknown ones.
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
		case 'u': // texts are Unicode anyway
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

// regexEscape copies an escape of a regular expression: Python writes a few of them differently
// than Go.
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
	case c == '\n' || c == 0: // the expression does not end in its line
		size = 1
		to.WriteByte('\\')
	default:
		to.WriteString(rest[:size])
	}
	p.at += size
}

// pattern returns the word of a regular expression in Go's syntax. Most grammars repeat one often.
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

// json reads llguidance's %json: a JSON schema, which stands for its values.
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
