// SPDX-License-Identifier: MIT

package peg

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/host/grammar/schema"
)

// counts says how often what counts comes within a node: calls, or in answers in text the text.
type counts uint8

const (
	anyTimes counts = iota
	never
	once
)

// context is where a node stands.
type context struct {
	tool        int    // in whose call it stands, or nobody
	call        uint64 // the rule of that call
	alternative int    // of the tool's arguments; -1: not chosen
	path        string // of the argument: its steps, separated by zero bytes; "": it is not within one
	arguments   bool   // it is within all arguments as one value
	text        schema.Kinds
	whole       bool   // the value stands beside a text, which is how strings are written
	first       bool   // what ends a text comes next
	not         string // what the text must not begin with
	counts      counts
	reasons     bool // it is within reasoning
}

type place struct {
	id uint64
	context
}

// mayCount reports whether what counts may come within a node.
func (w *writer) mayCount(f facts) bool {
	if w.texts {
		return f.content
	}
	return f.calls
}

// write returns the texts of a node.
func (w *writer) write(id uint64, c context) (grammar.Body, error) {
	f := w.a.findFacts(id, w.named)
	if !w.mayCount(f) {
		c.counts = anyTimes
	}
	if c.tool == nobody && f.tool >= 0 && !w.texts {
		c.tool = f.tool
	}
	if w.texts && f.calls && !f.content {
		if f.empty {
			return w.b.Seq(), nil
		}
		return w.b.Alt(), nil
	}
	at := place{id, c}
	if body, known := w.bodies[at]; known {
		return body, nil
	}
	var body grammar.Body
	var err error
	if w.a.Parsers[id].Type == "rule" {
		body, err = w.writeRule(at, f)
	} else {
		body, err = w.writeNode(id, c)
	}
	if err == nil {
		w.bodies[at] = body
	}
	return body, err
}

// writeRule returns the texts of a rule, which may lead to itself.
func (w *writer) writeRule(at place, f facts) (grammar.Body, error) {
	if known, has := w.rules[at]; has {
		return w.b.Call(known), nil
	}
	made := w.b.Rule()
	w.rules[at] = made
	child, c := w.a.Parsers[at.id].Child, at.context
	var body grammar.Body
	var err error
	if f.calls && !f.inner && c.tool >= 0 && c.counts != never && (f.args || w.a.takesNoArguments(at.id)) {
		body, err = w.writeCall(at)
	} else {
		body, err = w.write(child, c)
	}
	if err != nil {
		return 0, err
	}
	w.b.Define(made, body)
	return w.b.Call(made), nil
}

func (w *writer) writeNode(id uint64, c context) (grammar.Body, error) {
	a, n := w.b.Lexemes, &w.a.Parsers[id]
	lexical := func(x lexeme.Expr) (grammar.Body, error) { return w.b.Lexeme(x, lexeme.UTF8), nil }
	switch n.Type {
	case "epsilon", "start", "end", "and", "not":
		return w.b.Seq(), nil
	case "literal":
		return lexical(a.Text(n.Literal))
	case "sequence":
		return w.writeSequence(n.Children, c)
	case "choice":
		return w.writeChoice(id, c)
	case "repetition":
		return w.writeRepetition(id, c)
	case "any":
		return lexical(lexeme.Char)
	case "space":
		return w.space(), nil
	case "chars":
		var ranges []lexeme.Range
		for _, r := range n.Ranges {
			ranges = append(ranges, lexeme.Range{Low: r.Start, High: r.End})
		}
		ranges = lexeme.Normal(ranges)
		if n.Negated {
			ranges = lexeme.Complement(ranges)
		}
		return lexical(a.Repeat(a.Class(ranges...), n.Min, unbounded(n.Max)))
	case "string":
		return lexical(insideQuotes(a, n.Delimiter))
	case "until":
		if w.texts && !c.reasons {
			return w.b.Seq(), nil // the only text is the answer's
		}
		return lexical(textsBefore(a, n.Delimiters, c.first))
	case "schema":
		return w.writeSchema(n.Child, c)
	case "tag":
		return w.writeTag(id, c)
	case "gbnf": // for a grammar that cannot say what the parser does; "" is a parser of what should not be there
		if n.Grammar == "" {
			return w.b.Seq(), nil
		}
	case "ac":
		c.first = true
	case "ref", "atomic":
	default:
		return 0, fmt.Errorf("llama.cpp's parser has a part of an unknown kind %q", n.Type)
	}
	return w.write(n.Child, c)
}

// space is the white space that may come between parts.
func (w *writer) space() grammar.Body {
	a := w.b.Lexemes
	indent := a.Repeat(a.Class(lexeme.Range{Low: ' ', High: ' '}, lexeme.Range{Low: '\t', High: '\t'}), 0, 20)
	return w.b.Lexeme(a.Or(lexeme.Empty, a.Text(" "), a.Then(a.Repeat(a.Text("\n"), 1, 2), indent)), lexeme.UTF8)
}

func unbounded(n int) int {
	if n < 0 {
		return lexeme.Unbounded
	}
	return n
}

// insideQuotes is the inside of a string between delimiters.
func insideQuotes(a *lexeme.Arena, delimiter string) lexeme.Expr {
	one := func(s string) (ranges []lexeme.Range) {
		for _, c := range s {
			ranges = append(ranges, lexeme.Range{Low: c, High: c})
		}
		return ranges
	}
	plain := a.Class(lexeme.Complement(lexeme.Normal(one(delimiter + `\`)))...)
	hex := a.Class(lexeme.Range{Low: '0', High: '9'}, lexeme.Range{Low: 'A', High: 'F'}, lexeme.Range{Low: 'a', High: 'f'})
	escape := a.Then(a.Text(`\`), a.Or(a.Class(one(delimiter+`\/bfnrt`)...), a.Then(a.Text("u"), a.Repeat(hex, 4, 4))))
	return a.Repeat(a.Or(plain, escape), 0, lexeme.Unbounded)
}

// textsBefore is the texts without a delimiter. With first, a delimiter follows, and it is also the
// first that begins within the text.
func textsBefore(a *lexeme.Arena, delimiters []string, first bool) lexeme.Expr {
	var not []lexeme.Expr
	for _, d := range delimiters {
		if d == "" {
			return lexeme.Empty
		}
		not = append(not, a.Then(lexeme.All, a.Text(d), lexeme.All))
		for n := 1; first && n < len(d); n++ {
			if d[n:] == d[:len(d)-n] {
				not = append(not, a.Then(lexeme.All, a.Text(d[:n])))
			}
		}
	}
	return a.Not(a.Or(not...))
}

// writeSequence is nodes one after the other. What comes once comes in one of them.
func (w *writer) writeSequence(children []uint64, c context) (grammar.Body, error) {
	var ids []uint64
	var parts, without []grammar.Body
	for i := 0; i < len(children); i++ {
		id := children[i]
		if i > 0 && w.texts && w.a.findFacts(children[i-1], w.named).reasons {
			id = w.a.reasoningEnd(id)
		}
		if i > 0 && w.a.findFacts(children[i-1], w.named).peeks && w.a.Parsers[id].Type == "space" {
			continue
		}
		if l, ok := w.findList(children, i); ok && w.isAlternativeChosen(c) {
			body, err := w.writeLoop(l, c)
			if err != nil {
				return 0, err
			}
			ids, parts, without = append(ids, id), append(parts, body), append(without, body)
			i++
			continue
		}
		if n := &w.a.Parsers[id]; n.Type == "not" && c.path != "" {
			c.not = w.a.firstLiteral(n.Child)
		}
		body, err := w.write(id, c)
		if err != nil {
			return 0, err
		}
		empty := grammar.Body(0)
		if c.counts == once && w.mayCount(w.a.knows[id]) {
			none := c
			none.counts = never
			if empty, err = w.write(id, none); err != nil {
				return 0, err
			}
		}
		ids, parts, without = append(ids, id), append(parts, body), append(without, empty)
	}
	if c.counts != once {
		return w.b.Seq(parts...), nil
	}
	return w.writeOneOf(ids, parts, without), nil
}

// writeOneOf is nodes one after the other, one of which has what comes once. with and without have
// each node with it and without it.
func (w *writer) writeOneOf(children []uint64, with, without []grammar.Body) grammar.Body {
	one, none := w.b.Alt(), w.b.Seq()
	for i := len(with) - 1; i >= 0; i-- {
		if !w.mayCount(w.a.knows[children[i]]) {
			one, none = w.b.Seq(with[i], one), w.b.Seq(with[i], none)
			continue
		}
		one, none = w.b.Alt(w.b.Seq(with[i], none), w.b.Seq(without[i], one)), w.b.Seq(without[i], none)
	}
	return one
}

// writeChoice is one of some nodes. A text must not be what llama.cpp's parser would read as JSON.
func (w *writer) writeChoice(at uint64, c context) (grammar.Body, error) {
	texts, children := 0, w.a.Parsers[at].Children
	if c.path != "" {
		for _, id := range children {
			if _, has := w.a.findTagged(id, "tool-arg-string-value"); has {
				texts++
			}
		}
	}
	var parts []grammar.Body
	for _, id := range children {
		each := c
		if c.counts == once && !w.mayCount(w.a.knows[id]) || w.isAlwaysChatty(id, children) {
			continue
		}
		if w.a.Parsers[id].Type == "and" && len(children) > 1 && (w.texts || !w.a.findFacts(w.a.Root, w.named).calls) {
			continue // reasoning may end where a call begins, but there are no calls
		}
		value, reads := uint64(0), false
		if texts > 0 {
			value, reads = w.a.findTagged(id, "tool-arg-value")
			each.whole = c.whole || reads
		}
		body, err := w.write(id, each)
		if err != nil {
			return 0, err
		}
		if reads {
			c.text |= w.a.kindsRead(value)
		}
		parts = append(parts, body)
	}
	return w.b.Alt(parts...), nil
}

// isAlwaysChatty reports whether a node always has text, where calls must have none before them and
// another node could take its place.
func (w *writer) isAlwaysChatty(id uint64, others []uint64) bool {
	f := w.a.findFacts(id, w.named)
	return w.f.Calls && !w.texts && f.says && slices.ContainsFunc(others, func(other uint64) bool {
		o := w.a.findFacts(other, w.named)
		return !o.says && (o.calls || !f.calls)
	})
}

// writeRepetition is a node some number of times. What comes once comes in one of them.
func (w *writer) writeRepetition(id uint64, c context) (grammar.Body, error) {
	n := &w.a.Parsers[id]
	if l, ok := w.findLoop(id); ok && w.isAlternativeChosen(c) {
		return w.writeLoop(l, c)
	}
	if f := w.a.findFacts(n.Child, w.named); n.Min == 0 && w.f.Calls && !w.texts && f.says && !f.calls {
		return w.b.Seq(), nil
	}
	body, err := w.write(n.Child, c)
	if err != nil {
		return 0, err
	}
	least, most := n.Min, unbounded(n.Max)
	if c.counts != once {
		return w.b.Repeat(body, least, most), nil
	}
	if least > 1 || most != 1 && most != lexeme.Unbounded {
		return 0, fmt.Errorf("llama.cpp's parser wants %d of what may come once", least)
	}
	none := c
	none.counts = never
	without, err := w.write(n.Child, none)
	if err != nil {
		return 0, err
	}
	others := w.b.Seq()
	if most == lexeme.Unbounded {
		others = w.b.Repeat(without, 0, most)
	}
	return w.b.Seq(others, body, others), nil
}

// Mended returns llama.cpp's parser of an answer without two of its faults, for the grammar and for
// whoever takes the answer apart.
//
//   - Arguments that are written one by one come in any order. llama.cpp's parser has those that
//     a schema requires first, in the schema's order: a model that has learned to name a file
//     before its content could not do so.
//   - A mark between a call's id and its arguments comes once, behind the id. llama.cpp's
//     analysis of Mistral Small 3.2's template takes it for the end of the tool's name too.
//
// A parser that is too large is returned as it is: no grammar is made of it, and the error says so.
func Mended(parser string) string {
	if !strings.Contains(parser, `"tool-arg"`) && !strings.Contains(parser, `"tool-id"`) {
		return parser
	}
	a, err := openArena(parser)
	if err != nil {
		return parser
	}
	var whole map[string]json.RawMessage
	var nodes []json.RawMessage // as llama.cpp wrote them
	if json.Unmarshal([]byte(parser), &whole) != nil || json.Unmarshal(whole["parsers"], &nodes) != nil {
		return parser
	}
	m := &mender{a: a, written: nodes}
	for id := range nodes {
		if a.Parsers[id].Type == "sequence" {
			m.freeOrder(uint64(id))
			m.markOnce(uint64(id))
		}
	}
	if !m.changed {
		return parser
	}
	whole["parsers"] = rawJSON(m.written)
	return string(rawJSON(whole))
}

// mostFree is how many arguments may come in any order: as many as a loop of a grammar has.
const mostFree = 4096

type mender struct {
	a       *arena
	written []json.RawMessage
	changed bool
}

func rawJSON(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot happen: it was read from JSON
	}
	return text
}

// addNode adds a node and returns its number.
func (m *mender) addNode(node map[string]any) uint64 {
	m.written = append(m.written, rawJSON(node))
	return uint64(len(m.written) - 1)
}

func (m *mender) replaceChildren(id uint64, children []uint64) {
	m.written[id] = rawJSON(map[string]any{"type": "sequence", "children": children})
	m.changed = true
}

// freeOrder turns arguments in a row, followed by a loop of others, into a loop of all.
func (m *mender) freeOrder(id uint64) {
	children := m.a.Parsers[id].Children
	for first := range children {
		if !m.isArgument(children[first]) {
			continue
		}
		args, end := []uint64{children[first]}, first+1
		var between []uint64
		for end+1 < len(children) && m.isSpace(children[end]) && m.isArgument(children[end+1]) {
			between = children[end : end+1]
			args, end = append(args, children[end+1]), end+2
		}
		if end < len(children) {
			if others, space := m.loopOthers(children[end]); others != nil {
				args, between, end = append(args, others...), space, end+1
			}
		}
		if len(args) > 1 && len(args) <= mostFree {
			one := m.addNode(map[string]any{"type": "choice", "children": args})
			more := m.addNode(map[string]any{"type": "sequence", "children": append(slices.Clone(between), one)})
			loop := m.addNode(map[string]any{"type": "repetition", "child": more, "min_count": 0, "max_count": -1})
			m.replaceChildren(id, slices.Concat(children[:first], []uint64{one, loop}, children[end:]))
		}
		return
	}
}

func (m *mender) isSpace(id uint64) bool { return m.a.Parsers[id].Type == "space" }

func (m *mender) isArgument(id uint64) bool {
	n := &m.a.Parsers[id]
	return n.Type == "rule" && m.a.Parsers[n.Child].Type == "tag" && m.a.Parsers[n.Child].Tag == "tool-arg"
}

// loopOthers returns the arguments of a loop, and the white space before each.
func (m *mender) loopOthers(id uint64) (args, space []uint64) {
	n := &m.a.Parsers[id]
	if n.Type != "repetition" || n.Min != 0 || n.Max >= 0 {
		return nil, nil
	}
	in := m.a.childrenOf(n.Child)
	if len(in) != 2 || !m.isSpace(in[0]) || m.a.Parsers[in[1]].Type != "choice" {
		return nil, nil
	}
	args = m.a.childrenOf(in[1])
	if slices.ContainsFunc(args, func(arg uint64) bool { return !m.isArgument(arg) }) {
		return nil, nil
	}
	return args, in[:1]
}

func (m *mender) has(id uint64, tag string) bool {
	_, has := m.a.findTagged(id, tag)
	return has
}

// markOnce takes a mark out of a tool's name if it comes once more behind the call's id.
func (m *mender) markOnce(id uint64) {
	children := m.a.Parsers[id].Children
	if len(children) < 3 {
		return
	}
	mark := &m.a.Parsers[children[2]]
	if mark.Type != "literal" || mark.Literal == "" || !m.has(children[0], "tool-open") || !m.has(children[1], "tool-id") {
		return
	}
	m.a.visit(children[0], func(at uint64) (bool, bool) {
		in := m.a.Parsers[at].Children
		last := len(in) - 1
		if m.a.Parsers[at].Type != "sequence" || last < 0 || m.a.Parsers[in[last]].Literal != mark.Literal {
			return true, false
		}
		m.replaceChildren(at, in[:last])
		return false, true
	})
}
