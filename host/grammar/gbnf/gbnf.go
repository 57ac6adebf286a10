// SPDX-License-Identifier: MIT

// Package gbnf reads llama.cpp's notation for grammars. Its guide is llama.cpp's
// grammars/README.md; what that leaves open is as llama.cpp's parser does it. Unlike there, rules
// may begin with themselves.
//
// As there, a text that begins with %llguidance is in Lark's notation instead (host/grammar/lark).
package gbnf

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lark"
)

// ErrInvalid is what is wrong with a text.
var ErrInvalid = errors.New("invalid grammar")

const (
	maxText        = 1 << 20
	maxParentheses = 200
	maxRepetitions = 2000 // of what comes at least so often; llama.cpp takes a larger maximum as none
	maxProduct     = 1 << 20
	maxRules       = 100_000
)

// Tokens are the tokens that a grammar may name.
type Tokens struct {
	Count int                             // of the vocabulary
	Find  func(text string) (int32, bool) // the token that a text, such as <think>, is, where it is one; nil: none
}

// Parse makes the grammar of a text with a Builder that has no rules yet. root, "" is "root", is
// the rule that an answer fits.
//
// # Errors
//
//   - ErrInvalid: with the line of what is wrong, and what it is.
func Parse(b *grammar.Builder, text, root string, tokens Tokens) (*grammar.Grammar, error) {
	r, err := Add(b, text, root, tokens)
	if err != nil {
		return nil, err
	}
	g, err := b.Build(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return g, nil
}

// Add adds the rules of a text to a Builder, and returns root, "" is "root"; in Lark's notation it
// is "start" in any case. Its errors are Parse's.
func Add(b *grammar.Builder, text, root string, tokens Tokens) (grammar.Rule, error) {
	if root == "" {
		root = "root"
	}
	if err := check(text); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if lark.Is(text) {
		rule, err := lark.Add(b, text, lark.Options{Token: tokens.number})
		if err != nil {
			return 0, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		return rule, nil
	}
	p := &parser{text: text, tokens: tokens, names: map[string]int{}}
	rules, err := p.parse()
	if err != nil {
		return 0, fmt.Errorf("%w: line %d: %w", ErrInvalid, 1+strings.Count(text[:min(p.at, len(text))], "\n"), err)
	}
	first, ok := p.names[root]
	if !ok {
		return 0, fmt.Errorf("%w: it has no rule %q", ErrInvalid, root)
	}
	return translate(b, rules, first), nil
}

func check(text string) error {
	switch {
	case len(text) > maxText:
		return fmt.Errorf("it has %d bytes; at most 1 MiB is taken", len(text))
	case !utf8.ValidString(text):
		return errors.New("it is not valid UTF-8")
	case strings.IndexByte(text, 0) >= 0:
		return errors.New("it holds a zero byte")
	}
	return nil
}
