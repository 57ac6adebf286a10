// SPDX-License-Identifier: MIT

package peg

import (
	"encoding/json"
	"slices"
	"strings"
)

// Mended is llama.cpp's parser of an answer without two of its faults, for the grammar and for
// whoever takes the answer apart.
//
//   - Arguments that are written one by one come in any order. llama.cpp's parser has those that a
//     schema requires in the schema's order, before all others: a model that has learned to name a
//     file before its content could not.
//   - A mark between a call's id and its arguments comes once, behind the id. llama.cpp's analysis
//     of Mistral Small 3.2's template takes it for the end of the tool's name too.
//
// One that is too large is left as it is: no grammar is made of it, and the error says so.
func Mended(parser string) string {
	if !strings.Contains(parser, `"tool-arg"`) && !strings.Contains(parser, `"tool-id"`) {
		return parser
	}
	a, err := open(parser)
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
		panic(err) // it was read from JSON
	}
	return text
}

// add adds a node and returns its number.
func (m *mender) add(node map[string]any) uint64 {
	m.written = append(m.written, rawJSON(node))
	return uint64(len(m.written) - 1)
}

func (m *mender) replace(id uint64, children []uint64) {
	m.written[id] = rawJSON(map[string]any{"type": "sequence", "children": children})
	m.changed = true
}

// freeOrder makes of arguments one after another, and a loop of others behind them, a loop of all.
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
			if others, space := m.others(children[end]); others != nil {
				args, between, end = append(args, others...), space, end+1
			}
		}
		if len(args) > 1 && len(args) <= mostFree {
			one := m.add(map[string]any{"type": "choice", "children": args})
			more := m.add(map[string]any{"type": "sequence", "children": append(slices.Clone(between), one)})
			loop := m.add(map[string]any{"type": "repetition", "child": more, "min_count": 0, "max_count": -1})
			m.replace(id, slices.Concat(children[:first], []uint64{one, loop}, children[end:]))
		}
		return
	}
}

func (m *mender) isSpace(id uint64) bool { return m.a.Parsers[id].Type == "space" }

func (m *mender) isArgument(id uint64) bool {
	n := &m.a.Parsers[id]
	return n.Type == "rule" && m.a.Parsers[n.Child].Type == "tag" && m.a.Parsers[n.Child].Tag == "tool-arg"
}

// others are the arguments of a loop, each with white space before it.
func (m *mender) others(id uint64) (args, space []uint64) {
	n := &m.a.Parsers[id]
	if n.Type != "repetition" || n.Min != 0 || n.Max >= 0 {
		return nil, nil
	}
	in := m.a.within(n.Child)
	if len(in) != 2 || !m.isSpace(in[0]) || m.a.Parsers[in[1]].Type != "choice" {
		return nil, nil
	}
	args = m.a.within(in[1])
	if slices.ContainsFunc(args, func(arg uint64) bool { return !m.isArgument(arg) }) {
		return nil, nil
	}
	return args, in[:1]
}

func (m *mender) has(id uint64, tag string) bool {
	_, has := m.a.find(id, tag)
	return has
}

// markOnce leaves a mark out of a tool's name that comes once more behind the call's id.
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
		m.replace(at, in[:last])
		return false, true
	})
}
