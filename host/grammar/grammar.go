// SPDX-License-Identifier: MIT

// Package grammar follows grammars: it tells which texts, and so which tokens, an answer may be.
// Grammars are rules over lexemes, followed byte by byte.
//
// A Builder collects rules. Build compiles them to a recursive transition network: places with
// edges between them, which call one another. A parse is one way to parse a text so far: how far a
// lexeme has been read, and a stack of places that are still to come. A State is the set of all
// parses of a text, so it is a state of the subset construction (Rabin and Scott 1959) over a
// pushdown automaton, made when a text first reaches it. No parse is preferred, as by a longest
// match: a text fits where any parse leads to the end. Stacks share their lower frames (Tomita's
// graph-structured stack, 1985), equal states are one, and all texts that are followed in the same
// Grammar share them, within a bound of memory. A parse that cannot lead to an end is dropped, so a
// text that has come so far can always be completed.
//
// Grammars may be hostile. A Builder bounds what it is given, an operation its steps (ErrAmbiguous
// is beyond), and a Grammar what it keeps: 16 MiB, after which what is known is forgotten and found
// again, while the states that requests hold stay valid. Known steps and masks are read without a
// lock.
//
// # Why is there one engine for grammars, schemas and regular expressions?
//
// Schemas and regular expressions used to be written as GBNF, which an automaton in C++ followed.
// GBNF cannot say *and*, *not*, or *as often as this number says*, so most of what schemas demand
// got lost on the way or was refused, and what JSON writes as `\"` or `\u00e9` was not the
// character it means. Now each notation is read into the same rules. Their lexemes are expressions
// that have all three, and a decoder reads them where they are written as JSON. It costs code:
// 19,000 lines without tests, where the automaton, the conversions and the plugin json-schema,
// which had an engine of its own in Rust, were 7,500, and llama.cpp's conversion 1,800 more. A
// third of them are for what schemas say.
//
// # How can a grammar know that a name came before, when answers share its states?
//
// What may follow a text depends on all names in it, so states with different names are different,
// and answers would share little. So an answer's own state is private: it knows the names, is
// stepped exactly, and is shared with nobody. Its mask is that of its shadow, a state that forgets
// the names and that all answers share. How an answer can be completed, and which tokens leave
// enough for that, is found in shadows too. A shadow allows too much only where a token ends one
// name, goes on into the next and ends that as well. What comes after such a name is in doubt, so
// the private state is asked about tokens that lead only there, and about completions that what is
// in doubt could shorten. No list of names is needed: where a name begins, the names that came are
// taken out of its expression, so no spelling of them fits, and no beginning that only they
// complete.
//
// # How can an answer be whole before max_tokens?
//
// A grammar knows of each state how many bytes its shortest completion has, and with which bytes
// that begins. From there it finds the fewest tokens that spell one such text. The choice of the
// text depends on the state alone, so after the first of these tokens one fewer is needed, and
// there is always a token that keeps the promise. A drawn token is tested against it, which is one
// comparison while as many tokens are left as bytes are missing. Only where a token fails is the
// mask made of the tokens after which the rest fits. So the promise costs little until the end is
// near, and it does not change which tokens come before. Where a state is so large that the search
// exceeds its bound, the longest token of the shortest text is all that may come. How long a search
// takes is not known beforehand, so such an answer has a background sampler from its beginning.
package grammar

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/penstock/penstock/host/grammar/lexeme"
	branches "github.com/penstock/penstock/scheduler/program"
)

// Grammar is a compiled grammar, made by Build. Any number of texts may be followed in it at once.
type Grammar struct {
	program
	arena   *lexeme.Arena
	lexemes []word // the lexemes

	uniques    []unique
	mostUnique int
	slack      int // see Builder.findSlack; never where some lexeme's shortest text is not known

	maxStateBytes, maxLexemeBytes int // maxSharedBytes and maxAutomataBytes, but in tests
	start                         *node

	mu                sync.Mutex  // guards all that is made on demand, below
	long              atomic.Bool // the lock is held for long
	automata          *lexeme.Automata
	lexemeStarts      []lexeme.State // by lexeme: where it begins
	table             *table
	account           *account // nil: no Memory bounds it
	generation        uint32
	privateTable      *table // of private states
	privateGeneration uint32 // its generation
	lastID            uint64
	closure           closure
	byteSteps         byteSteps
}

// Build compiles the rules. A whole text is one that fits rule root.
//
// # Errors
//
//   - ErrVoid: no text fits the grammar.
//   - ErrAmbiguous: it can begin in too many ways.
//   - A sentence about the bound that it exceeds.
func (b *Builder) Build(root Rule) (*Grammar, error) {
	if err := b.check(root); err != nil {
		return nil, err
	}
	defer func() { b.Lexemes.Stop = nil }() // the grammar keeps the lexemes
	g := &Grammar{arena: b.Lexemes, lexemes: b.lexemes, maxStateBytes: maxSharedBytes, maxLexemeBytes: maxAutomataBytes, table: newTable(), privateTable: newTable(), privateGeneration: 1}
	g.closure.g = g
	lengths, err := g.startLexemes(b)
	if err != nil {
		return nil, err
	}
	loops := make([]*loop, len(b.loops))
	for i := range b.loops {
		loops[i] = b.compileLoop(&b.loops[i])
	}
	g.uniques, g.mostUnique, g.slack = b.uniques, b.mostUnique, b.findSlack()
	if slices.Contains(lengths, unknownLength) {
		g.slack = never
	}
	length, err := shortestLengths(b, loops, lengths)
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
	if g.start, err = g.makeStart(); err != nil {
		return nil, err
	}
	return g, nil
}

// check refuses a grammar that is incomplete or exceeds a bound.
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

// buildSteps is about what a lexeme or a rule costs Build, in steps of the arena.
const buildSteps = 32

// unknownLength stands for the shortest text of a lexeme where that is too hard to find.
const unknownLength = never / 1024

// startLexemes makes the start state of each lexeme, and returns the length of its shortest text.
func (g *Grammar) startLexemes(b *Builder) ([]int, error) {
	g.automata = lexeme.NewAutomata(b.Lexemes, g.maxLexemeBytes)
	lengths := make([]int, len(b.lexemes))
	for i, w := range b.lexemes {
		if err := b.Lexemes.Ask(buildSteps); err != nil {
			return nil, err
		}
		s, err := g.automata.Start(w.is, w.spelt)
		if err != nil {
			return nil, err
		}
		g.lexemeStarts = append(g.lexemeStarts, s)
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

// size estimates the bytes of everything that is kept about states. It changes as texts are
// followed, and is at most 16 MiB.
func (g *Grammar) size() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.table.bytes + g.privateTable.bytes + g.automata.Size()
}

// Fixed estimates the bytes of the rules and expressions, which stay as long as the grammar is
// used.
func (g *Grammar) Fixed() int {
	const perPlace, perLoop = 48, 256
	return g.arena.Size() + perPlace*(len(g.edges)+len(g.distances)) + perLoop*(len(g.loops)+len(g.progresses)+len(g.procedures))
}

// makeStart makes the node before the first byte.
func (g *Grammar) makeStart() (*node, error) {
	g.closure.reset(fullWork(), false)
	g.closure.enterProcedure(g.root, nil, false)
	if err := g.closure.run(); err != nil {
		return nil, err
	}
	return g.internNode(g.closure.parses, g.closure.end.or(end{complete: g.empty}), false), nil
}

// Memory bounds the memory of many grammars together. Half of it is for rules and expressions,
// which stay. States have what those leave: where there are too many, the grammars that are
// followed forget theirs, down to an equal share.
type Memory struct {
	most                    int64
	fixed, states, grammars atomic.Int64
}

// NewMemory returns a Memory of most bytes.
func NewMemory(most int) *Memory { return &Memory{most: int64(most)} }

// Add counts a grammar that no Memory counts yet, until Remove. It reports false, and does not
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
	g.account = &account{in: m, fixed: fixed}
	g.reportSize()
	return true
}

// Remove stops counting a grammar that Add counted. Nobody may follow it any more.
func (m *Memory) Remove(g *Grammar) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m.fixed.Add(-g.account.fixed)
	m.states.Add(-g.account.states)
	m.grammars.Add(-1)
	g.account = nil
}

// Used estimates the bytes that all counted grammars take.
func (m *Memory) Used() int { return int(m.fixed.Load() + m.states.Load()) }

// account is what a Memory has counted for a grammar.
type account struct {
	in            *Memory
	fixed, states int64
}

const (
	reportStep      = 64 << 10  // bytes by which states grow or shrink before the Memory hears of it
	guaranteedBytes = 256 << 10 // of states, which every grammar may keep
)

// reportSize tells the Memory how many bytes the states take now.
func (g *Grammar) reportSize() {
	if c := g.account; c != nil {
		now := int64(g.table.bytes + g.automata.Size())
		if before := c.states; now >= before+reportStep || now <= before-reportStep {
			c.states = now
			c.in.states.Add(now - before)
		}
	}
}

// isCrowded reports whether all grammars together keep too much, and this one more than its share.
func (g *Grammar) isCrowded() bool {
	if g.account == nil {
		return false
	}
	g.reportSize()
	m := g.account.in
	room := m.most - m.fixed.Load()
	return m.states.Load() > room && g.account.states > max(room/max(m.grammars.Load(), 1), guaranteedBytes)
}

// ErrAmbiguous says that following a text takes too long: it can be parsed in very many ways, or an
// expression has very many states.
var ErrAmbiguous = errors.New("the grammar is too ambiguous, or an expression of it too large: to follow it takes too long")

// ErrVoid says that no text fits a grammar.
var ErrVoid = errors.New("no text fits the grammar")

// ErrUnspelled says that no tokens of the vocabulary spell the text that completes an answer.
var ErrUnspelled = errors.New("the model has no tokens for the shortest text that completes it")

// Cursor is how far a text has come in a grammar, token by token: what a plugin opens, and what a
// program's branch follows. It is not for concurrent use.
type Cursor struct {
	in   *Grammar
	over *Vocabulary
	at   State
}

// Begin returns a cursor at the grammar's beginning.
func (g *Grammar) Begin(v *Vocabulary) *Cursor { return &Cursor{g, v, g.Start()} }

// Mask writes which tokens may come next: bit i of word i/32 for token i. mask has
// (vocabulary + 31) / 32 words. An error says that the grammar is too ambiguous to tell.
func (c *Cursor) Mask(mask []uint32) error { return c.in.Mask(c.at, c.over, mask) }

// MaskWithin is Mask without the tokens after which the text cannot be completed with so many
// tokens in all, the next one included. False: so many do not complete it, and the mask is empty.
func (c *Cursor) MaskWithin(tokens int, mask []uint32) (bool, error) {
	return c.in.MaskCompletable(c.at, c.over, tokens, mask)
}

// Rest is how many tokens complete the text at most; ended: nothing may follow.
func (c *Cursor) Rest() (tokens int, ended bool, err error) {
	tokens, err = c.in.Rest(c.at, c.over)
	return tokens, err == nil && tokens == 0 && c.in.Ended(c.at), err
}

// Accept moves on by a token. It is false, and nothing changes, if the token may not come next. A
// grammar that has become too ambiguous to follow accepts no token any more; Mask tells why.
func (c *Cursor) Accept(token int32) bool {
	to, fits, err := c.in.Token(c.at, c.over, token)
	if !fits || err != nil {
		return false
	}
	c.at = to
	return true
}

// After implements program.GrammarState: the cursor itself stays where it is.
func (c *Cursor) After(token int32) (branches.GrammarState, bool) {
	next := *c
	fits := next.Accept(token)
	return &next, fits
}

// Beginning returns where the grammar begins.
func (c *Cursor) Beginning() branches.GrammarState { return c.in.Begin(c.over) }
