// SPDX-License-Identifier: MIT

package peg

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock/penstock/host/grammar/schema"
)

// maxNodes bounds a parser.
const maxNodes = 500_000

// node is a part of a parser, by its number.
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

// facts is what is known of a node from what lies within it.
type facts struct {
	seen    bool
	tool    int  // the tool that it names; nobody, several
	calls   bool // a call begins within it
	inner   bool // and within a rule that is not the node itself
	args    bool // an argument begins within it
	content bool // it may have text that a client is shown
	says    bool // it always has
	reasons bool // it may have reasoning
	empty   bool // it may have nothing
	peeks   bool // it ends with a look at what must come next
}

const (
	nobody  = -1
	several = -2
)

// parents are nodes with one child. Those that look ahead are none: what lies within them is
// nothing of the text.
var parents = map[string]bool{"repetition": true, "schema": true, "rule": true, "atomic": true, "tag": true, "gbnf": true, "ac": true}

func open(text string) (*arena, error) {
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
		for _, child := range append([]uint64{n.Child}, a.within(uint64(i))...) {
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

// within are a node's children.
func (a *arena) within(id uint64) []uint64 {
	n := &a.Parsers[id]
	switch {
	case n.Type == "sequence" || n.Type == "choice":
		return n.Children
	case parents[n.Type] || n.Type == "ref":
		return []uint64{n.Child}
	}
	return nil
}

// learn finds the facts of a node. Rules that lead to themselves have none of what they are about.
func (a *arena) learn(id uint64, tools map[string]int) facts {
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
	for _, child := range a.within(id) {
		c := a.learn(child, tools)
		f.tool = merge(f.tool, c.tool)
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
			if tool, has := tools[a.text(id)]; has {
				f.tool = merge(f.tool, tool)
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

func merge(a, b int) int {
	switch {
	case a == nobody || a == b:
		return b
	case b == nobody:
		return a
	}
	return several
}

// visit calls a function for a node and what lies within it, in its order, and within no rule
// twice, until it says that it has found what it wants. It goes into a node where it is told to.
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
		return found || into && slices.ContainsFunc(a.within(id), walk)
	}
	return walk(id)
}

// ending is a node that follows reasoning: where it may end that, it has to.
func (a *arena) ending(id uint64) uint64 {
	n := &a.Parsers[id]
	if n.Type == "repetition" && n.Min == 0 && n.Max == 1 && a.Parsers[n.Child].Type == "literal" {
		return n.Child
	}
	return id
}

// text is the first literal within a node.
func (a *arena) text(id uint64) (text string) {
	a.visit(id, func(at uint64) (bool, bool) {
		text = a.Parsers[at].Literal
		return true, a.Parsers[at].Type == "literal"
	})
	return text
}

// find is the first node with a tag within a node.
func (a *arena) find(id uint64, tag string) (to uint64, found bool) {
	found = a.visit(id, func(at uint64) (bool, bool) {
		to = at
		return true, a.Parsers[at].Type == "tag" && a.Parsers[at].Tag == tag
	})
	return to, found
}

// argument is the name of the argument that a node is, "" where it is none.
func (a *arena) argument(id uint64) string {
	arg, has := a.find(id, "tool-arg")
	if !has {
		return ""
	}
	name, has := a.find(arg, "tool-arg-name")
	if !has {
		return ""
	}
	return a.text(name)
}

// readers are llama.cpp's rules that read JSON, by the kinds of values.
var readers = map[string]schema.Kinds{
	"json-object": schema.Objects, "json-array": schema.Lists, "json-string": schema.Strings, "json-number": schema.Numbers,
	"json-bool": schema.Booleans, "json-null": schema.Nulls, "json-value": schema.AllKinds,
}

// reads is the kinds of values that a node reads as JSON.
func (a *arena) reads(id uint64) (kinds schema.Kinds) {
	a.visit(id, func(at uint64) (bool, bool) {
		kind, reads := readers[a.Parsers[at].Name]
		kinds |= kind
		return !reads, false
	})
	return kinds
}

// bare reports whether a call's rule has nothing that arguments could be.
func (a *arena) bare(call uint64) bool {
	return !a.visit(call, func(at uint64) (bool, bool) {
		kind := a.Parsers[at].Type
		return true, at != call && (kind == "rule" || kind == "schema")
	})
}

// python reports whether a node reads values as Python writes them: it takes single quotes.
func (a *arena) python(id uint64) bool {
	return a.visit(id, func(at uint64) (bool, bool) {
		n := &a.Parsers[at]
		return true, n.Type == "string" && n.Delimiter == "'"
	})
}

// ends are the delimiters before which texts within a node end.
func (a *arena) ends(id uint64) (all []string) {
	a.visit(id, func(at uint64) (bool, bool) {
		if n := &a.Parsers[at]; n.Type == "until" {
			all = append(all, n.Delimiters...)
		}
		return true, false
	})
	return all
}
