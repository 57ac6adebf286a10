// SPDX-License-Identifier: MIT

// Package pattern reads regular expressions, as ECMA-262 and as Go have them, as expressions of
// texts.
//
// Both become the same tree, which is read from its end: each part knows what may follow it. So an
// assertion is an intersection of what follows with what it asserts, `$` leaves only the empty
// text, and a look-ahead may look beyond the part that it stands in. What comes before a part
// matters to `^` and `\b` alone, so there is one expression of what follows the beginning of the
// text, one of what follows a character of a word, and one of what follows any other.
//
// # Why does Go's parser read regular expressions?
//
// It is kept up with Go, knows Unicode, bounds repetitions, and refuses what no grammar can
// express. Its tree becomes an expression over characters (host/grammar/pattern).
package pattern

import (
	"fmt"
	"slices"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// Error says why a pattern is refused, and where.
type Error struct {
	Offset int // in bytes; -1: the pattern as a whole
	Why    string
}

func (e *Error) Error() string {
	if e.Offset < 0 {
		return e.Why
	}
	return fmt.Sprintf("%s, at byte %d", e.Why, e.Offset)
}

// MaxLength is the greatest length of a pattern, in bytes.
const MaxLength = 16 << 10

// maxDepth is the greatest depth of nested groups.
const maxDepth = 250

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

// newNode returns a node with parts.
func newNode(op op, at int, parts ...*node) *node {
	n := &node{op: op, at: at, parts: parts, asserts: op >= opBegin, size: 1}
	for _, p := range parts {
		n.size += p.size
		n.asserts = n.asserts || p.asserts
	}
	return n
}

// classNode returns a node of one character of some ranges; if there are none, nothing fits it.
func classNode(at int, ranges []lexeme.Range) *node {
	return &node{op: opClass, at: at, size: 1, ranges: ranges}
}

// priorContext is what stands before a place in the text.
type priorContext int

const (
	atBegin   priorContext = iota // nothing
	afterWord                     // a character of a word, by \w
	afterOther
	afterLine // a line's end

	contexts
)

// follows is what may follow a place, by what stands before it.
type follows [contexts]lexeme.Expr

func always(x lexeme.Expr) follows { return follows{x, x, x, x} }

// compiler makes an expression of a tree, from its end to its beginning.
type compiler struct {
	a     *lexeme.Arena
	lines []lexeme.Range // characters that end a line, for ^ and $ with flag m
	left  int            // nodes that may still be compiled once more, for copies of parts
	err   error
}

// maxCopies bounds the copies of repeated parts with assertions, in nodes.
const maxCopies = 3000

func newCompiler(a *lexeme.Arena, lines []lexeme.Range) *compiler {
	return &compiler{a: a, lines: lines, left: maxCopies}
}

// compilePlain returns the expression of a node that has no assertions except ^ and $: its texts
// where neither the text begins before it nor ends after it.
func (c *compiler) compilePlain(n *node) lexeme.Expr {
	switch n.op {
	case opClass:
		return c.a.Class(n.ranges...)
	case opBegin, opEnd:
		return lexeme.Nothing
	case opRepeat:
		return c.a.Repeat(c.compilePlain(n.parts[0]), n.low, n.high)
	}
	parts := make([]lexeme.Expr, len(n.parts))
	for i, p := range n.parts {
		parts[i] = c.compilePlain(p)
	}
	if n.op == opChoice {
		return c.a.Or(parts...)
	}
	return c.a.Then(parts...)
}

// compileBefore returns a node followed by k (its continuation).
func (c *compiler) compileBefore(n *node, k follows) follows {
	if c.err != nil {
		return follows{}
	}
	if !n.asserts {
		return c.prependExpr(c.compilePlain(n), k)
	}
	switch n.op {
	case opSequence:
		for _, p := range slices.Backward(n.parts) {
			k = c.compileBefore(p, k)
		}
		return k
	case opChoice:
		all := make([]follows, len(n.parts))
		for i, p := range n.parts {
			all[i] = c.compileBefore(p, k)
		}
		return c.either(all...)
	case opRepeat:
		return c.compileRepeat(n, k)
	}
	return c.compileAssertion(n, k)
}

// refuse keeps the first error.
func (c *compiler) refuse(n *node, why string, args ...any) follows {
	if c.err == nil {
		c.err = &Error{n.at, fmt.Sprintf(why, args...)}
	}
	return follows{}
}

func (c *compiler) either(all ...follows) follows {
	var out follows
	for i := range out {
		parts := make([]lexeme.Expr, len(all))
		for j := range all {
			parts[j] = all[j][i]
		}
		out[i] = c.a.Or(parts...)
	}
	return out
}

// prependExpr returns an expression followed by k. It tells apart what the expression leaves behind
// only where that matters to k.
func (c *compiler) prependExpr(x lexeme.Expr, k follows) follows {
	if k == always(k[0]) {
		return always(c.a.Then(x, k[0]))
	}
	something := c.a.And(x, c.a.Repeat(lexeme.Char, 1, lexeme.Unbounded))
	after := lexeme.Nothing
	if k[afterWord] == k[afterOther] && k[afterOther] == k[afterLine] {
		after = c.a.Then(something, k[afterWord])
	} else {
		for i, ends := range c.contextTexts() {
			after = c.a.Or(after, c.a.Then(c.a.And(x, ends), k[i]))
		}
	}
	out := always(after)
	if c.a.Nullable(x) {
		for i := range out {
			out[i] = c.a.Or(after, k[i])
		}
	}
	return out
}

func (c *compiler) compileAssertion(n *node, k follows) follows {
	word := c.a.Then(c.a.Class(wordRanges...), lexeme.All)
	noWord := c.a.Not(word)
	var out follows
	for i, x := range k {
		ctx := priorContext(i)
		inWord := (ctx == afterWord) == (n.op == opWordEdge)
		switch {
		case n.op == opBegin && ctx == atBegin, n.op == opLineBegin && (ctx == atBegin || ctx == afterLine):
			out[i] = x
		case n.op == opEnd:
			out[i] = c.a.And(x, lexeme.Empty)
		case n.op == opLineEnd:
			out[i] = c.a.And(x, c.a.Or(lexeme.Empty, c.a.Then(c.a.Class(c.lines...), lexeme.All)))
		case n.op == opWordEdge || n.op == opNoEdge:
			out[i] = c.a.And(x, noWord)
			if !inWord {
				out[i] = c.a.And(x, word)
			}
		}
	}
	if n.op == opAhead || n.op == opNotAhead {
		ahead := c.compileBefore(n.parts[0], always(lexeme.All))
		for i, x := range k {
			if n.op == opNotAhead {
				ahead[i] = c.a.Not(ahead[i])
			}
			out[i] = c.a.And(x, ahead[i])
		}
	}
	return out
}

// contextTexts returns all texts that leave each context behind.
func (c *compiler) contextTexts() follows {
	word, line := c.a.Class(wordRanges...), c.a.Class(c.lines...)
	other := c.a.Class(lexeme.Complement(append(slices.Clone(wordRanges), c.lines...))...)
	return follows{atBegin: lexeme.Nothing, afterWord: c.a.Then(lexeme.All, word), afterOther: c.a.Then(lexeme.All, other), afterLine: c.a.Then(lexeme.All, line)}
}

// matchWhole is the texts that a tree matches as a whole.
func (c *compiler) matchWhole(n *node) (lexeme.Expr, error) {
	k := c.compileBefore(n, always(lexeme.Empty))
	return k[atBegin], c.err
}

// matchAnywhere is the texts in which a tree matches some part.
func (c *compiler) matchAnywhere(n *node) (lexeme.Expr, error) {
	k := c.compileBefore(n, always(lexeme.All))
	x := k[atBegin]
	if rest := k[afterWord]; rest == k[afterOther] && rest == k[afterLine] {
		if x == rest {
			x = c.a.Then(lexeme.All, x)
		} else {
			x = c.a.Or(x, c.a.Then(c.a.Repeat(lexeme.Char, 1, lexeme.Unbounded), rest))
		}
	} else {
		for i, ends := range c.contextTexts() {
			x = c.a.Or(x, c.a.Then(ends, k[i]))
		}
	}
	return x, c.err
}

// fewTimes is how often a part with assertions may be copied for one repetition.
const fewTimes = 16

// compileRepeat is compileBefore for a repetition of a part with assertions.
func (c *compiler) compileRepeat(n *node, k follows) follows {
	part, rest := n.parts[0], k
	if n.low == 0 && k == always(lexeme.All) {
		return k
	}
	switch {
	case c.isStepByStep(n):
		return c.compileSteps(n, k)
	case n.low > fewTimes || n.high > fewTimes:
		return c.refuse(part, "an assertion that is repeated more than %d times is not supported", fewTimes)
	case n.high >= 0:
		for range n.high - n.low {
			rest = c.either(k, c.compileCopy(part, rest))
		}
	case !hasOnlyEnds(part):
		return c.refuse(part, "an assertion other than ^ and $ within a repetition is not supported")
	default:
		rest = c.compileStar(part, k)
	}
	for range n.low {
		rest = c.compileCopy(part, rest)
	}
	return rest
}

func (c *compiler) compileCopy(part *node, k follows) follows {
	if c.left -= part.size; c.left < 0 {
		return c.refuse(part, "repeated assertions take too many copies")
	}
	return c.compileBefore(part, k)
}

// compileStar repeats a part any number of times whose only assertions are ^ and $. Only the
// beginning of the text can come before ^, and nothing after $: so between the first and the last
// time, it is the part's texts without either.
func (c *compiler) compileStar(part *node, k follows) follows {
	between := c.a.Repeat(c.compilePlain(part), 0, lexeme.Unbounded)
	later := c.prependExpr(between, c.either(k, c.compileCopy(part, k)))
	later[atBegin] = k[atBegin]
	first := c.compileCopy(part, later)
	later[atBegin] = c.a.Or(k[atBegin], first[atBegin])
	return later
}

// hasOnlyEnds reports whether a part has no assertions except ^ and $.
func hasOnlyEnds(n *node) bool {
	if n.op > opEnd {
		return false
	}
	for _, p := range n.parts {
		if !hasOnlyEnds(p) {
			return false
		}
	}
	return true
}

// isStepByStep reports whether a repetition is of look-aheads and one character, such as
// (?:(?!x).)*.
func (c *compiler) isStepByStep(n *node) bool {
	part := n.parts[0]
	if part.op != opSequence || len(part.parts) < 2 {
		return false
	}
	last := len(part.parts) - 1
	for _, p := range part.parts[:last] {
		if p.op != opAhead && p.op != opNotAhead {
			return false
		}
	}
	return !part.parts[last].asserts && isOneCharacter(part.parts[last])
}

// isOneCharacter reports whether a part is always one character.
func isOneCharacter(n *node) bool {
	switch n.op {
	case opClass:
		return true
	case opSequence, opChoice:
		for _, p := range n.parts {
			if !isOneCharacter(p) {
				return false
			}
		}
		return n.op == opChoice || len(n.parts) == 1
	}
	return false
}

// compileSteps is compileBefore for these. What follows has one length, so it is known of each
// place in the text whether a step begins there: the look-aheads must hold where more than that
// length is left.
func (c *compiler) compileSteps(n *node, k follows) follows {
	steps := n.parts[0].parts
	low, high := c.a.Lengths(k[0])
	char := steps[len(steps)-1]
	if k != always(k[0]) || low != high && k[0] != lexeme.Nothing {
		return c.refuse(n, "a repeated look-ahead is supported only where the end of the text follows, or a text of one length")
	}
	all := c.a.Then(c.a.Repeat(c.compilePlain(char), n.low, n.high), k[0])
	for _, p := range steps[:len(steps)-1] {
		ahead := c.compileBefore(p, always(lexeme.All))
		if ahead != always(ahead[0]) {
			return c.refuse(p, "an assertion in a repeated look-ahead is not supported")
		}
		fails := c.a.And(c.a.Not(ahead[0]), c.a.Repeat(lexeme.Char, high+1, lexeme.Unbounded))
		all = c.a.And(all, c.a.Not(c.a.Then(lexeme.All, fails)))
	}
	return always(all)
}
