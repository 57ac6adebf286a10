// SPDX-License-Identifier: MIT

package peg

import (
	"errors"
	"strings"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/host/grammar/schema"
)

// arguments are those of a tool, once they are needed.
type arguments struct {
	*schema.Arguments
	endings [][]schema.Ending // by alternative
	read    bool
	inputs  map[string]grammar.Body // of Input, by the way in which they are spelled
	free    bool                    // somewhere its schema is not enforced
	err     error
}

func (w *writer) argumentsOf(tool int) (*arguments, error) {
	t, of := &w.tools[tool], &w.f.Tools[tool]
	if !t.read {
		t.read = true
		if t.Arguments, t.err = schema.ReadArguments(w.b, of.JSON, of.Options); t.err != nil {
			t.Arguments, t.err = nil, &Error{of.Field, t.err}
		}
	}
	return t, t.err
}

// argumentsByOne is argumentsOf where arguments are written one by one.
func (w *writer) argumentsByOne(tool int) (*arguments, error) {
	t, err := w.argumentsOf(tool)
	if err != nil || t.endings != nil {
		return t, err
	}
	if t.endings, err = t.Alternatives(); err != nil {
		t.err = &Error{w.f.Tools[tool].Field, err}
	}
	return t, t.err
}

// isAlternativeChosen reports whether it is known to which of a tool's alternatives the arguments
// of a node belong.
func (w *writer) isAlternativeChosen(c context) bool { return c.alternative >= 0 && c.path == "" }

var errNoArguments = errors.New("no arguments that fit the JSON schema can be written in the chat template's format")

// writeCall is a call whose arguments are written one by one: the alternatives of the tool's
// schema.
func (w *writer) writeCall(at place) (grammar.Body, error) {
	t, err := w.argumentsByOne(at.tool)
	if err != nil {
		return 0, err
	}
	fixed, loops := w.argumentsOutsideLoops(at.id)
	var parts []grammar.Body
	for i, endings := range t.endings {
		if loops == 0 && len(reduceEndings(endings, fixed, nil)) == 0 {
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

func (w *writer) writeTag(id uint64, c context) (grammar.Body, error) {
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
			return w.writeAnswer()
		case w.f.Calls:
			return w.b.Seq(), nil
		}
	case "tool-args":
		c.arguments = c.tool >= 0
	case "tool-arg":
		c.text, c.whole, c.first, c.not = 0, false, false, ""
		c.path += step(w.a.argumentName(id))
	case "tool-arg-item":
		c.path += step(schema.Item)
	case "tool-arg-value", "tool-arg-string-value":
		if c.tool >= 0 && c.path != "" {
			return w.writeValue(id, c)
		}
	}
	return w.write(n.Child, c)
}

func step(name string) string { return "\x00" + name }

// writeValue is the value of an argument, or one within it.
func (w *writer) writeValue(id uint64, c context) (grammar.Body, error) {
	t, err := w.argumentsByOne(c.tool)
	if err != nil {
		return 0, err
	}
	if body, is, err := w.writeInputValue(id, c); is || err != nil {
		return body, err
	}
	var body grammar.Body
	path := strings.Split(c.path[1:], "\x00")
	switch {
	case w.a.Parsers[id].Tag == "tool-arg-string-value":
		body, err = t.Text(c.alternative, path, schema.Tag{Ends: w.a.delimiters(id), Not: c.not, JSON: c.text})
	case w.a.readsPython(id):
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

// writeSchema is JSON that fits the schema of a tool's arguments, or of the answer.
func (w *writer) writeSchema(child uint64, c context) (grammar.Body, error) {
	if !c.arguments {
		return w.writeAnswer()
	}
	if w.f.Tools[c.tool].Input != (Input{}) {
		return w.writeInputObject(c.tool)
	}
	t, err := w.argumentsOf(c.tool)
	if err != nil {
		return 0, err
	}
	return t.JSON(), nil
}

// loop is arguments that come in any order and, in llama.cpp's parser, any number of times.
type loop struct {
	items         []uint64
	before, after []uint64 // what stands around each of them
	between       []uint64
	least         int
}

// findLoop returns the loop that a repetition is.
func (w *writer) findLoop(id uint64) (loop, bool) {
	n := &w.a.Parsers[id]
	if n.Type != "repetition" || n.Min != 0 || n.Max >= 0 {
		return loop{}, false
	}
	if items := w.loopArguments(n.Child); items != nil {
		return loop{items: items}, true
	}
	var l loop
	for _, child := range w.a.childrenOf(n.Child) {
		switch items := w.loopArguments(child); {
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

// findList returns the loop that a choice of arguments, followed by its repetition, is.
func (w *writer) findList(children []uint64, i int) (loop, bool) {
	if i+1 >= len(children) {
		return loop{}, false
	}
	first := w.loopArguments(children[i])
	l, ok := w.findLoop(children[i+1])
	if first == nil || !ok || len(l.after) > 0 || len(l.before) == 0 || len(first) != len(l.items) {
		return loop{}, false
	}
	for k := range first {
		if w.a.argumentName(first[k]) != w.a.argumentName(l.items[k]) {
			return loop{}, false
		}
	}
	return loop{items: l.items, between: l.before, least: 1}, true
}

// loopArguments returns the arguments that a choice is of; nil where it is something else.
func (w *writer) loopArguments(id uint64) []uint64 {
	f := w.a.findFacts(id, w.named)
	if f.calls || !f.args {
		return nil
	}
	n := &w.a.Parsers[id]
	switch {
	case n.Type == "rule" || n.Type == "tag" && n.Tag == "tool-arg":
		if w.isArgument(id) {
			return []uint64{id}
		}
	case n.Type == "choice":
		for _, child := range n.Children {
			if !w.isArgument(child) {
				return nil
			}
		}
		return n.Children
	}
	return nil
}

// isArgument reports whether a node is one argument.
func (w *writer) isArgument(id uint64) bool {
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

// argumentsOutsideLoops returns the arguments of a call that stand outside loops, where each comes
// once, and the number of loops.
func (w *writer) argumentsOutsideLoops(call uint64) (names map[string]bool, loops int) {
	names = map[string]bool{}
	w.a.visit(call, func(at uint64) (bool, bool) {
		n := &w.a.Parsers[at]
		if _, ok := w.findLoop(at); ok {
			loops++
			return false, false
		}
		if n.Type == "sequence" {
			for i := range n.Children {
				if _, ok := w.findList(n.Children, i); ok {
					loops++
					return false, false
				}
			}
		}
		if n.Type == "tag" && n.Tag == "tool-arg" {
			names[w.a.argumentName(at)] = true
			return false, false
		}
		return true, false
	})
	return names, loops
}

// writeLoop is arguments in any order, each at most once, such that all of a call fit its schema.
func (w *writer) writeLoop(l loop, c context) (grammar.Body, error) {
	c.counts = anyTimes // an argument contains no call
	t, err := w.argumentsByOne(c.tool)
	if err != nil {
		return 0, err
	}
	bits := map[string]int{}
	for _, id := range l.items {
		if name := w.a.argumentName(id); !has(bits, name) {
			bits[name] = len(bits)
		}
	}
	fixed, loops := w.argumentsOutsideLoops(c.call)
	ends := []grammar.Condition{{Min: 0, Max: lexeme.Unbounded}}
	if loops == 1 {
		ends = reduceEndings(t.endings[c.alternative], fixed, bits)
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
		body, err := w.writeSequence(of, c)
		if err != nil {
			return 0, err
		}
		item := grammar.Item{Is: body, Bit: bits[w.a.argumentName(id)], Once: true}
		if counts {
			item.Count = 1
		}
		made.Items = append(made.Items, item)
	}
	if len(l.between) > 0 {
		if made.Separator, err = w.writeSequence(l.between, c); err != nil {
			return 0, err
		}
	}
	return w.b.Loop(made), nil
}

func has(bits map[string]int, name string) bool {
	_, has := bits[name]
	return has
}

// reduceEndings returns what endings demand of a loop's arguments, where fixed ones come besides.
// It leaves out endings that cannot be met.
func reduceEndings(endings []schema.Ending, fixed map[string]bool, bits map[string]int) []grammar.Condition {
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
