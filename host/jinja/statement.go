// SPDX-License-Identifier: MIT

package jinja

import (
	"slices"
	"strings"
)

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
