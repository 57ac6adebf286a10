// SPDX-License-Identifier: MIT

package pattern

import "github.com/penstock/penstock/host/grammar/lexeme"

type op uint8

const (
	opClass     op = iota // one character of ranges
	opSequence            // parts
	opChoice              // parts
	opRepeat              // parts[0], low to high times
	opBegin               // of the text
	opEnd                 // of the text
	opLineBegin           // ^ with flag m
	opLineEnd             // $ with flag m
	opWordEdge            // \b
	opNoEdge              // \B
	opAhead               // parts[0] follows
	opNotAhead            // parts[0] does not follow
)

// node is a part of a pattern.
type node struct {
	op        op
	asserts   bool // it or a part of it is an assertion
	size      int  // of it and its parts, in nodes
	at        int  // where it stands, in bytes
	ranges    []lexeme.Range
	parts     []*node
	low, high int
}

// newNode returns a node of parts.
func newNode(op op, at int, parts ...*node) *node {
	n := &node{op: op, at: at, parts: parts, asserts: op >= opBegin, size: 1}
	for _, p := range parts {
		n.size += p.size
		n.asserts = n.asserts || p.asserts
	}
	return n
}

// classNode is one character of ranges; no text fits it if there are none.
func classNode(at int, ranges []lexeme.Range) *node {
	return &node{op: opClass, at: at, size: 1, ranges: ranges}
}
