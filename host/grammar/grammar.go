// SPDX-License-Identifier: MIT

// Package grammar tells which texts, and so which tokens, an answer may be: rules over lexemes,
// followed byte by byte.
//
// A Builder collects rules. Build compiles them to places, of which a stack says what is still to
// come. A State is a set of stacks, each with how far a lexeme has been read: one for each way in
// which the text so far can be meant. No way is preferred, as by a longest match: a text fits where
// any way leads to the end. States are made when a text first reaches them and are kept, within a
// bound, for all texts that are followed in the same Grammar. What cannot lead to an end is no part
// of a state, so a text that has come so far can always be completed.
//
// Grammars may be hostile. A Builder bounds what it is given, an operation the steps that it takes
// (ErrAmbiguous is beyond), and a Grammar what it keeps: 16 MiB, after which what is known is
// forgotten and found again, while the states that requests hold stay valid. Steps and masks that
// are known are read without a lock.
//
// # Why is there one engine for grammars, schemas and regular expressions?
//
// Schemas and regular expressions used to be written as GBNF, which an automaton in C++ followed.
// GBNF cannot say *and*, *not*, or *as often as this number says*, so most of what schemas demand
// got lost on the way or was refused, and what JSON writes as `\"` or `\u00e9` was not the
// character it means. Now each notation is read into the same rules. Their words are expressions
// that have all three, and a decoder stands before them where they are written as JSON. It costs
// code: 16,500 lines without tests, where the automaton, the conversions and the plugin
// json-schema, which had an engine of its own in Rust, were 7,500, and llama.cpp's conversion
// 1,800 more. A third of them are for what schemas say.
//
// # How can a grammar know that a name came before, when answers share its states?
//
// What may follow a text depends on all names in it, so states with different names are
// different, and answers would share little. So an answer's own state is private: it knows the
// texts, is stepped exactly, and is kept for nobody else. Masks are made of its shadow, in which
// the texts are forgotten and which all answers share. How an answer can be completed, and which
// tokens leave enough for that, is found in shadows too. A shadow allows too much only where a
// token ends one name, goes on into the next and ends that as well; what comes after such a name
// is in doubt there, and the private state is asked about tokens that lead nowhere else, and
// about completions that what is in doubt could shorten. A name itself needs no list: where it
// begins, the names that came are taken out of its expression, so no spelling of them fits and no
// beginning that only they complete.
//
// # How can an answer be whole before max_tokens?
//
// A grammar knows of each state how many bytes its shortest completion has, and which bytes that
// begins with. From there it finds the fewest tokens that spell that text; the choice depends on
// the state alone, so after the first of these tokens one fewer is needed, and there is always a
// token that keeps the promise. A drawn token is tested against it, which is a comparison while
// as many tokens are left as bytes are missing. Only where one fails is the mask made of the
// tokens after which the rest fits. So the promise costs little until the end is near, and it
// does not change which tokens come before. Where a state is so large that the search exceeds its
// bound, the longest token of the shortest text is all that may come. How long a search takes is
// not known before, so such an answer has a background sampler from its beginning.
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

// Memory bounds what grammars take together. Half of the memory is for rules and expressions, which
// stay. The states have what those leave: where there is too much of them, grammars that are
// followed forget theirs, down to an equal part.
type Memory struct {
	most                    int64
	fixed, states, grammars atomic.Int64
}

// NewMemory returns one of so many bytes.
func NewMemory(most int) *Memory { return &Memory{most: int64(most)} }

// Add counts a grammar, which counts in no memory yet, until Remove. It reports false, and does not
// count it, where there is no room for its rules and expressions.
func (m *Memory) Add(g *Grammar) bool {
	fixed := int64(g.Fixed())
	if m.fixed.Add(fixed) > m.most/2 {
		m.fixed.Add(-fixed)
		return false
	}
	m.grammars.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.counted = &counted{in: m, fixed: fixed}
	g.tell()
	return true
}

// Remove counts a grammar no more that Add has counted. Nobody may follow it any more.
func (m *Memory) Remove(g *Grammar) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m.fixed.Add(-g.counted.fixed)
	m.states.Add(-g.counted.states)
	m.grammars.Add(-1)
	g.counted = nil
}

// Used is about how many bytes the grammars take.
func (m *Memory) Used() int { return int(m.fixed.Load() + m.states.Load()) }

// counted is what a grammar counts for.
type counted struct {
	in            *Memory
	fixed, states int64
}

const (
	tellStep  = 64 << 10  // bytes that states have grown or shrunk by, before it is told
	leastKept = 256 << 10 // bytes of states that every grammar may keep
)

// tell counts what the states take now.
func (g *Grammar) tell() {
	if c := g.counted; c != nil {
		now := int64(g.table.bytes + g.automata.Size())
		if before := c.states; now >= before+tellStep || now <= before-tellStep {
			c.states = now
			c.in.states.Add(now - before)
		}
	}
}

// crowded reports whether all grammars together keep too much, and this one more than its part.
func (g *Grammar) crowded() bool {
	if g.counted == nil {
		return false
	}
	g.tell()
	m := g.counted.in
	room := m.most - m.fixed.Load()
	return m.states.Load() > room && g.counted.states > max(room/max(m.grammars.Load(), 1), leastKept)
}

// ErrAmbiguous says that following a text takes too long: it can be meant in very many ways, or an
// expression has very many states.
var ErrAmbiguous = errors.New("the grammar is too ambiguous, or an expression of it too large: to follow it takes too long")

// ErrVoid says that no text fits a grammar.
var ErrVoid = errors.New("no text fits the grammar")

// ErrUnspelled says that no tokens of the vocabulary spell the text that completes an answer.
var ErrUnspelled = errors.New("the model has no tokens for the shortest text that completes it")
