// SPDX-License-Identifier: MIT

package jinja

import "math/big"

// globals are the functions that every template has.
var globals map[string]Value

func init() { // dict() calls what may call globals
	globals = map[string]Value{}
	for n, call := range map[string]func(r *run, a *Args) Value{
		"range": rangeFunction,
		"dict": func(r *run, a *Args) Value {
			d := NewDict(0)
			r.update(d, a)
			return d
		},
		"namespace": func(r *run, a *Args) Value {
			d := NewDict(0)
			r.update(d, a)
			return &Namespace{d}
		},
		"cycler": func(r *run, a *Args) Value {
			if len(a.Plain) == 0 {
				r.fail("at least one item has to be provided")
			}
			return &Cycler{items: a.Plain}
		},
		"joiner": func(r *run, a *Args) Value {
			j := &Joiner{sep: ", "}
			a.take(r, 0, []string{"sep"}, &j.sep)
			return j
		},
		"raise_exception": func(r *run, a *Args) Value {
			var message Value
			a.take(r, 1, []string{"message"}, &message)
			panic(&failure{line: r.line, reason: r.text(message), kind: Raised})
		},
		"strftime_now": func(r *run, a *Args) Value {
			var pattern Value
			a.take(r, 1, []string{"format"}, &pattern)
			return r.strftime(r.textArg(pattern, "strftime() argument 1"), r.now())
		},
	} {
		globals[n] = &Function{name: n, call: call}
	}
}

// maxRange is the most numbers that a range may have, which is the sandbox's.
const maxRange = 100_000

func rangeFunction(r *run, a *Args) Value {
	if len(a.Plain) == 0 {
		r.fail("range expected at least 1 argument, got 0")
	}
	var start, stop, step Value = 0, nil, 1
	if len(a.Plain) == 1 {
		a.take(r, 1, nil, &stop)
	} else {
		a.take(r, 2, nil, &start, &stop, &step)
	}
	bound := func(v Value) int {
		if i, ok := number(v).(*big.Int); ok {
			return i.Sign() * (1 << 62)
		}
		return r.intArg(v)
	}
	g := &Range{bound(start), bound(stop), bound(step)}
	if g.step == 0 {
		r.fail("range() arg 3 must not be zero")
	}
	if g.len() > maxRange || g.len() < 0 {
		r.exceed("Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", maxRange)
	}
	return g
}
