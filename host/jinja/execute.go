// SPDX-License-Identifier: MIT

package jinja

import (
	"strings"
	"unicode/utf8"
)

// A statement is a node of the tree that writes text, or changes names. Its result is how it ended.
type statement interface{ execute(r *run) ending }

// ending is how a statement ended.
type ending uint8

const (
	ended     ending = iota
	broke            // out of a loop
	continued        // with the next round of a loop
)

type (
	data   struct{ text string }
	output struct {
		of   expression
		line int
	}
	jump    struct{ isBreak bool }
	forLoop struct {
		target, over, test expression // test may be nil
		recursive          bool
		body, otherwise    []statement
		line               int
	}
	branch struct {
		test expression
		body []statement
		line int
	}
	ifBlock struct {
		branches  []branch
		otherwise []statement
	}
	assignment struct {
		target, value expression
		line          int
	}
	setBlock struct {
		target, filter expression // filter may be nil
		body           []statement
		line           int
	}
	filterBlock struct {
		filter expression
		body   []statement
		line   int
	}
	with struct {
		targets, values []expression
		body            []statement
		line            int
	}
	block struct {
		name   string
		scoped bool
		body   []statement
		line   int
	}
	scoped    struct{ body []statement } // has names of its own
	macro     struct{ body *macroBody }
	macroBody struct {
		name                             string // "" of a call block
		params                           []string
		defaults                         []expression // of the last parameters
		body                             []statement
		usesCaller, usesNamed, usesPlain bool
		line                             int
	}
)

func (r *run) execute(body []statement) ending {
	for _, s := range body {
		r.step(1)
		if end := s.execute(r); end != ended {
			return end
		}
	}
	return ended
}

// captured is the text that a body writes.
func (r *run) captured(body []statement) string {
	outer := r.out
	r.out = &builder{}
	defer func() { r.out = outer }()
	r.execute(body)
	return r.out.String()
}

func (s data) execute(r *run) ending {
	r.out.add(r, s.text)
	return ended
}

func (s output) execute(r *run) ending {
	r.line = s.line
	r.out.add(r, r.text(r.eval(s.of)))
	return ended
}

func (s jump) execute(*run) ending {
	if s.isBreak {
		return broke
	}
	return continued
}

func (s ifBlock) execute(r *run) ending {
	for _, b := range s.branches {
		r.line = b.line
		if r.truth(r.eval(b.test)) {
			return r.execute(b.body)
		}
	}
	return r.execute(s.otherwise)
}

func (s assignment) execute(r *run) ending {
	r.line = s.line
	r.assign(s.target, r.eval(s.value))
	return ended
}

func (s setBlock) execute(r *run) ending {
	var v Value = r.within(func() string { return r.captured(s.body) })
	if s.filter != nil {
		r.line = s.line
		v = r.filtered(s.filter, v)
	}
	r.assign(s.target, v)
	return ended
}

func (s filterBlock) execute(r *run) ending {
	text := r.within(func() string { return r.captured(s.body) })
	r.line = s.line
	r.out.add(r, r.text(r.filtered(s.filter, text)))
	return ended
}

// filtered applies filters of which the innermost has no value yet.
func (r *run) filtered(e expression, v Value) Value {
	f := e.(filter)
	if f.of != nil {
		v = r.filtered(f.of, v)
	}
	return r.filter(v, f)
}

// within runs f with a scope of its own.
func (r *run) within(f func() string) string {
	outer := r.scope
	r.scope = &scope{parent: outer}
	defer func() { r.scope = outer }()
	return f()
}

func (s with) execute(r *run) ending {
	r.line = s.line
	outer := r.scope
	inner := &scope{parent: outer}
	for i, e := range s.values {
		v := r.eval(e)
		r.scope = inner
		r.assign(s.targets[i], v)
		r.scope = outer
	}
	r.scope = inner
	defer func() { r.scope = outer }()
	return r.execute(s.body)
}

func (s scoped) execute(r *run) ending {
	r.out.add(r, r.within(func() string { return r.captured(s.body) }))
	return ended
}

// A block without a parent stands where it is written. It sees the names of the template, and with
// scoped those around it.
func (s block) execute(r *run) ending {
	outer := r.scope
	around := r.global
	if s.scoped {
		around = outer
	}
	r.scope = &scope{parent: around}
	defer func() { r.scope = outer }()
	r.execute(s.body)
	return ended
}

func (s macro) execute(r *run) ending {
	r.scope.set(s.body.name, &Macro{body: s.body, scope: r.scope})
	return ended
}

// assign gives a target a value.
func (r *run) assign(target expression, v Value) {
	switch t := target.(type) {
	case name:
		r.charge(48)
		r.scope.set(t.name, v)
	case attribute:
		n, ok := r.eval(t.of).(*Namespace)
		if !ok {
			r.fail("cannot assign attribute on non-namespace object")
		}
		r.set(n.attrs, t.name, v)
	case tuple:
		values := r.unpack(v, len(t.items))
		for i, item := range t.items {
			r.assign(item, values[i])
		}
	}
}

// unpack is the n values of v.
func (r *run) unpack(v Value, n int) []Value {
	next := r.iterate(v, "cannot unpack non-iterable %s object")
	values := make([]Value, 0, min(n, 16))
	for {
		item, ok := next()
		if !ok {
			break
		}
		if len(values) == n {
			r.fail("too many values to unpack (expected %d)", n)
		}
		values = append(values, item)
	}
	if len(values) < n {
		r.fail("not enough values to unpack (expected %d, got %d)", n, len(values))
	}
	return values
}

func (s *forLoop) execute(r *run) ending {
	r.line = s.line
	over := r.eval(s.over)
	if s.recursive {
		r.out.add(r, s.recurse(r, r.scope, over, 0))
		return ended
	}
	s.loop(r, &Loop{}, over)
	return ended
}

// recurse is the text of a loop that may be called again.
func (s *forLoop) recurse(r *run, around *scope, over Value, depth int) string {
	defer r.deeper()()
	outer, out := r.scope, r.out
	r.scope, r.out = around, &builder{}
	defer func() { r.scope, r.out = outer, out }()
	s.loop(r, &Loop{depth: depth, recurse: func(over Value) string { return s.recurse(r, around, over, depth+1) }}, over)
	return r.out.String()
}

func (s *forLoop) loop(r *run, l *Loop, over Value) {
	outer := r.scope
	defer func() { r.scope = outer }()
	l.over = over
	l.pull = r.iterate(over, "'%s' object is not iterable")
	if s.test != nil {
		l.over, l.pull = nil, s.tested(r, outer, l.pull)
	}
	empty := true
	for {
		item, ok := l.advance()
		if !ok {
			break
		}
		r.step(1)
		r.charge(64)
		r.scope = &scope{parent: outer}
		r.scope.set("loop", l)
		r.line = s.line
		r.assign(s.target, item)
		end := r.execute(s.body)
		if end == broke {
			break
		}
		if end == ended { // as in Jinja2, a round that is cut short does not keep the else away
			empty = false
		}
	}
	r.scope = outer
	if empty && s.otherwise != nil {
		r.scope = &scope{parent: outer}
		r.execute(s.otherwise)
	}
}

// tested is what passes a loop's test.
func (s *forLoop) tested(r *run, around *scope, pull func() (Value, bool)) func() (Value, bool) {
	return func() (Value, bool) {
		for {
			item, ok := pull()
			if !ok {
				return nil, false
			}
			r.step(1)
			outer := r.scope
			r.scope = &scope{parent: around}
			r.assign(s.target, item)
			passes := r.truth(r.eval(s.test))
			r.scope = outer
			if passes {
				return item, true
			}
		}
	}
}

// invoke runs a macro.
func (m *Macro) invoke(r *run, a *Args) Value {
	defer r.deeper()()
	r.step(20)
	b := m.body
	outer, line := r.scope, r.line
	inner := &scope{parent: m.scope}
	m.bind(r, inner, a)
	r.scope = inner
	defer func() { r.scope, r.line = outer, line }()
	for i, p := range b.params {
		if v := inner.values[i].value; v == missing {
			if d := i - (len(b.params) - len(b.defaults)); d >= 0 {
				inner.values[i].value = r.eval(b.defaults[d])
			} else {
				inner.values[i].value = &Undefined{hint: "parameter " + reprOfText(p) + " was not provided", name: p}
			}
		}
	}
	return r.captured(b.body)
}

// missing stands for an argument that was not given.
var missing = &struct{ _ int }{}

// bind gives the parameters their arguments.
func (m *Macro) bind(r *run, inner *scope, a *Args) {
	b := m.body
	called := "macro " + reprOfText(b.name)
	if b.name == "" {
		called = "macro None"
	}
	n := len(b.params)
	foundCaller := false
	named := NewDict(0)
	for _, e := range a.named() {
		r.set(named, e.key, e.value)
	}
	for i, p := range b.params {
		var v Value = missing
		if i < len(a.Plain) {
			v = a.Plain[i]
		} else if given, ok := named.pop(r, p); ok {
			v = given
		}
		foundCaller = foundCaller || p == "caller"
		inner.values = append(inner.values, variable{p, v})
	}
	if b.usesCaller && !foundCaller {
		caller, ok := named.pop(r, "caller")
		if !ok || caller == nil {
			caller = &Undefined{hint: "No caller defined", name: "caller"}
		}
		inner.set("caller", caller)
	}
	if b.usesNamed {
		inner.set("kwargs", named)
	} else if len(named.entries) > 0 {
		key := named.entries[0].key.(string)
		if _, ok := named.get(r, "caller"); ok {
			r.fail("%s was invoked with two values for the special caller argument. This is most likely a bug.", called)
		}
		r.fail("%s takes no keyword argument %s", called, reprOfText(key))
	}
	more := a.Plain[min(n, len(a.Plain)):]
	if b.usesPlain {
		inner.set("varargs", &Tuple{items: more})
	} else if len(more) > 0 {
		r.fail("%s takes not more than %d argument(s)", called, n)
	}
}

// builder is a text that grows within a run's bounds.
type builder struct{ strings.Builder }

func (b *builder) add(r *run, s string) {
	r.charge(len(s))
	b.WriteString(s)
}

// Loop is what a loop knows of itself.
type Loop struct {
	over    Value                   // of which the length is known; nil: it is not
	pull    func() (Value, bool)    // the next item
	recurse func(over Value) string // nil: the loop is not recursive
	depth   int

	index0          int // of the current item, from -1 before the first
	started         bool
	total           int // items, where counted
	counted         bool
	ahead           []Value // items that were asked for before their turn
	over0           bool    // there are none but those ahead
	before, current Value
	changedFrom     Value
}

// advance goes to the next item.
func (l *Loop) advance() (Value, bool) {
	var item Value
	switch {
	case len(l.ahead) > 0:
		item, l.ahead = l.ahead[0], l.ahead[1:]
	case l.over0:
		return nil, false
	default:
		var ok bool
		if item, ok = l.pull(); !ok {
			l.over0 = true
			return nil, false
		}
	}
	if l.started {
		l.index0++
	}
	l.started = true
	l.before, l.current = l.current, item
	return item, true
}

// peek is the next item, if there is one.
func (l *Loop) peek() (Value, bool) {
	if len(l.ahead) == 0 && !l.over0 {
		item, ok := l.pull()
		if !ok {
			l.over0 = true
		} else {
			l.ahead = append(l.ahead, item)
		}
	}
	if len(l.ahead) == 0 {
		return nil, false
	}
	return l.ahead[0], true
}

func (l *Loop) length(r *run) int {
	if l.counted {
		return l.total
	}
	l.counted = true
	if n, ok := r.lenOf(l.over); ok && l.over != nil {
		l.total = n
		return n
	}
	for !l.over0 {
		item, ok := l.pull()
		if !ok {
			l.over0 = true
			break
		}
		r.step(1)
		r.charge(32)
		l.ahead = append(l.ahead, item)
	}
	l.total = l.index0 + 1 + len(l.ahead)
	return l.total
}

// attribute is loop.name.
func (l *Loop) attribute(r *run, n string) (Value, bool) {
	switch n {
	case "index":
		return l.index0 + 1, true
	case "index0":
		return l.index0, true
	case "revindex":
		return l.length(r) - l.index0, true
	case "revindex0":
		return l.length(r) - l.index0 - 1, true
	case "first":
		return l.index0 == 0, true
	case "last":
		_, more := l.peek()
		return !more, true
	case "length":
		return l.length(r), true
	case "depth":
		return l.depth + 1, true
	case "depth0":
		return l.depth, true
	case "previtem":
		if l.index0 == 0 {
			return &Undefined{hint: "there is no previous item"}, true
		}
		return l.before, true
	case "nextitem":
		if v, ok := l.peek(); ok {
			return v, true
		}
		return &Undefined{hint: "there is no next item"}, true
	case "cycle":
		return &Function{name: n, of: l, call: func(r *run, a *Args) Value {
			if len(a.Plain) == 0 {
				r.fail("no items for cycling given")
			}
			return a.Plain[l.index0%len(a.Plain)]
		}}, true
	case "changed":
		return &Function{name: n, of: l, call: func(r *run, a *Args) Value {
			now := &Tuple{items: a.Plain}
			if l.changedFrom != nil && r.equal(l.changedFrom, now) {
				return false
			}
			l.changedFrom = now
			return true
		}}, true
	}
	return nil, false
}

// iterate goes through a value. The complaint about what cannot be may take
// the type's name.
func (r *run) iterate(v Value, complaint string) func() (Value, bool) {
	i := -1
	switch v := v.(type) {
	case string:
		return characters(v)
	case Markup:
		return characters(string(v))
	case *List: // it may grow while it is gone through
		return func() (Value, bool) {
			if i++; i >= len(v.Items) {
				return nil, false
			}
			return v.Items[i], true
		}
	case *Tuple:
		return func() (Value, bool) {
			if i++; i >= len(v.items) {
				return nil, false
			}
			return v.items[i], true
		}
	case *Dict:
		return r.iterate(&View{v, "keys"}, complaint)
	case *View:
		n := len(v.of.entries)
		return func() (Value, bool) {
			if len(v.of.entries) != n {
				r.fail("dictionary changed size during iteration")
			}
			if i++; i >= n {
				return nil, false
			}
			return v.at(i), true
		}
	case *Range:
		n := v.len()
		return func() (Value, bool) {
			if i++; i >= n {
				return nil, false
			}
			return v.start + i*v.step, true
		}
	case *Generator:
		return v.next
	case *Undefined:
		return func() (Value, bool) { return nil, false }
	case *Loop:
		return func() (Value, bool) {
			item, ok := v.advance()
			return &Tuple{items: []Value{item, v}}, ok
		}
	}
	if strings.Contains(complaint, "%s") {
		complaint = format(complaint, typeName(v))
	}
	r.fail("%s", complaint)
	return nil
}

func characters(s string) func() (Value, bool) {
	return func() (Value, bool) {
		if s == "" {
			return nil, false
		}
		_, n := utf8.DecodeRuneInString(s)
		c := s[:n]
		s = s[n:]
		return c, true
	}
}

// items is list(v).
func (r *run) items(v Value) []Value {
	switch v := v.(type) {
	case *List:
		r.charge(16 * len(v.Items))
		return append([]Value(nil), v.Items...)
	case *Tuple:
		return v.items
	case *Range:
		r.charge(16 * v.len())
	}
	next := r.iterate(v, "'%s' object is not iterable")
	var out []Value
	for {
		item, ok := next()
		if !ok {
			return out
		}
		r.step(1)
		r.charge(32)
		out = append(out, item)
	}
}

// lenOf is len(v).
func (r *run) lenOf(v Value) (int, bool) {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v), true
	case Markup:
		return utf8.RuneCountInString(string(v)), true
	case *List:
		return len(v.Items), true
	case *Tuple:
		return len(v.items), true
	case *Dict:
		return len(v.entries), true
	case *View:
		return len(v.of.entries), true
	case *Range:
		return v.len(), true
	case *Undefined:
		return 0, true
	case *Loop:
		return v.length(r), true
	}
	return 0, false
}
