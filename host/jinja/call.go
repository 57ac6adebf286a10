// SPDX-License-Identifier: MIT

package jinja

import "slices"

// Args are the arguments of a call.
type Args struct {
	callee string
	Plain  []Value
	Named  []namedArg
}

type namedArg struct {
	name  string
	value Value
}

func (a *Args) name(r *run, n string, v Value) {
	r.step(len(a.Named) / 8)
	for _, e := range a.Named {
		if e.name == n {
			r.fail("%s() got multiple values for keyword argument %s", a.callee, reprOfText(n))
		}
	}
	a.Named = append(a.Named, namedArg{n, v})
}

func (a *Args) named() []entry {
	out := make([]entry, len(a.Named))
	for i, e := range a.Named {
		out[i] = entry{key: e.name, value: e.value}
	}
	return out
}

// take gives parameters their arguments: those from the first optional one on may be missing, and
// then are what they were.
func (a *Args) take(r *run, required int, names []string, into ...*Value) {
	if len(a.Plain) > len(into) {
		r.fail("%s() takes %d positional arguments but %d were given", a.callee, len(into), len(a.Plain))
	}
	given := make([]bool, len(into))
	for i, to := range into[:len(a.Plain)] {
		*to, given[i] = a.Plain[i], true
	}
	for _, e := range a.Named {
		i := slices.Index(names, e.name)
		switch {
		case i < 0:
			r.fail("%s() got an unexpected keyword argument %s", a.callee, reprOfText(e.name))
		case given[i]:
			r.fail("%s() got multiple values for argument %s", a.callee, reprOfText(e.name))
		}
		*into[i], given[i] = e.value, true
	}
	for i := range required {
		if !given[i] {
			n := "argument"
			if i < len(names) {
				n = names[i]
			}
			r.fail("%s() missing 1 required positional argument: %s", a.callee, reprOfText(n))
		}
	}
}

// none takes no arguments.
func (a *Args) none(r *run) { a.take(r, 0, nil) }

// call is of(...).
func (r *run) call(of Value, a *Args) Value {
	r.step(1)
	switch f := of.(type) {
	case *Function:
		a.callee = f.name
		return f.call(r, a)
	case *Macro:
		return f.invoke(r, a)
	case *Loop:
		if f.recurse == nil {
			r.fail("The loop must have the 'recursive' marker to be called recursively.")
		}
		var over Value
		a.callee = "__call__"
		a.take(r, 1, []string{"iterable"}, &over)
		return f.recurse(over)
	case *Joiner:
		if !f.used {
			f.used = true
			return ""
		}
		return f.sep
	case *Undefined:
		r.defined(f)
	}
	r.fail("'%s' object is not callable", typeName(of))
	return nil
}

// intArg is an argument that is an int.
func (r *run) intArg(v Value) int {
	switch n := number(v).(type) {
	case int:
		return n
	case nil, float64:
		r.defined(v)
		r.fail("'%s' object cannot be interpreted as an integer", typeName(v))
	}
	r.fail("Python int too large to convert to C ssize_t")
	return 0
}

// textArg is an argument that is a text.
func (r *run) textArg(v Value, of string) string {
	s, ok := textOf(v)
	if !ok {
		r.fail("%s must be str, not %s", of, typeName(v))
	}
	return s
}
