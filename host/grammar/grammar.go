// SPDX-License-Identifier: MIT

package grammar

import (
	"fmt"
	"sync"
)

// Grammar is what Build made. Any number of texts may be followed in it at once.
type Grammar struct {
	program
	words []wordStart // by lexeme
	start *node

	mu         sync.Mutex // over what is made as texts need it
	lexers     *lexers
	table      *table
	generation uint32
	names      uint64
	closure    closure
}

// wordStart is where the automaton of a lexeme begins.
type wordStart struct{ automaton, start int32 }

// Build ends a Builder. root is the rule that a whole text fits.
//
// # Errors
//
//   - ErrVoid: no text fits it.
//   - ErrAmbiguous: it can begin in too many ways.
//   - What is beyond a bound, as a sentence.
func (b *Builder) Build(root Rule) (*Grammar, error) {
	if err := b.check(root); err != nil {
		return nil, err
	}
	g := &Grammar{table: newTable()}
	g.closure.g = g
	var lengths []int
	var err error
	if g.lexers, g.words, lengths, err = newLexers(b); err != nil {
		return nil, err
	}
	loops := make([]*loop, len(b.loops))
	for i := range b.loops {
		loops[i] = newLoop(int32(i), &b.loops[i])
	}
	length, err := shortest(b, loops, lengths)
	if err != nil {
		return nil, err
	}
	if length[b.rules[root]] >= never {
		return nil, ErrVoid
	}
	program, err := compile(b, root, loops, length)
	if err != nil {
		return nil, err
	}
	g.program = *program
	if g.start, err = g.begin(); err != nil {
		return nil, err
	}
	return g, nil
}

// check refuses what is incomplete or beyond a bound.
func (b *Builder) check(root Rule) error {
	if b.err != nil {
		return b.err
	}
	if err := b.Lexemes.Err(); err != nil {
		return err
	}
	if root < 0 || int(root) >= len(b.rules) {
		return fmt.Errorf("the grammar has no rule %d to begin with", root)
	}
	for r, is := range b.rules {
		if is == undefined {
			return fmt.Errorf("rule %d of the grammar is not defined", r)
		}
	}
	return nil
}

// begin is the node before the first byte.
func (g *Grammar) begin() (*node, error) {
	g.closure.begin(&work{left: maxWork})
	g.closure.enter(g.root, nil)
	if err := g.closure.run(); err != nil {
		return nil, err
	}
	return g.node(g.closure.pairs, g.empty || g.closure.complete), nil
}
