// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"regexp/syntax"
)

var (
	errEmpty = errors.New("pattern matches an empty text, so it would end every answer at once; make it ask for a character")
	errLarge = errors.New("pattern is too large; use smaller counts in braces")
)

// largest bounds a compiled pattern: each character costs a step for each of its instructions at
// worst.
const largest = 2000

// matcher runs a pattern over text that comes bit by bit. The standard library's regexp wants all
// of it at once, and cannot say whether a match may have begun; so matcher steps through the
// program that its parser makes, all possibilities at once.
type matcher struct {
	program []syntax.Inst
	start   uint32
	before  rune     // −1 at the beginning
	waiting []thread // where to go on, as they were left after the last character
	at      []thread // the same, followed to the instructions that want a character
	seen    []uint32 // for each instruction the round in which it was reached last
	round   uint32
}

// thread is a possibility: an instruction and where in the text its match began.
type thread struct {
	pc   uint32
	from int
}

func compile(pattern string) (*matcher, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	if len(program.Inst) > largest {
		return nil, errLarge
	}
	m := &matcher{program: program.Inst, start: uint32(program.Start), before: -1, seen: make([]uint32, len(program.Inst))}
	m.begin()
	if _, empty := m.follow(thread{m.start, 0}, syntax.EmptyOpContext(-1, -1)); empty {
		return nil, errEmpty
	}
	return m, nil
}

// begin starts a round of following threads.
func (m *matcher) begin() {
	m.round++
	m.at = m.at[:0]
}

// step takes the next character, which lies between two places in the text, and tells where the
// first match that ends there, or right before it, lies.
func (m *matcher) step(c rune, from, to int) (first, last int, ok bool) {
	m.begin()
	around := syntax.EmptyOpContext(m.before, c)
	for _, t := range m.waiting { // the earlier it began, the further in front
		if start, ok := m.follow(t, around); ok {
			return start, from, true
		}
	}
	// An empty match, of \b for example, does not count.
	m.follow(thread{m.start, from}, around)
	m.waiting = m.waiting[:0]
	for _, t := range m.at {
		if i := &m.program[t.pc]; i.MatchRune(c) {
			m.waiting = append(m.waiting, thread{i.Out, t.from})
		}
	}
	m.before = c
	// What needs no look at the next character matches right now.
	m.begin()
	known := syntax.EmptyOpContext(c, 'a') & syntax.EmptyOpContext(c, ' ') & syntax.EmptyOpContext(c, -1)
	known &^= syntax.EmptyEndLine | syntax.EmptyEndText
	for _, t := range m.waiting {
		if start, ok := m.follow(t, known); ok {
			return start, to, true
		}
	}
	return 0, 0, false
}

// pending reports whether a match may have begun.
func (m *matcher) pending() bool { return len(m.waiting) > 0 }

// follow goes from t to all instructions that want a character and reports whether one says that
// the pattern has matched.
func (m *matcher) follow(t thread, around syntax.EmptyOp) (from int, matched bool) {
	if m.seen[t.pc] == m.round {
		return 0, false
	}
	m.seen[t.pc] = m.round
	switch i := &m.program[t.pc]; i.Op {
	case syntax.InstMatch:
		return t.from, true
	case syntax.InstAlt, syntax.InstAltMatch:
		if from, matched = m.follow(thread{i.Out, t.from}, around); matched {
			return from, true
		}
		return m.follow(thread{i.Arg, t.from}, around)
	case syntax.InstCapture, syntax.InstNop:
		return m.follow(thread{i.Out, t.from}, around)
	case syntax.InstEmptyWidth:
		if need := syntax.EmptyOp(i.Arg); need&around == need {
			return m.follow(thread{i.Out, t.from}, around)
		}
	case syntax.InstFail:
	default:
		m.at = append(m.at, t)
	}
	return 0, false
}
