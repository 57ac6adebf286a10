// SPDX-License-Identifier: MIT

package jinja

import (
	"math/big"
	"slices"
)

// An expression is a node of the tree that has a value.
type expression interface{ eval(r *run) Value }

type (
	constant struct{ value Value }
	name     struct{ name string }
	list     struct{ items []expression }
	tuple    struct{ items []expression }
	dict     struct{ keys, values []expression }

	negation struct{ of expression } // not
	sign     struct {
		of    expression
		minus bool
	}
	either     struct{ left, right expression } // or
	both       struct{ left, right expression } // and
	arithmetic struct {
		op          string
		left, right expression
	}
	concat     struct{ items []expression }
	comparison struct {
		first  expression
		ops    []string
		others []expression
	}
	condition struct {
		test, yes, no expression // no may be nil
		line          int
	}

	attribute struct {
		of   expression
		name string
	}
	item   struct{ of, key expression }
	slice  struct{ start, stop, step expression } // each may be nil
	filter struct {
		of   expression // nil: the text of a block
		name string
		call arguments
		line int
	}
	test struct {
		of   expression
		name string
		call arguments
		line int
	}
	call struct {
		of   expression
		call arguments
		line int
	}
)

// arguments are what a call is written with.
type arguments struct {
	plain  []expression
	names  []string
	named  []expression
	list   expression // *args; may be nil
	dict   expression // **kwargs; may be nil
	caller *macroBody // of a call block; may be nil
}

func (e constant) eval(*run) Value { return e.value }

func (e name) eval(r *run) Value { return r.lookup(e.name) }

func (r *run) all(items []expression) []Value {
	values := make([]Value, len(items))
	r.charge(16 * len(items))
	for i, e := range items {
		values[i] = r.eval(e)
	}
	return values
}

func (e list) eval(r *run) Value  { return &List{r.all(e.items)} }
func (e tuple) eval(r *run) Value { return &Tuple{items: r.all(e.items)} }

func (e dict) eval(r *run) Value {
	d := NewDict(len(e.keys))
	for i, key := range e.keys {
		k := r.eval(key)
		r.set(d, k, r.eval(e.values[i]))
	}
	return d
}

func (e negation) eval(r *run) Value { return !r.truth(r.eval(e.of)) }

func (e sign) eval(r *run) Value {
	v := r.eval(e.of)
	r.defined(v)
	switch n := number(v).(type) {
	case int:
		if e.minus {
			return normalInt(new(big.Int).Neg(big.NewInt(int64(n))))
		}
		return n
	case *big.Int:
		if e.minus {
			return normalInt(new(big.Int).Neg(n))
		}
		return n
	case float64:
		if e.minus {
			return -n
		}
		return n
	}
	op := "+"
	if e.minus {
		op = "-"
	}
	r.fail("bad operand type for unary %s: '%s'", op, typeName(v))
	return nil
}

func (e either) eval(r *run) Value {
	if v := r.eval(e.left); r.truth(v) {
		return v
	}
	return r.eval(e.right)
}

func (e both) eval(r *run) Value {
	if v := r.eval(e.left); !r.truth(v) {
		return v
	}
	return r.eval(e.right)
}

func (e arithmetic) eval(r *run) Value {
	left := r.eval(e.left)
	return r.operate(e.op, left, r.eval(e.right))
}

func (e concat) eval(r *run) Value {
	var b builder
	for _, item := range e.items {
		b.add(r, r.text(r.eval(item)))
	}
	return b.String()
}

func (e comparison) eval(r *run) Value {
	left := r.eval(e.first)
	var result Value
	for i, op := range e.ops {
		right := r.eval(e.others[i])
		result = r.compare(op, left, right)
		if !r.truth(result) {
			return result
		}
		left = right
	}
	return result
}

func (e condition) eval(r *run) Value {
	if r.truth(r.eval(e.test)) {
		return r.eval(e.yes)
	}
	if e.no == nil {
		return &Undefined{hint: format("the inline if-expression on line %d evaluated to false and no else section was defined.", e.line)}
	}
	return r.eval(e.no)
}

func (e attribute) eval(r *run) Value { return r.attribute(r.eval(e.of), e.name) }

func (e item) eval(r *run) Value {
	of := r.eval(e.of)
	if s, ok := e.key.(slice); ok {
		return r.slice(of, s)
	}
	return r.item(of, r.eval(e.key))
}

func (e slice) eval(r *run) Value {
	r.fail("a slice can stand only within brackets")
	return nil
}

func (e filter) eval(r *run) Value {
	v := r.eval(e.of)
	return r.filter(v, e)
}

func (r *run) filter(v Value, e filter) Value {
	f := filters[e.name]
	if f == nil {
		r.line = e.line
		r.fail("No filter named %s.", reprOfText(e.name))
	}
	a := r.arguments(e.name, e.call)
	r.scanTexts(v, a)
	return f(r, v, a)
}

func (e test) eval(r *run) Value {
	v := r.eval(e.of)
	t := tests[e.name]
	if t == nil {
		r.line = e.line
		r.fail("No test named %s.", reprOfText(e.name))
	}
	a := r.arguments(e.name, e.call)
	r.scanTexts(v, a)
	return t(r, v, a)
}

func (e call) eval(r *run) Value {
	of := r.eval(e.of)
	a := r.arguments("", e.call)
	r.line = e.line
	return r.call(of, a)
}

// arguments evaluates those of a call.
func (r *run) arguments(callee string, a arguments) *Args {
	args := &Args{callee: callee}
	if len(a.plain) > 0 {
		args.Plain = r.all(a.plain)
	}
	for i, n := range a.names {
		args.name(r, n, r.eval(a.named[i]))
	}
	if a.caller != nil {
		args.name(r, "caller", &Macro{body: a.caller, scope: r.scope})
	}
	if a.list != nil {
		more := r.eval(a.list)
		args.Plain = append(args.Plain, r.items(more)...)
	}
	if a.dict != nil {
		d, ok := r.eval(a.dict).(*Dict)
		if !ok {
			r.fail("argument after ** must be a mapping")
		}
		for _, e := range d.entries {
			key, ok := e.key.(string)
			if !ok {
				r.fail("keywords must be strings")
			}
			args.name(r, key, e.value)
		}
	}
	return args
}

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
