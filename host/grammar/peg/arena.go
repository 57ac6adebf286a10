// SPDX-License-Identifier: MIT

package peg

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lark"
	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/host/grammar/pattern"
	"github.com/penstock/penstock/host/grammar/schema"
)

// InputName is the argument of a tool whose input is a text.
const InputName = "input"

// MaxRegex is the greatest length of an Input's Regex, in bytes.
const MaxRegex = pattern.MaxLength

// Input says what that text must be. At most one of its fields is set.
type Input struct {
	Lark  string // a grammar in Lark's notation
	Regex string // in Go's syntax
}

var errTokens = errors.New("a tool's input has no tokens of its own; write their text in double quotes")

// writeInput is the text that a tool takes. spell writes its parts, in a way of that name.
func (w *writer) writeInput(tool int, way string, spell func(*grammar.Builder, lexeme.Expr) grammar.Body) (grammar.Body, error) {
	made := w.tools[tool].inputs
	if is, known := made[way]; known {
		return is, nil
	}
	is, err := w.compileInput(tool, spell)
	if err != nil {
		return 0, err
	}
	if made == nil {
		made = map[string]grammar.Body{}
		w.tools[tool].inputs = made
	}
	made[way] = is
	return is, nil
}

func (w *writer) compileInput(tool int, spell func(*grammar.Builder, lexeme.Expr) grammar.Body) (grammar.Body, error) {
	of := &w.f.Tools[tool]
	if of.Input.Regex != "" {
		whole, err := pattern.Go(w.b.Lexemes, of.Input.Regex)
		if err != nil {
			return 0, &Error{of.Field, err}
		}
		return spell(w.b, whole), nil
	}
	rule, err := lark.Add(w.b, of.Input.Lark, lark.Options{Spell: spell, Token: func(string) (int32, error) { return 0, errTokens }})
	if err != nil {
		return 0, &Error{of.Field, err}
	}
	return w.b.Call(rule), nil
}

// writeQuotedInput is writeInput as a JSON string.
func (w *writer) writeQuotedInput(tool int) (grammar.Body, error) {
	text, err := w.writeInput(tool, "", func(b *grammar.Builder, is lexeme.Expr) grammar.Body { return b.Lexeme(is, lexeme.JSONString) })
	quote := w.b.Lexeme(w.b.Lexemes.Text(`"`), lexeme.UTF8)
	return w.b.Seq(quote, text, quote), err
}

// writeTaggedInput is writeInput as the text of a tag. None of its parts contains what ends the
// tag: a grammar that writes that in several parts ends the input early.
func (w *writer) writeTaggedInput(tool int, ends []string) (grammar.Body, error) {
	within := textsBefore(w.b.Lexemes, ends, true)
	return w.writeInput(tool, "\x00"+strings.Join(ends, "\x00"), func(b *grammar.Builder, is lexeme.Expr) grammar.Body {
		if len(ends) > 0 {
			is = b.Lexemes.And(is, within)
		}
		return b.Lexeme(is, lexeme.UTF8)
	})
}

// writeInputObject is all arguments of a tool whose input is a text, as JSON.
func (w *writer) writeInputObject(tool int) (grammar.Body, error) {
	text, err := w.writeQuotedInput(tool)
	mark := func(text string) grammar.Body { return w.b.Lexeme(w.b.Lexemes.Text(text), lexeme.UTF8) }
	return w.b.Seq(mark("{"), w.space(), mark(`"`+InputName+`"`), w.space(), mark(":"), w.space(), text, w.space(), mark("}")), err
}

// writeInputValue is the input argument; false: it is written as the schema has it.
func (w *writer) writeInputValue(id uint64, c context) (_ grammar.Body, is bool, err error) {
	of := &w.f.Tools[c.tool]
	if of.Input == (Input{}) || strings.TrimPrefix(c.path, "\x00") != InputName {
		return 0, false, nil
	}
	var body grammar.Body
	switch {
	case w.a.Parsers[id].Tag == "tool-arg-string-value":
		body, err = w.writeTaggedInput(c.tool, w.a.delimiters(id))
	case w.a.readsPython(id):
		w.tools[c.tool].free = true
		return 0, false, nil
	case c.whole:
		return w.b.Alt(), true, nil
	default:
		body, err = w.writeQuotedInput(c.tool)
	}
	return body, true, err
}

// maxNodes bounds a parser.
const maxNodes = 500_000

// node is a part of a parser, known by its number.
type node struct {
	Type       string   `json:"type"`
	Literal    string   `json:"literal"`
	Children   []uint64 `json:"children"`
	Child      uint64   `json:"child"`
	Min        int      `json:"min_count"`
	Max        int      `json:"max_count"` // -1: unbounded
	Ranges     []span   `json:"ranges"`
	Negated    bool     `json:"negated"`
	Delimiter  string   `json:"delimiter"`
	Delimiters []string `json:"delimiters"`
	Name       string   `json:"name"`
	Trigger    bool     `json:"trigger"`
	Tag        string   `json:"tag"`
	Grammar    string   `json:"grammar"`
}

type span struct{ Start, End rune }

// arena is a parser as llama.cpp writes it.
type arena struct {
	Parsers []node            `json:"parsers"`
	Rules   map[string]uint64 `json:"rules"`
	Root    uint64            `json:"root"`

	knows []facts
}

// facts is what is known of a node from its descendants.
type facts struct {
	seen    bool
	tool    int  // the tool that it names; or nobody, several
	calls   bool // a call begins within it
	inner   bool // and does so within a rule other than the node itself
	args    bool // an argument begins within it
	content bool // it may have text that is shown to the client
	says    bool // it always has such text
	reasons bool // it may have reasoning
	empty   bool // it may be empty
	peeks   bool // it ends with a look-ahead
}

const (
	nobody  = -1
	several = -2
)

// parents are the types of nodes with one child. Look-aheads are not among them: what they contain
// is not part of the text.
var parents = map[string]bool{"repetition": true, "schema": true, "rule": true, "atomic": true, "tag": true, "gbnf": true, "ac": true}

func openArena(text string) (*arena, error) {
	a := &arena{}
	if err := json.Unmarshal([]byte(text), a); err != nil {
		return nil, fmt.Errorf("llama.cpp's parser: %w", err)
	}
	if len(a.Parsers) > maxNodes {
		return nil, errors.New("the tools' schemas make too large a grammar")
	}
	for i := range a.Parsers {
		n := &a.Parsers[i]
		if n.Type == "ref" {
			to, has := a.Rules[n.Name]
			if !has {
				return nil, fmt.Errorf("llama.cpp's parser has no rule %q", n.Name)
			}
			n.Child = to
		}
		for _, child := range append([]uint64{n.Child}, a.childrenOf(uint64(i))...) {
			if child >= uint64(len(a.Parsers)) {
				return nil, fmt.Errorf("llama.cpp's parser has no part %d", child)
			}
		}
	}
	for name, rule := range a.Rules {
		if rule >= uint64(len(a.Parsers)) {
			return nil, fmt.Errorf("llama.cpp's parser has no rule %q", name)
		}
	}
	if a.Root >= uint64(len(a.Parsers)) {
		return nil, errors.New("llama.cpp's parser has no root")
	}
	a.knows = make([]facts, len(a.Parsers))
	return a, nil
}

// childrenOf returns a node's children.
func (a *arena) childrenOf(id uint64) []uint64 {
	n := &a.Parsers[id]
	switch {
	case n.Type == "sequence" || n.Type == "choice":
		return n.Children
	case parents[n.Type] || n.Type == "ref":
		return []uint64{n.Child}
	}
	return nil
}

// findFacts finds the facts of a node. A rule that leads to itself has no facts there, yet.
func (a *arena) findFacts(id uint64, tools map[string]int) facts {
	if a.knows[id].seen {
		return a.knows[id]
	}
	a.knows[id] = facts{seen: true, tool: nobody}
	f := a.knows[id]
	n := &a.Parsers[id]
	switch n.Type {
	case "literal":
		f.empty = n.Literal == ""
	case "chars":
		f.empty = n.Min == 0
	case "any", "choice":
	default:
		f.empty = true
	}
	silent := n.Type == "repetition" && n.Min == 0 || n.Type == "choice" && len(n.Children) == 0
	for _, child := range a.childrenOf(id) {
		c := a.findFacts(child, tools)
		f.tool = mergeTools(f.tool, c.tool)
		f.calls, f.args, f.content = f.calls || c.calls, f.args || c.args, f.content || c.content
		f.reasons, f.peeks = f.reasons || c.reasons, c.peeks && (f.peeks || n.Type != "choice" || child == n.Children[0])
		if n.Type == "choice" {
			f.empty = f.empty || c.empty
		} else if n.Type != "repetition" || n.Min > 0 {
			f.empty = f.empty && c.empty
		}
		f.says, silent = f.says || c.says, silent || n.Type == "choice" && !c.says
		f.inner = f.inner || c.inner || c.calls && a.Parsers[child].Type == "rule"
	}
	if n.Type == "tag" {
		switch n.Tag {
		case "tool-name":
			if tool, has := tools[a.firstLiteral(id)]; has {
				f.tool = mergeTools(f.tool, tool)
			}
		case "tool-open":
			f.calls = true
		case "tool-arg":
			f.args = true
		case "content":
			f.content, f.says = true, true
		case "reasoning":
			f.reasons = true
		}
	}
	f.says, f.peeks = f.says && !silent, f.peeks || n.Type == "and" && a.Parsers[n.Child].Type == "literal"
	a.knows[id] = f
	return f
}

func mergeTools(a, b int) int {
	switch {
	case a == nobody || a == b:
		return b
	case b == nobody:
		return a
	}
	return several
}

// visit calls at for a node and its descendants, in order and within no rule twice, until at
// reports found. It enters the nodes for which at reports into.
func (a *arena) visit(id uint64, at func(uint64) (into, found bool)) bool {
	rules := map[uint64]bool{}
	var walk func(id uint64) bool
	walk = func(id uint64) bool {
		if a.Parsers[id].Type == "rule" {
			if rules[id] {
				return false
			}
			rules[id] = true
		}
		into, found := at(id)
		return found || into && slices.ContainsFunc(a.childrenOf(id), walk)
	}
	return walk(id)
}

// reasoningEnd makes a node that follows reasoning end it wherever it may.
func (a *arena) reasoningEnd(id uint64) uint64 {
	n := &a.Parsers[id]
	if n.Type == "repetition" && n.Min == 0 && n.Max == 1 && a.Parsers[n.Child].Type == "literal" {
		return n.Child
	}
	return id
}

// firstLiteral returns the first literal within a node.
func (a *arena) firstLiteral(id uint64) (text string) {
	a.visit(id, func(at uint64) (bool, bool) {
		text = a.Parsers[at].Literal
		return true, a.Parsers[at].Type == "literal"
	})
	return text
}

// findTagged returns the first node with a tag within a node.
func (a *arena) findTagged(id uint64, tag string) (to uint64, found bool) {
	found = a.visit(id, func(at uint64) (bool, bool) {
		to = at
		return true, a.Parsers[at].Type == "tag" && a.Parsers[at].Tag == tag
	})
	return to, found
}

// argumentName returns the name of the argument that a node is, "" where it is not one.
func (a *arena) argumentName(id uint64) string {
	arg, has := a.findTagged(id, "tool-arg")
	if !has {
		return ""
	}
	name, has := a.findTagged(arg, "tool-arg-name")
	if !has {
		return ""
	}
	return a.firstLiteral(name)
}

// readers are llama.cpp's rules that read JSON, with the kinds of values that they read.
var readers = map[string]schema.Kinds{
	"json-object": schema.Objects, "json-array": schema.Lists, "json-string": schema.Strings, "json-number": schema.Numbers,
	"json-bool": schema.Booleans, "json-null": schema.Nulls, "json-value": schema.AllKinds,
}

// kindsRead returns the kinds of values that a node reads as JSON.
func (a *arena) kindsRead(id uint64) (kinds schema.Kinds) {
	a.visit(id, func(at uint64) (bool, bool) {
		kind, reads := readers[a.Parsers[at].Name]
		kinds |= kind
		return !reads, false
	})
	return kinds
}

// takesNoArguments reports whether a call's rule contains nothing that could be arguments.
func (a *arena) takesNoArguments(call uint64) bool {
	return !a.visit(call, func(at uint64) (bool, bool) {
		kind := a.Parsers[at].Type
		return true, at != call && (kind == "rule" || kind == "schema")
	})
}

// readsPython reports whether a node reads values as Python writes them: it takes single quotes.
func (a *arena) readsPython(id uint64) bool {
	return a.visit(id, func(at uint64) (bool, bool) {
		n := &a.Parsers[at]
		return true, n.Type == "string" && n.Delimiter == "'"
	})
}

// delimiters returns those before which texts within a node end.
func (a *arena) delimiters(id uint64) (all []string) {
	a.visit(id, func(at uint64) (bool, bool) {
		if n := &a.Parsers[at]; n.Type == "until" {
			all = append(all, n.Delimiters...)
		}
		return true, false
	})
	return all
}
