// SPDX-License-Identifier: MIT

package jinja

import (
	"slices"
	"strconv"
)

// parser makes a tree of tokens, as Jinja2's parser does, whose functions have these names.
type parser struct {
	tokens []token
	at     int
	depth  int
	loops  int      // that are open here
	ends   []string // of the blocks that are open, for complaints
	blocks []string // the names of those read so far

	special map[string]bool // those of caller, kwargs and varargs that the macro being read uses
}

func (p *parser) fail(reason string) { p.failAt(p.current().line, reason) }

func (p *parser) failAt(line int, reason string) {
	panic(&failure{line: line, reason: reason})
}

func (p *parser) current() token { return p.tokens[p.at] }

func (p *parser) look() token { return p.tokens[min(p.at+1, len(p.tokens)-1)] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if p.at < len(p.tokens)-1 {
		p.at++
	}
	return t
}

func (p *parser) isOperator(op string) bool {
	t := &p.tokens[p.at]
	return t.kind == tokenOperator && t.text == op
}

func (p *parser) isName(names ...string) bool {
	t := &p.tokens[p.at]
	return t.kind == tokenName && slices.Contains(names, t.text)
}

func (p *parser) skipOperator(op string) bool {
	if p.isOperator(op) {
		p.next()
		return true
	}
	return false
}

func (p *parser) skipName(n string) bool {
	if p.isName(n) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expectOperator(op string) token {
	if !p.isOperator(op) {
		p.expected(op)
	}
	return p.next()
}

func (p *parser) expectName() string {
	if p.current().kind != tokenName {
		p.expected("name")
	}
	return p.next().text
}

func (p *parser) expectWord(word string) {
	if !p.isName(word) {
		p.expected(word)
	}
	p.next()
}

func (p *parser) expected(what string) {
	t := p.current()
	if t.kind == tokenEOF {
		p.fail("unexpected end of template, expected " + reprOfText(what) + ".")
	}
	p.fail("expected token " + reprOfText(what) + ", got " + reprOfText(t.describe()))
}

// deeper counts a level of nesting; the result ends it.
func (p *parser) deeper() func() {
	if p.depth++; p.depth > maxNesting {
		p.fail("the template nests more than " + strconv.Itoa(maxNesting) + " deep")
	}
	return func() { p.depth-- }
}

// chain counts the links of a chain of operators, which makes the tree as deep.
func (p *parser) chain(links *int) {
	if *links++; *links > maxChain {
		p.fail("an expression has more than " + strconv.Itoa(maxChain) + " operators in a row")
	}
}

func (p *parser) expression(withCondition bool) expression {
	defer p.deeper()()
	if !withCondition {
		return p.or()
	}
	line := p.current().line
	e := p.or()
	for links := 0; p.skipName("if"); p.chain(&links) {
		c := condition{test: p.or(), yes: e, line: line}
		if p.skipName("else") {
			c.no = p.expression(true)
		}
		e = c
		line = p.current().line
	}
	return e
}

func (p *parser) or() expression {
	left := p.and()
	for links := 0; p.skipName("or"); p.chain(&links) {
		left = either{left, p.and()}
	}
	return left
}

func (p *parser) and() expression {
	left := p.not()
	for links := 0; p.skipName("and"); p.chain(&links) {
		left = both{left, p.not()}
	}
	return left
}

func (p *parser) not() expression {
	if p.skipName("not") {
		defer p.deeper()()
		return negation{p.not()}
	}
	return p.compare()
}

func (p *parser) compare() expression {
	first := p.sum()
	c := comparison{first: first}
	for links := 0; ; p.chain(&links) {
		t := p.current()
		switch {
		case t.kind == tokenOperator && slices.Contains([]string{"==", "!=", "<", "<=", ">", ">="}, t.text):
			p.next()
			c.ops = append(c.ops, t.text)
		case p.skipName("in"):
			c.ops = append(c.ops, "in")
		case p.isName("not") && p.look().kind == tokenName && p.look().text == "in":
			p.next()
			p.next()
			c.ops = append(c.ops, "not in")
		case len(c.ops) == 0:
			return first
		default:
			return c
		}
		c.others = append(c.others, p.sum())
	}
}

func (p *parser) sum() expression {
	left := p.concat()
	for links := 0; p.isOperator("+") || p.isOperator("-"); p.chain(&links) {
		op := p.next().text
		left = arithmetic{op, left, p.concat()}
	}
	return left
}

func (p *parser) concat() expression {
	items := []expression{p.product()}
	for p.skipOperator("~") {
		items = append(items, p.product())
	}
	if len(items) == 1 {
		return items[0]
	}
	return concat{items}
}

func (p *parser) product() expression {
	left := p.power()
	for links := 0; p.isOperator("*") || p.isOperator("/") || p.isOperator("//") || p.isOperator("%"); p.chain(&links) {
		op := p.next().text
		left = arithmetic{op, left, p.power()}
	}
	return left
}

func (p *parser) power() expression {
	left := p.unary(true)
	for links := 0; p.skipOperator("**"); p.chain(&links) {
		left = arithmetic{"**", left, p.unary(true)}
	}
	return left
}

func (p *parser) unary(withFilter bool) expression {
	var e expression
	if p.isOperator("-") || p.isOperator("+") {
		defer p.deeper()()
		minus := p.next().text == "-"
		e = sign{p.unary(false), minus}
	} else {
		e = p.primary(false)
	}
	e = p.postfix(e)
	if withFilter {
		e = p.filtered(e)
	}
	return e
}
