// SPDX-License-Identifier: MIT

package lark

import (
	"encoding/json"
	"fmt"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/host/grammar/schema"
)

// compiler makes rules of a Builder. What has no rules becomes one lexeme.
type compiler struct {
	p         *parser
	b         *grammar.Builder
	ignored   lexeme.Expr // what may come after a terminal
	terminals []terminal  // by rule
	nested    int         // terminals that are being compiled
	made      []grammar.Rule
	calls     []grammar.Body          // by rule; 0: not called yet
	instances map[string]grammar.Body // calls of templates
	waiting   []instance
	schemas   map[string]grammar.Body // that were read
}

type terminal struct {
	is           lexeme.Expr
	begun, ended bool
}

// instance is a template with its arguments, which become a rule.
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

// compile is the rule of the whole text.
func (c *compiler) compile(start int) (grammar.Rule, error) {
	var skipped []lexeme.Expr
	for _, of := range c.p.ignored {
		is, err := c.word(of, lexeme.Empty)
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
	begin, err := c.use(&part{kind: reference, number: start, at: c.p.rules[start].at}, nil)
	if err != nil {
		return 0, err
	}
	if c.p.initialSkip {
		begin = c.b.Seq(c.spell(c.ignored), begin)
	}
	c.b.Define(root, begin)
	return root, c.rules()
}

// spell is a lexeme as the answer has it.
func (c *compiler) spell(is lexeme.Expr) grammar.Body {
	if c.p.Spell != nil {
		return c.p.Spell(c.b, is)
	}
	return c.b.Lexeme(is, lexeme.UTF8)
}

// rules defines all rules, and templates as they are used.
func (c *compiler) rules() error {
	for i, r := range c.p.rules {
		c.p.at = r.at
		switch {
		case r.terminal:
			if _, err := c.terminal(i); err != nil {
				return err
			}
		case len(r.parameters) == 0:
			is, err := c.body(r.is, nil)
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
		is, err := c.body(c.p.rules[made.of].is, made.arguments)
		if err != nil {
			return err
		}
		c.b.Define(made.rule, is)
	}
	return nil
}

// body is a part of a rule. arguments are those of the template that it is in.
func (c *compiler) body(p *part, arguments []grammar.Body) (grammar.Body, error) {
	if !c.b.Lexemes.Spend(1) {
		return 0, c.b.Lexemes.Err()
	}
	if p.size > 0 && p.size <= maxWord {
		is, err := c.word(p, c.ignored)
		return c.spell(is), err
	}
	switch p.kind {
	case parameter:
		return arguments[p.number], nil
	case special:
		return c.b.Seq(c.b.Token(int32(p.number), false), c.spell(c.ignored)), nil
	case jsonValue:
		return c.json(p)
	case reference, usage:
		return c.use(p, arguments)
	}
	of := p.parts
	if p.kind != repeated {
		of = grouped(p.kind, of)
	}
	parts, err := c.bodies(of, arguments)
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

// json is the values that fit a schema.
func (c *compiler) json(p *part) (grammar.Body, error) {
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
	is := c.b.Seq(c.b.Call(rule), c.spell(c.ignored))
	c.schemas[p.schema] = is
	return is, nil
}

// grouped joins neighbours that have no rules, within a bound, so that there are few lexemes.
func grouped(k kind, parts []*part) []*part {
	var all, run []*part
	size := 0
	flush := func() {
		if len(run) > 0 {
			all = append(all, joined(k, run))
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

func (c *compiler) bodies(parts []*part, arguments []grammar.Body) ([]grammar.Body, error) {
	all := make([]grammar.Body, len(parts))
	for i, p := range parts {
		var err error
		if all[i], err = c.body(p, arguments); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// use is the call of a rule, or of a template with arguments.
func (c *compiler) use(p *part, arguments []grammar.Body) (grammar.Body, error) {
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
	given, err := c.bodies(p.parts, arguments)
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

// word is the expression of a part that has no rules, with what may come after each of its
// terminals.
func (c *compiler) word(p *part, after lexeme.Expr) (lexeme.Expr, error) {
	a := c.b.Lexemes
	if !a.Spend(1) {
		return lexeme.Nothing, a.Err()
	}
	switch p.kind {
	case word:
		return a.Then(p.is, after), nil
	case reference:
		is, err := c.terminal(p.number)
		return a.Then(is, after), err
	}
	within := after
	if p.kind == shortest {
		within = lexeme.Empty
	}
	parts := make([]lexeme.Expr, len(p.parts))
	for i, of := range p.parts {
		var err error
		if parts[i], err = c.word(of, within); err != nil {
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

// terminal is the expression of a terminal.
func (c *compiler) terminal(i int) (lexeme.Expr, error) {
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
	t.is, err = c.word(r.is, lexeme.Empty)
	c.nested--
	t.ended = true
	return t.is, err
}
