// SPDX-License-Identifier: MIT

package grammar

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// Grammar is what Build made. Any number of texts may be followed in it at once.
type Grammar struct {
	program
	arena *lexeme.Arena
	spelt []word // the lexemes

	uniques    []unique
	mostUnique int
	slack      int // see Builder.slack; never, too, where it is not known how long a lexeme is

	mostKept, mostLexemes int // bytes, see maxKept
	start                 *node

	mu         sync.Mutex  // over what is made as texts need it
	long       atomic.Bool // whoever has the lock takes long
	automata   *lexeme.Automata
	words      []lexeme.State // by lexeme: where it begins
	table      *table
	counted    *counted // nil: no Memory bounds it
	generation uint32
	private    *table // of private states
	privates   uint32 // its generation
	names      uint64
	closure    closure
	sixteen    sixteen
}

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
	defer func() { b.Lexemes.Stop = nil }() // the grammar keeps the lexemes
	g := &Grammar{arena: b.Lexemes, spelt: b.lexemes, mostKept: maxKept, mostLexemes: maxLexemes, table: newTable(), private: newTable(), privates: 1}
	g.closure.g = g
	lengths, err := g.startWords(b)
	if err != nil {
		return nil, err
	}
	loops := make([]*loop, len(b.loops))
	for i := range b.loops {
		loops[i] = b.newLoop(&b.loops[i])
	}
	g.uniques, g.mostUnique, g.slack = b.uniques, b.mostUnique, b.slack()
	if slices.Contains(lengths, unknownLength) {
		g.slack = never
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

// buildSteps is about what a lexeme and a rule take of Build, in steps of the arena.
const buildSteps = 32

// unknownLength is taken for lexemes whose shortest text is too hard to find.
const unknownLength = never / 1024

// startWords finds where the lexemes begin, and how long the shortest text of each is.
func (g *Grammar) startWords(b *Builder) ([]int, error) {
	g.automata = lexeme.NewAutomata(b.Lexemes, g.mostLexemes)
	lengths := make([]int, len(b.lexemes))
	for i, w := range b.lexemes {
		if err := b.Lexemes.Ask(buildSteps); err != nil {
			return nil, err
		}
		s, err := g.automata.Start(w.is, w.spelt)
		if err != nil {
			return nil, err
		}
		g.words = append(g.words, s)
		if lengths[i] = never; s != lexeme.Dead {
			switch lengths[i], err = g.automata.Shortest(s); {
			case errors.Is(err, lexeme.ErrTooMuch):
				lengths[i] = unknownLength
			case err != nil:
				return nil, err
			}
		}
	}
	return lengths, nil
}

// size is about how many bytes what is kept of the states takes, which changes as texts are
// followed. It is at most 16 MiB.
func (g *Grammar) size() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.table.bytes + g.private.bytes + g.automata.Size()
}

// Fixed is about how many bytes the rules and expressions take besides, for as long as the grammar
// is used.
func (g *Grammar) Fixed() int {
	const perPlace, perLoop = 48, 256
	return g.arena.Size() + perPlace*(len(g.edges)+len(g.rests)) + perLoop*(len(g.loops)+len(g.memories)+len(g.procedures))
}

// begin is the node before the first byte.
func (g *Grammar) begin() (*node, error) {
	g.closure.begin(unhurried(), false)
	g.closure.enter(g.root, nil, false)
	if err := g.closure.run(); err != nil {
		return nil, err
	}
	return g.node(g.closure.pairs, g.closure.end.or(end{complete: g.empty}), false), nil
}
