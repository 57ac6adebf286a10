// SPDX-License-Identifier: MIT

package jinja

import "math/big"

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

// arguments are those of a call as they are written.
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
