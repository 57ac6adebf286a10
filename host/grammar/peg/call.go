// SPDX-License-Identifier: MIT

package peg

import (
	"errors"
	"strings"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/host/grammar/schema"
)

// arguments are those of a tool, once they are asked for.
type arguments struct {
	*schema.Arguments
	endings [][]schema.Ending // by alternative
	read    bool
	inputs  map[string]grammar.Body // that Input is, by how they are spelled
	free    bool                    // it is not enforced somewhere
	err     error
}

func (w *writer) of(tool int) (*arguments, error) {
	t, of := &w.tools[tool], &w.f.Tools[tool]
	if !t.read {
		t.read = true
		if t.Arguments, t.err = schema.ReadArguments(w.b, of.JSON, of.Options); t.err != nil {
			t.Arguments, t.err = nil, &Error{of.Field, t.err}
		}
	}
	return t, t.err
}

// byOne is the same where arguments are written one by one.
func (w *writer) byOne(tool int) (*arguments, error) {
	t, err := w.of(tool)
	if err != nil || t.endings != nil {
		return t, err
	}
	if t.endings, err = t.Alternatives(); err != nil {
		t.err = &Error{w.f.Tools[tool].Field, err}
	}
	return t, t.err
}

// chosen reports whether it is known which of a tool's alternatives the arguments of a node are of.
func (w *writer) chosen(c context) bool { return c.alternative >= 0 && c.path == "" }

var errNoArguments = errors.New("no arguments that fit the JSON schema can be written in the chat template's format")

// call is a tool's call whose arguments are written one by one: the alternatives of its schema.
func (w *writer) call(at place) (grammar.Body, error) {
	t, err := w.byOne(at.tool)
	if err != nil {
		return 0, err
	}
	fixed, loops := w.outside(at.id)
	var parts []grammar.Body
	for i, endings := range t.endings {
		if loops == 0 && len(reduced(endings, fixed, nil)) == 0 {
			continue
		}
		c := at.context
		c.call, c.alternative = at.id, i
		body, err := w.write(w.a.Parsers[at.id].Child, c)
		if err != nil {
			return 0, err
		}
		parts = append(parts, body)
	}
	if len(parts) == 0 {
		return 0, &Error{w.f.Tools[at.tool].Field, errNoArguments}
	}
	return w.b.Alt(parts...), nil
}

func (w *writer) tag(id uint64, c context) (grammar.Body, error) {
	n := &w.a.Parsers[id]
	switch n.Tag {
	case "tool-open":
		if c.counts == never {
			return w.b.Alt(), nil
		}
		c.counts = anyTimes
	case "reasoning":
		c.reasons = true
	case "content":
		switch {
		case w.texts && c.counts == never:
			return w.b.Alt(), nil
		case w.texts:
			return w.answered()
		case w.f.Calls:
			return w.b.Seq(), nil
		}
	case "tool-args":
		c.arguments = c.tool >= 0
	case "tool-arg":
		c.text, c.whole, c.first, c.not = 0, false, false, ""
		c.path += step(w.a.argument(id))
	case "tool-arg-item":
		c.path += step(schema.Item)
	case "tool-arg-value", "tool-arg-string-value":
		if c.tool >= 0 && c.path != "" {
			return w.value(id, c)
		}
	}
	return w.write(n.Child, c)
}

func step(name string) string { return "\x00" + name }

// value is an argument's value, or one within it.
func (w *writer) value(id uint64, c context) (grammar.Body, error) {
	t, err := w.byOne(c.tool)
	if err != nil {
		return 0, err
	}
	if body, is, err := w.inputValue(id, c); is || err != nil {
		return body, err
	}
	var body grammar.Body
	path := strings.Split(c.path[1:], "\x00")
	switch {
	case w.a.Parsers[id].Tag == "tool-arg-string-value":
		body, err = t.Text(c.alternative, path, schema.Tag{Ends: w.a.ends(id), Not: c.not, JSON: c.text})
	case w.a.python(id):
		body, err = t.Python(c.alternative, path)
	case c.whole:
		body, err = t.Value(c.alternative, path, schema.AllKinds&^schema.Strings)
	default:
		body, err = t.Value(c.alternative, path, schema.AllKinds)
	}
	if err != nil {
		return 0, &Error{w.f.Tools[c.tool].Field, err}
	}
	return body, nil
}

// schema is JSON that fits the schema of a tool's arguments, or of the answer.
func (w *writer) schema(child uint64, c context) (grammar.Body, error) {
	if !c.arguments {
		return w.answered()
	}
	if w.f.Tools[c.tool].Input != (Input{}) {
		return w.inputObject(c.tool)
	}
	t, err := w.of(c.tool)
	if err != nil {
		return 0, err
	}
	return t.JSON(), nil
}

// loop is arguments that come in any order, and in llama.cpp's parser any number of times.
type loop struct {
	items         []uint64
	before, after []uint64 // each of them
	between       []uint64
	least         int
}

// loopAt is the loop that a repetition is.
func (w *writer) loopAt(id uint64) (loop, bool) {
	n := &w.a.Parsers[id]
	if n.Type != "repetition" || n.Min != 0 || n.Max >= 0 {
		return loop{}, false
	}
	if items := w.items(n.Child); items != nil {
		return loop{items: items}, true
	}
	var l loop
	for _, child := range w.a.within(n.Child) {
		switch items := w.items(child); {
		case w.a.Parsers[n.Child].Type != "sequence" || items != nil && l.items != nil:
			return loop{}, false
		case items != nil:
			l.items = items
		case l.items == nil:
			l.before = append(l.before, child)
		default:
			l.after = append(l.after, child)
		}
	}
	return l, l.items != nil
}

// listAt is the loop that a choice of arguments and the repetition of it behind it are.
func (w *writer) listAt(children []uint64, i int) (loop, bool) {
	if i+1 >= len(children) {
		return loop{}, false
	}
	first := w.items(children[i])
	l, ok := w.loopAt(children[i+1])
	if first == nil || !ok || len(l.after) > 0 || len(l.before) == 0 || len(first) != len(l.items) {
		return loop{}, false
	}
	for k := range first {
		if w.a.argument(first[k]) != w.a.argument(l.items[k]) {
			return loop{}, false
		}
	}
	return loop{items: l.items, between: l.before, least: 1}, true
}

// items are the arguments that a choice is one of; nil where it is something else.
func (w *writer) items(id uint64) []uint64 {
	f := w.a.learn(id, w.named)
	if f.calls || !f.args {
		return nil
	}
	n := &w.a.Parsers[id]
	switch {
	case n.Type == "rule" || n.Type == "tag" && n.Tag == "tool-arg":
		if w.single(id) {
			return []uint64{id}
		}
	case n.Type == "choice":
		for _, child := range n.Children {
			if !w.single(child) {
				return nil
			}
		}
		return n.Children
	}
	return nil
}

// single reports whether a node is one argument.
func (w *writer) single(id uint64) bool {
	names := 0
	w.a.visit(id, func(at uint64) (bool, bool) {
		if n := &w.a.Parsers[at]; n.Type == "tag" && n.Tag == "tool-arg" {
			names++
			return false, false
		}
		return true, false
	})
	return names == 1
}

// outside are the arguments of a call that come in no loop, each once, and how many loops there
// are.
func (w *writer) outside(call uint64) (names map[string]bool, loops int) {
	names = map[string]bool{}
	w.a.visit(call, func(at uint64) (bool, bool) {
		n := &w.a.Parsers[at]
		if _, ok := w.loopAt(at); ok {
			loops++
			return false, false
		}
		if n.Type == "sequence" {
			for i := range n.Children {
				if _, ok := w.listAt(n.Children, i); ok {
					loops++
					return false, false
				}
			}
		}
		if n.Type == "tag" && n.Tag == "tool-arg" {
			names[w.a.argument(at)] = true
			return false, false
		}
		return true, false
	})
	return names, loops
}

// loop is arguments in any order, each once, so that all of a call fit its schema.
func (w *writer) loop(l loop, c context) (grammar.Body, error) {
	c.counts = anyTimes // there is no call in an argument
	t, err := w.byOne(c.tool)
	if err != nil {
		return 0, err
	}
	bits := map[string]int{}
	for _, id := range l.items {
		if name := w.a.argument(id); !has(bits, name) {
			bits[name] = len(bits)
		}
	}
	fixed, loops := w.outside(c.call)
	ends := []grammar.Condition{{Min: 0, Max: lexeme.Unbounded}}
	if loops == 1 {
		ends = reduced(t.endings[c.alternative], fixed, bits)
	}
	if len(ends) == 0 {
		return w.b.Alt(), nil
	}
	counts := false
	for i := range ends {
		ends[i].Min = max(ends[i].Min, l.least)
		counts = counts || ends[i].Min > 0 || ends[i].Max != lexeme.Unbounded
	}
	made := grammar.Loop{Ends: ends}
	for _, id := range l.items {
		of := append(append(append([]uint64{}, l.before...), id), l.after...)
		body, err := w.sequence(of, c)
		if err != nil {
			return 0, err
		}
		item := grammar.Item{Is: body, Bit: bits[w.a.argument(id)], Once: true}
		if counts {
			item.Count = 1
		}
		made.Items = append(made.Items, item)
	}
	if len(l.between) > 0 {
		if made.Separator, err = w.sequence(l.between, c); err != nil {
			return 0, err
		}
	}
	return w.b.Loop(made), nil
}

func has(bits map[string]int, name string) bool {
	_, has := bits[name]
	return has
}

// reduced is what endings ask of the arguments of a loop, where fixed ones come besides. Those that
// cannot be are left out.
func reduced(endings []schema.Ending, fixed map[string]bool, bits map[string]int) []grammar.Condition {
	var made []grammar.Condition
	for _, e := range endings {
		to := grammar.Condition{Min: max(0, e.Min-len(fixed)), Max: e.Max}
		possible := to.Min <= len(bits)
		if e.Max != lexeme.Unbounded {
			to.Max = e.Max - len(fixed)
			possible = possible && to.Max >= 0
		}
		for _, name := range e.Must {
			if has(bits, name) {
				to.Must = append(to.Must, bits[name])
			} else if !fixed[name] {
				possible = false
			}
		}
		for _, name := range e.MustNot {
			if has(bits, name) {
				to.MustNot = append(to.MustNot, bits[name])
			} else if fixed[name] {
				possible = false
			}
		}
		if possible {
			made = append(made, to)
		}
	}
	return made
}
