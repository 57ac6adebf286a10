// SPDX-License-Identifier: MIT

package pattern

import (
	"fmt"
	"slices"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// context is what stands before a place in the text.
type context int

const (
	atBegin   context = iota // nothing
	afterWord                // a character of a word, by \w
	afterOther
	afterLine // a line's end

	contexts
)

// follows is what may follow a place, by what stands before it.
type follows [contexts]lexeme.Expr

func anyway(x lexeme.Expr) follows { return follows{x, x, x, x} }

// compiler makes a tree an expression.
type compiler struct {
	a     *lexeme.Arena
	lines []lexeme.Range // characters that end a line, for ^ and $ with flag m
	left  int            // nodes that may still be read once more, for copies of parts
	err   error
}

// maxCopies bounds the copies of repeated parts with assertions, in nodes.
const maxCopies = 3000

func newCompiler(a *lexeme.Arena, lines []lexeme.Range) *compiler {
	return &compiler{a: a, lines: lines, left: maxCopies}
}

// plain is the expression of a node without assertions.
func (c *compiler) plain(n *node) lexeme.Expr {
	switch n.op {
	case opClass:
		return c.a.Class(n.ranges...)
	case opRepeat:
		return c.a.Repeat(c.plain(n.parts[0]), n.low, n.high)
	}
	parts := make([]lexeme.Expr, len(n.parts))
	for i, p := range n.parts {
		parts[i] = c.plain(p)
	}
	if n.op == opChoice {
		return c.a.Or(parts...)
	}
	return c.a.Then(parts...)
}

// before returns what a node and what follows it are.
func (c *compiler) before(n *node, k follows) follows {
	if c.err != nil {
		return follows{}
	}
	if !n.asserts {
		return c.join(c.plain(n), k)
	}
	switch n.op {
	case opSequence:
		for _, p := range slices.Backward(n.parts) {
			k = c.before(p, k)
		}
		return k
	case opChoice:
		all := make([]follows, len(n.parts))
		for i, p := range n.parts {
			all[i] = c.before(p, k)
		}
		return c.either(all...)
	case opRepeat:
		return c.repeatBefore(n, k)
	}
	return c.assertion(n, k)
}

// refuse keeps the first reason.
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

// join is an expression and what follows it. What it leaves behind is told apart only where that
// matters to what follows.
func (c *compiler) join(x lexeme.Expr, k follows) follows {
	if k == anyway(k[0]) {
		return anyway(c.a.Then(x, k[0]))
	}
	something := c.a.And(x, c.a.Repeat(lexeme.Char, 1, lexeme.Unbounded))
	after := lexeme.Nothing
	if k[afterWord] == k[afterOther] && k[afterOther] == k[afterLine] {
		after = c.a.Then(something, k[afterWord])
	} else {
		for i, ends := range c.endings() {
			after = c.a.Or(after, c.a.Then(c.a.And(x, ends), k[i]))
		}
	}
	out := anyway(after)
	if c.a.Nullable(x) {
		for i := range out {
			out[i] = c.a.Or(after, k[i])
		}
	}
	return out
}

func (c *compiler) assertion(n *node, k follows) follows {
	word := c.a.Then(c.a.Class(wordRanges...), lexeme.All)
	noWord := c.a.Not(word)
	var out follows
	for i, x := range k {
		ctx := context(i)
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
		ahead := c.before(n.parts[0], anyway(lexeme.All))
		for i, x := range k {
			if n.op == opNotAhead {
				ahead[i] = c.a.Not(ahead[i])
			}
			out[i] = c.a.And(x, ahead[i])
		}
	}
	return out
}

// endings are all texts that leave each context behind.
func (c *compiler) endings() follows {
	word, line := c.a.Class(wordRanges...), c.a.Class(c.lines...)
	other := c.a.Class(lexeme.Complement(append(slices.Clone(wordRanges), c.lines...))...)
	return follows{atBegin: lexeme.Nothing, afterWord: c.a.Then(lexeme.All, word), afterOther: c.a.Then(lexeme.All, other), afterLine: c.a.Then(lexeme.All, line)}
}

// whole is the texts that a tree fits as a whole.
func (c *compiler) whole(n *node) (lexeme.Expr, error) {
	k := c.before(n, anyway(lexeme.Empty))
	return k[atBegin], c.err
}

// anywhere is the texts that have a part that a tree fits.
func (c *compiler) anywhere(n *node) (lexeme.Expr, error) {
	k := c.before(n, anyway(lexeme.All))
	x := k[atBegin]
	if rest := k[afterWord]; rest == k[afterOther] && rest == k[afterLine] {
		if x == rest {
			x = c.a.Then(lexeme.All, x)
		} else {
			x = c.a.Or(x, c.a.Then(c.a.Repeat(lexeme.Char, 1, lexeme.Unbounded), rest))
		}
	} else {
		for i, ends := range c.endings() {
			x = c.a.Or(x, c.a.Then(ends, k[i]))
		}
	}
	return x, c.err
}
