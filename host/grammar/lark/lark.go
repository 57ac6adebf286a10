// SPDX-License-Identifier: MIT

// Package lark reads grammars in Lark's notation, as llguidance and OpenAI's custom tools take it.
//
// A grammar is read as a context-free one, which has no lexer: a terminal need not be as long as it
// can be, priorities and aliases mean nothing, and a regular expression's `*?` is `*`. What %ignore
// names may come any number of times after each terminal, as in llguidance: so not at the
// beginning, unless the option allow_initial_skip says so.
//
// Of llguidance's additions there are `{m,n}`, tokens, %json, `&` and `~` in terminals, and the
// attributes lazy, suffix and capture, which means nothing.
//
// A rule ends where the next one or a directive begins, at the beginning of a line. So a rule may
// go on in the next line wherever it likes, which Lark allows before | only.
package lark

import (
	"fmt"
	"strings"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

const (
	maxParentheses  = 200
	maxProduct      = 1 << 20 // of repetitions within one another
	maxRules        = 100_000
	maxName         = 200
	maxInstances    = 10_000 // of templates
	maxParameters   = 100    // of a template
	maxNesting      = 500    // of terminals
	maxWord         = 2000   // words of a rule that become one lexeme
	bytesPerStep    = 8      // of reading, as steps of an arena
	stepsPerPattern = 50     // of reading a short regular expression
	stepsPerSchema  = 300
)

// Prefix is what a grammar in Lark's notation begins with, where it could be another's.
const Prefix = "%llguidance"

// Is reports whether a text begins with Prefix.
func Is(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), Prefix) }

// Options say how a grammar is read.
type Options struct {
	Token func(text string) (int32, error)                      // the token that a text such as <think> or <[123]> stands for
	Spell func(b *grammar.Builder, is lexeme.Expr) grammar.Body // what a terminal's texts are within the answer; nil: as they are
}

// Add adds the rules of a text, which is valid UTF-8 and has a bounded length, to a Builder. It
// returns the one that an answer fits: `start`.
//
// # Errors
//
//   - With the line of what is wrong, what it is and, where that is not supported, what to do.
//   - What has stopped the Builder's Lexemes is wrapped.
func Add(b *grammar.Builder, text string, o Options) (grammar.Rule, error) {
	p := &parser{text: text, lexemes: b.Lexemes, Options: o, names: map[string]int{}, patterns: map[string]lexeme.Expr{}}
	if !b.Lexemes.Spend(len(text) / bytesPerStep) {
		return 0, b.Lexemes.Err()
	}
	if err := p.parse(); err != nil {
		return 0, p.located(err)
	}
	start, ok := p.names["start"]
	if !ok {
		return 0, fmt.Errorf("it has no rule %q", "start")
	}
	root, err := newCompiler(b, p).compile(start)
	if err != nil {
		return 0, p.located(err)
	}
	return root, b.Lexemes.Err()
}

// located says in which line an error is.
func (p *parser) located(err error) error {
	return fmt.Errorf("line %d: %w", 1+strings.Count(p.text[:min(p.at, len(p.text))], "\n"), err)
}
