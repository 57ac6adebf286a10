// SPDX-License-Identifier: MIT

// Package pattern matches regular expressions in a text that comes bit by bit, in linear time. The
// standard library compiles them, but its regexp wants all of the text at once, cannot say whether
// a match may have begun, and keeps no state to come back to; so Matcher runs the compiled program
// itself, all possibilities at once.
package pattern

import (
	"errors"
	"fmt"
	"regexp/syntax"
)

var (
	errEmpty = errors.New("pattern matches an empty text, so it would match everywhere; make it ask for a character")
	errDeep  = errors.New("pattern is nested too deeply; use + or * in the place of counts in braces, and fewer parentheses")
	errLarge = errors.New("pattern is too large; use smaller counts in braces, or fewer patterns")
)

// deepest bounds how deep a pattern is nested: a guest's stack is small, and the standard library
// follows a pattern by recursion. A count in braces that varies nests as often as it varies.
const deepest = 40

// largest bounds a compiled pattern: each character costs a step for each of its instructions at
// worst.
const largest = 2000

// Matcher runs patterns over a text.
type Matcher struct {
	program []syntax.Inst
	start   uint32
	before  rune     // −1 at the beginning
	waiting []Thread // where to go on, as they were left after the last character
	at      []Thread // the same, followed to the instructions that want a character
	open    []uint32 // instructions that are still to be followed
	seen    []uint32 // for each instruction the round in which it was reached last
	round   uint32
}

// Thread is a possibility: an instruction and where in the text its match began.
type Thread struct {
	pc   uint32
	From int
}

// Compile makes a matcher of patterns in Go's syntax (RE2), of which any may match.
func Compile(patterns ...string) (*Matcher, error) {
	parsed := make([]*syntax.Regexp, len(patterns))
	for i, p := range patterns {
		var err error
		if parsed[i], err = syntax.Parse(p, syntax.Perl); err != nil {
			return nil, fmt.Errorf("pattern: %w", err)
		}
		if !isFlat(parsed[i], deepest) {
			return nil, errDeep
		}
	}
	all := parsed[0]
	if len(parsed) > 1 {
		all = &syntax.Regexp{Op: syntax.OpAlternate, Sub: parsed}
	}
	program, err := syntax.Compile(all.Simplify())
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	if len(program.Inst) > largest {
		return nil, errLarge
	}
	m := &Matcher{program: program.Inst, start: uint32(program.Start), before: -1, seen: make([]uint32, len(program.Inst))}
	// Where an empty match is one, such as at \b, the other possibilities would not be followed.
	for _, before := range borders {
		for _, after := range borders {
			m.begin()
			if _, empty := m.follow(Thread{m.start, 0}, syntax.EmptyOpContext(before, after)); empty {
				return nil, errEmpty
			}
		}
	}
	return m, nil
}

// borders has of all kinds of characters that an empty match depends on, and the text's end.
var borders = [...]rune{-1, '\n', ' ', 'a'}

// isFlat reports whether a pattern is nested no deeper than so.
func isFlat(p *syntax.Regexp, depth int) bool {
	if p.Op == syntax.OpRepeat {
		depth -= max(0, p.Max-p.Min)
	}
	if depth <= 0 {
		return false
	}
	for _, sub := range p.Sub {
		if !isFlat(sub, depth-1) {
			return false
		}
	}
	return true
}

// begin starts a round of following threads.
func (m *Matcher) begin() {
	m.round++
	m.at = m.at[:0]
}

// Step takes the next character, which lies between two places in the text, and tells where the
// match lies that ends there, or right before it, and begins first. The text may go on behind it;
// the same match is not told again, nor a longer one that begins there.
func (m *Matcher) Step(c rune, from, to int) (first, last int, ok bool) {
	first, ok = m.followAll(syntax.EmptyOpContext(m.before, c), nil)
	last = from
	m.follow(Thread{m.start, from}, syntax.EmptyOpContext(m.before, c))
	m.waiting = m.waiting[:0]
	for _, t := range m.at {
		if i := &m.program[t.pc]; i.MatchRune(c) {
			m.waiting = append(m.waiting, Thread{i.Out, t.From})
		}
	}
	m.before = c
	// What needs no look at the next character matches right now.
	known := syntax.EmptyOpContext(c, 'a') & syntax.EmptyOpContext(c, ' ') & syntax.EmptyOpContext(c, -1)
	known &^= syntax.EmptyEndLine | syntax.EmptyEndText
	going := m.waiting[:0]
	start, now := m.followAll(known, &going)
	if m.waiting = going; now && (!ok || start < first) {
		first, last, ok = start, to, true
	}
	return first, last, ok
}

// End tells where a match begins that the end of the text completes.
func (m *Matcher) End() (first int, ok bool) {
	return m.followAll(syntax.EmptyOpContext(m.before, -1), nil)
}

// followAll follows what is waiting, and tells where the first match begins that is complete. What
// is not complete it adds to going, if that is not nil.
func (m *Matcher) followAll(around syntax.EmptyOp, going *[]Thread) (first int, ok bool) {
	m.begin()
	for _, t := range m.waiting { // the earlier it began, the further in front
		start, matched := m.follow(t, around)
		if matched && !ok {
			first, ok = start, true
		}
		if !matched && going != nil {
			*going = append(*going, t)
		}
	}
	return first, ok
}

// Pending reports whether a match may have begun.
func (m *Matcher) Pending() bool { return len(m.waiting) > 0 }

// State is where a matcher stands in a text.
type State struct {
	Before  rune
	Waiting []Thread
}

// State returns where the matcher stands, for Restore.
func (m *Matcher) State() State {
	if len(m.waiting) == 0 {
		return State{m.before, nil}
	}
	return State{m.before, append([]Thread(nil), m.waiting...)}
}

// Restore brings the matcher back to where it stood.
func (m *Matcher) Restore(s State) {
	m.before, m.waiting = s.Before, append(m.waiting[:0], s.Waiting...)
}

// follow goes from t to all instructions that want a character and reports whether one says that
// the pattern has matched. It does not recurse: a way may be as long as the program.
func (m *Matcher) follow(t Thread, around syntax.EmptyOp) (from int, matched bool) {
	m.open = append(m.open[:0], t.pc)
	for len(m.open) > 0 {
		last := len(m.open) - 1
		pc := m.open[last]
		m.open = m.open[:last]
		i := &m.program[pc]
		if i.Op == syntax.InstMatch {
			return t.From, true
		}
		if m.seen[pc] == m.round {
			continue
		}
		m.seen[pc] = m.round
		switch i.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			m.open = append(m.open, i.Arg, i.Out)
		case syntax.InstCapture, syntax.InstNop:
			m.open = append(m.open, i.Out)
		case syntax.InstEmptyWidth:
			if need := syntax.EmptyOp(i.Arg); need&around == need {
				m.open = append(m.open, i.Out)
			}
		case syntax.InstFail:
		default:
			m.at = append(m.at, Thread{pc, t.From})
		}
	}
	return 0, false
}
