// SPDX-License-Identifier: MIT

package jinja

import (
	"slices"
	"strconv"
	"strings"
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

// statements reads up to one of the words, which it leaves; without any up to the end.
func (p *parser) statements(ends ...string) (body []statement) {
	defer p.deeper()()
	if len(ends) > 0 {
		p.skipOperator(":")
		p.blockEnd()
		p.ends = append(p.ends, strings.Join(ends, "' or '"))
		defer func() { p.ends = p.ends[:len(p.ends)-1] }()
	}
	for {
		t := p.current()
		switch t.kind {
		case tokenData:
			p.next()
			body = append(body, data{t.text})
		case tokenVariableBegin:
			p.next()
			body = append(body, output{p.tuple(tupleRule{condition: true}), t.line})
			if p.current().kind != tokenVariableEnd {
				p.expected("end of print statement")
			}
			p.next()
		case tokenBlockBegin:
			p.next()
			if p.isName(ends...) {
				return body
			}
			body = append(body, p.statement())
			p.blockEnd()
		default:
			if len(ends) > 0 {
				p.fail("Unexpected end of template. Jinja was looking for the following tags: '" + strings.Join(ends, "' or '") + "'.")
			}
			return body
		}
	}
}

func (p *parser) blockEnd() {
	if p.current().kind != tokenBlockEnd {
		p.expected("end of statement block")
	}
	p.next()
}

// body is the statements up to a word, which it takes.
func (p *parser) body(end string) []statement {
	b := p.statements(end)
	p.next()
	return b
}

// refused are the tags that need other templates, or an escape of HTML, which no chat template is
// given.
var refused = []string{"extends", "include", "import", "from", "autoescape"}

func (p *parser) statement() statement {
	t := p.current()
	if t.kind != tokenName {
		p.fail("tag name expected")
	}
	p.next()
	switch t.text {
	case "for":
		return p.forLoop(t.line)
	case "if":
		return p.ifBlock()
	case "set":
		return p.set(t.line)
	case "macro":
		return p.macro(t.line)
	case "call":
		return p.callBlock(t.line)
	case "filter":
		f := p.filterChain()
		return filterBlock{f, p.body("endfilter"), t.line}
	case "with":
		return p.with(t.line)
	case "print":
		o := output{line: t.line}
		var items []expression
		for p.current().kind != tokenBlockEnd {
			if len(items) > 0 {
				p.expectOperator(",")
			}
			items = append(items, p.expression(true))
		}
		o.of = concat{items}
		return o
	case "block":
		return p.block(t.line)
	case "generation":
		return scoped{p.body("endgeneration")}
	case "break", "continue":
		if p.loops == 0 {
			p.failAt(t.line, "'"+t.text+"' outside loop")
		}
		return jump{t.text == "break"}
	}
	if slices.Contains(refused, t.text) {
		p.failAt(t.line, "a chat template cannot use '"+t.text+"'")
	}
	reason := "Encountered unknown tag " + reprOfText(t.text) + "."
	if n := len(p.ends); n > 0 {
		reason += " Jinja was looking for the following tags: '" + p.ends[n-1] + "'."
	}
	p.failAt(t.line, reason)
	return nil
}

// filterChain is one filter or more, the first of which is given the text of a block.
func (p *parser) filterChain() expression {
	f := p.filter(nil)
	for links := 0; p.skipOperator("|"); p.chain(&links) {
		f = p.filter(f)
	}
	return f
}

// target is what something is assigned to.
func (p *parser) target(rule tupleRule) expression {
	rule.simple = true
	line := p.current().line
	e := p.tuple(rule)
	p.assignable(line, e)
	return e
}

func (p *parser) assignable(line int, e expression) {
	switch e := e.(type) {
	case name:
		if e.name == "loop" && p.loops > 0 {
			p.failAt(line, "Can't assign to special loop variable in for-loop target")
		}
	case attribute:
	case tuple:
		for _, item := range e.items {
			p.assignable(line, item)
		}
	case list:
		p.failAt(line, "can't assign to 'list'")
	case dict:
		p.failAt(line, "can't assign to 'dict'")
	default:
		p.failAt(line, "can't assign to 'const'")
	}
}

func (p *parser) nameOnly() string {
	n := p.expectName()
	if slices.Contains([]string{"true", "false", "none", "True", "False", "None"}, n) {
		p.fail("can't assign to 'name'")
	}
	return n
}

func (p *parser) forLoop(line int) statement {
	f := forLoop{line: line}
	p.loops++
	f.target = p.target(tupleRule{end: "in"})
	p.loops--
	p.expectWord("in")
	f.over = p.tuple(tupleRule{end: "recursive"})
	if p.skipName("if") {
		f.test = p.expression(true)
	}
	f.recursive = p.skipName("recursive")
	p.loops++
	f.body = p.statements("endfor", "else")
	p.loops--
	if p.next().text == "else" {
		f.otherwise = p.body("endfor")
	}
	return &f
}

func (p *parser) ifBlock() statement {
	var b ifBlock
	for {
		line := p.current().line
		test := p.tuple(tupleRule{})
		b.branches = append(b.branches, branch{test, p.statements("elif", "else", "endif"), line})
		switch p.next().text {
		case "elif":
			continue
		case "else":
			b.otherwise = p.body("endif")
		}
		return b
	}
}

func (p *parser) set(line int) statement {
	target := p.target(tupleRule{namespace: true})
	if p.skipOperator("=") {
		return assignment{target, p.tuple(tupleRule{condition: true}), line}
	}
	var f expression
	if p.skipOperator("|") {
		f = p.filterChain()
	}
	return setBlock{target, f, p.body("endset"), line}
}

func (p *parser) with(line int) statement {
	w := with{line: line}
	for p.current().kind != tokenBlockEnd {
		if len(w.targets) > 0 {
			p.expectOperator(",")
		}
		w.targets = append(w.targets, p.target(tupleRule{}))
		p.expectOperator("=")
		w.values = append(w.values, p.expression(true))
	}
	w.body = p.body("endwith")
	return w
}

func (p *parser) block(line int) statement {
	b := block{name: p.expectName(), line: line}
	b.scoped = p.skipName("scoped")
	p.skipName("required")
	if slices.Contains(p.blocks, b.name) {
		p.failAt(line, "block "+reprOfText(b.name)+" defined twice")
	}
	p.blocks = append(p.blocks, b.name)
	loops := p.loops
	p.loops = 0
	b.body = p.body("endblock")
	p.loops = loops
	p.skipName(b.name)
	return b
}

// signature reads the parameters of a macro.
func (p *parser) signature(m *macroBody) {
	p.expectOperator("(")
	for !p.isOperator(")") {
		if len(m.params) > 0 {
			p.expectOperator(",")
		}
		m.params = append(m.params, p.nameOnly())
		if p.skipOperator("=") {
			m.defaults = append(m.defaults, p.expression(true))
		} else if len(m.defaults) > 0 {
			p.fail("non-default argument follows default argument")
		}
	}
	p.expectOperator(")")
}

func (p *parser) macro(line int) statement {
	m := &macroBody{name: p.nameOnly(), line: line}
	p.signature(m)
	p.macroBody(m, "endmacro")
	return macro{m}
}

// macroBody reads the body, and which of the special names it uses.
func (p *parser) macroBody(m *macroBody, end string) {
	outer, loops := p.special, p.loops
	p.special, p.loops = map[string]bool{}, 0
	m.body = p.body(end)
	m.usesCaller, m.usesNamed, m.usesPlain = p.special["caller"], p.special["kwargs"], p.special["varargs"]
	for n := range p.special {
		if outer != nil {
			outer[n] = true
		}
	}
	p.special, p.loops = outer, loops
	if i := slices.Index(m.params, "caller"); m.usesCaller && i >= 0 && i < len(m.params)-len(m.defaults) {
		p.failAt(m.line, `When defining macros or call blocks the special "caller" argument must be omitted or be given a default.`)
	}
}

func (p *parser) callBlock(line int) statement {
	m := &macroBody{line: line}
	if p.isOperator("(") {
		p.signature(m)
	}
	c, ok := p.expression(true).(call)
	if !ok {
		p.failAt(line, "expected call")
	}
	p.macroBody(m, "endcall")
	c.call.caller = m
	return output{c, line}
}
