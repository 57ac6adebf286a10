// SPDX-License-Identifier: MIT

package jinja

import (
	"slices"
)

// primary also takes a namespace's attribute where one is assigned to.
func (p *parser) primary(withNamespace bool) expression {
	t := p.current()
	switch {
	case t.kind == tokenName:
		p.next()
		switch t.text {
		case "true", "True":
			return constant{true}
		case "false", "False":
			return constant{false}
		case "none", "None":
			return constant{nil}
		}
		if withNamespace && p.skipOperator(".") {
			return attribute{name{t.text}, p.expectName()}
		}
		if p.special != nil && slices.Contains([]string{"caller", "kwargs", "varargs"}, t.text) {
			p.special[t.text] = true
		}
		return name{t.text}
	case t.kind == tokenString:
		text := ""
		for p.current().kind == tokenString {
			text += p.next().text
		}
		return constant{text}
	case t.kind == tokenNumber:
		p.next()
		return constant{t.value}
	case p.isOperator("("):
		p.next()
		e := p.tuple(tupleRule{parentheses: true, condition: true})
		p.expectOperator(")")
		return e
	case p.isOperator("["):
		p.next()
		return list{p.until("]", func() expression { return p.expression(true) })}
	case p.isOperator("{"):
		return p.dict()
	}
	p.fail("unexpected " + reprOfText(t.describe()))
	return nil
}

// until reads what stands between commas up to a closing bracket. A comma may stand before it.
func (p *parser) until(end string, read func() expression) (items []expression) {
	for !p.isOperator(end) {
		if len(items) > 0 {
			p.expectOperator(",")
		}
		if p.isOperator(end) {
			break
		}
		items = append(items, read())
	}
	p.expectOperator(end)
	return items
}

func (p *parser) dict() expression {
	p.expectOperator("{")
	var d dict
	d.keys = p.until("}", func() expression {
		key := p.expression(true)
		p.expectOperator(":")
		d.values = append(d.values, p.expression(true))
		return key
	})
	return d
}

// tupleRule is how a tuple is read.
type tupleRule struct {
	simple      bool // its items are names
	parentheses bool // it stands in parentheses, and so may be empty
	condition   bool // its items may be conditions
	namespace   bool
	end         string // a word before which it ends
}

func (p *parser) tuple(rule tupleRule) expression {
	defer p.deeper()()
	var items []expression
	isTuple := false
	for {
		if len(items) > 0 {
			p.expectOperator(",")
		}
		if t := p.current(); t.kind == tokenVariableEnd || t.kind == tokenBlockEnd || p.isOperator(")") || rule.end != "" && p.isName(rule.end) {
			break
		}
		if rule.simple {
			items = append(items, p.primary(rule.namespace))
		} else {
			items = append(items, p.expression(rule.condition))
		}
		if !p.isOperator(",") {
			break
		}
		isTuple = true
	}
	if !isTuple {
		if len(items) > 0 {
			return items[0]
		}
		if !rule.parentheses {
			p.fail("Expected an expression, got " + reprOfText(p.current().describe()))
		}
	}
	return tuple{items}
}

func (p *parser) postfix(e expression) expression {
	for links := 0; ; p.chain(&links) {
		switch {
		case p.isOperator(".") || p.isOperator("["):
			e = p.subscript(e)
		case p.isOperator("("):
			e = p.call(e)
		default:
			return e
		}
	}
}

func (p *parser) filtered(e expression) expression {
	for links := 0; ; p.chain(&links) {
		switch {
		case p.isOperator("|"):
			p.next()
			e = p.filter(e)
		case p.isName("is"):
			e = p.test(e)
		case p.isOperator("("):
			e = p.call(e)
		default:
			return e
		}
	}
}

func (p *parser) subscript(e expression) expression {
	if p.skipOperator(".") {
		t := p.next()
		if t.kind == tokenName {
			return attribute{e, t.text}
		}
		if t.kind == tokenNumber && t.describe() == "integer" {
			return item{e, constant{t.value}}
		}
		p.failAt(t.line, "expected name or number")
	}
	p.expectOperator("[")
	var keys []expression
	for !p.isOperator("]") {
		if len(keys) > 0 {
			p.expectOperator(",")
		}
		keys = append(keys, p.subscribed())
	}
	p.expectOperator("]")
	if len(keys) == 1 {
		return item{e, keys[0]}
	}
	return item{e, tuple{keys}}
}

func (p *parser) subscribed() expression {
	var s slice
	if !p.isOperator(":") {
		s.start = p.expression(true)
		if !p.isOperator(":") {
			return s.start
		}
	}
	p.next()
	if !p.isOperator(":") && !p.isOperator("]") && !p.isOperator(",") {
		s.stop = p.expression(true)
	}
	if p.skipOperator(":") && !p.isOperator("]") && !p.isOperator(",") {
		s.step = p.expression(true)
	}
	return s
}

func (p *parser) call(e expression) expression {
	line := p.current().line
	return call{e, p.arguments(), line}
}

func (p *parser) arguments() (a arguments) {
	line := p.expectOperator("(").line
	ensure := func(ok bool) {
		if !ok {
			p.failAt(line, "invalid syntax for function call expression")
		}
	}
	for comma := false; !p.isOperator(")"); comma = true {
		if comma {
			p.expectOperator(",")
			if p.isOperator(")") {
				break
			}
		}
		switch {
		case p.skipOperator("*"):
			ensure(a.list == nil && a.dict == nil)
			a.list = p.expression(true)
		case p.skipOperator("**"):
			ensure(a.dict == nil)
			a.dict = p.expression(true)
		case p.current().kind == tokenName && p.look().kind == tokenOperator && p.look().text == "=":
			ensure(a.dict == nil)
			a.names = append(a.names, p.next().text)
			p.next()
			a.named = append(a.named, p.expression(true))
		default:
			ensure(a.list == nil && a.dict == nil && len(a.names) == 0)
			a.plain = append(a.plain, p.expression(true))
		}
	}
	p.expectOperator(")")
	return a
}

// dotted is a name that may have dots.
func (p *parser) dotted() string {
	n := p.expectName()
	for p.skipOperator(".") {
		n += "." + p.expectName()
	}
	return n
}

// filter reads one filter, of which the bar was read.
func (p *parser) filter(of expression) expression {
	f := filter{of: of, line: p.current().line}
	f.name = p.dotted()
	if p.isOperator("(") {
		f.call = p.arguments()
	}
	return f
}

func (p *parser) test(of expression) expression {
	p.next()
	negated := p.skipName("not")
	t := test{of: of, line: p.current().line}
	t.name = p.dotted()
	switch c := p.current(); {
	case p.isOperator("("):
		t.call = p.arguments()
	case c.kind == tokenString, c.kind == tokenNumber, p.isOperator("["), p.isOperator("{"),
		c.kind == tokenName && !p.isName("else", "or", "and"):
		if p.isName("is") {
			p.fail("You cannot chain multiple tests with is")
		}
		t.call.plain = []expression{p.postfix(p.primary(false))}
	}
	if negated {
		return negation{t}
	}
	return t
}
