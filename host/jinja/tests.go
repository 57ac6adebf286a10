// SPDX-License-Identifier: MIT

package jinja

// tests are Jinja2's, each of a value and the arguments besides.
var tests map[string]func(r *run, v Value, a *Args) Value

func init() { // two of them look others up
	tests = map[string]func(r *run, v Value, a *Args) Value{
		"odd":  func(r *run, v Value, a *Args) Value { return r.equal(r.operate("%", v, 2), 1) && noArgs(r, a) },
		"even": func(r *run, v Value, a *Args) Value { return r.equal(r.operate("%", v, 2), 0) && noArgs(r, a) },
		"divisibleby": func(r *run, v Value, a *Args) Value {
			return r.equal(r.operate("%", v, a.one(r)), 0)
		},
		"filter": func(r *run, v Value, a *Args) Value { s, ok := r.hash(v).(string); return ok && filters[s] != nil },
		"test":   func(r *run, v Value, a *Args) Value { s, ok := r.hash(v).(string); return ok && tests[s] != nil },

		"defined":   is(func(_ *run, v Value) bool { _, ok := v.(*Undefined); return !ok }),
		"undefined": is(func(_ *run, v Value) bool { _, ok := v.(*Undefined); return ok }),
		"none":      is(func(_ *run, v Value) bool { return v == nil }),
		"boolean":   is(func(_ *run, v Value) bool { _, ok := v.(bool); return ok }),
		"false":     is(func(_ *run, v Value) bool { return v == false }),
		"true":      is(func(_ *run, v Value) bool { return v == true }),
		"integer":   is(func(_ *run, v Value) bool { return typeName(v) == "int" }),
		"float":     is(func(_ *run, v Value) bool { _, ok := v.(float64); return ok }),
		"number":    is(func(_ *run, v Value) bool { return number(v) != nil }),
		"string":    is(func(_ *run, v Value) bool { _, ok := textOf(v); return ok }),
		"mapping":   is(func(_ *run, v Value) bool { _, ok := v.(*Dict); return ok }),
		"lower":     is(func(r *run, v Value) bool { return isLower(r.text(v)) }),
		"upper":     is(func(r *run, v Value) bool { return isUpper(r.text(v)) }),
		"escaped":   is(func(_ *run, v Value) bool { _, ok := v.(Markup); return ok }),
		"callable":  is(isCallable),
		"sequence":  is(isSequenceTest),
		"iterable":  is(isIterable),
		"sameas":    func(r *run, v Value, a *Args) Value { return same(v, a.one(r)) },
		"in":        func(r *run, v Value, a *Args) Value { return r.contains(a.one(r), v) },
	}
	for op, names := range map[string][]string{
		"==": {"==", "eq", "equalto"}, "!=": {"!=", "ne"}, ">": {">", "gt", "greaterthan"}, ">=": {">=", "ge"}, "<": {"<", "lt", "lessthan"}, "<=": {"<=", "le"},
	} {
		for _, n := range names {
			tests[n] = func(r *run, v Value, a *Args) Value { return r.compare(op, v, a.one(r)) }
		}
	}
}

func noArgs(r *run, a *Args) bool {
	a.none(r)
	return true
}

// is makes a test of a question that takes nothing besides.
func is(question func(r *run, v Value) bool) func(r *run, v Value, a *Args) Value {
	return func(r *run, v Value, a *Args) Value {
		a.none(r)
		return question(r, v)
	}
}

func isCallable(_ *run, v Value) bool {
	switch v.(type) {
	case *Function, *Macro, *Loop, *Joiner, *Undefined:
		return true
	}
	return false
}

func isSequenceTest(_ *run, v Value) bool {
	switch v.(type) {
	case *Dict, *Range, *Undefined:
		return true
	}
	return isSequence(v)
}

func isIterable(_ *run, v Value) bool {
	switch v.(type) {
	case *Dict, *View, *Range, *Generator, *Undefined, *Loop:
		return true
	}
	return isSequence(v)
}

// same is whether two values are one object: numbers and texts that are equal count as one.
func same(a, b Value) bool {
	if typeName(a) != typeName(b) {
		return false
	}
	switch a.(type) {
	case string, Markup, int, float64, bool, nil:
		return a == b
	}
	return a == b
}
