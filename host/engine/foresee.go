// SPDX-License-Identifier: MIT

package engine

import (
	"bytes"
	"context"
	"sync"

	"github.com/penstock/penstock/scheduler"
)

// This file tells the scheduler which tokens come next where a grammar leaves one text alone, as
// the rest of a name of an object's member or of a long value of an enum. A model seldom writes
// such a text in other tokens than the tokeniser does, but it may: so they are a draft, and the
// answer takes what it draws.

// Foresee implements chain.Foreseer.
func (s *Stage) Foresee(most int) []scheduler.Token {
	if !s.rules.guards() || s.undecided || len(s.rules.behind) > 0 || len(s.thinking.force()) > 0 {
		return nil
	}
	return s.rules.foresee(most)
}

const (
	shortestForced = 2 // bytes, for a draft to be worth the thought
	longestForced  = 8 // bytes a token of it
)

// foresee is the tokens of what must come next.
func (f *following) foresee(most int) []scheduler.Token {
	text := f.grammar.Forced(f.here, most*longestForced, hurriedSteps)
	if len(text) < shortestForced {
		return nil
	}
	tokens := f.spell(text)
	return tokens[:min(len(tokens), most)]
}

// spellings are the tokens of texts that grammars force, which are the same in every item of a
// list.
type spellings struct {
	mu    sync.Mutex
	known map[string][]scheduler.Token
}

// maxSpellings is how many of them are kept.
const maxSpellings = 1024

// spelling is the tokens of a text in the middle of an answer, without the last ones in whose
// place a longer one might be that goes on beyond the text.
func (e *Engine) spelling(text []byte) []scheduler.Token {
	k := &e.spelt
	k.mu.Lock()
	defer k.mu.Unlock()
	if tokens, known := k.known[string(text)]; known {
		return tokens
	}
	tokens, err := e.Tokenize(context.Background(), string(text), false, false)
	if err != nil {
		tokens = nil
	}
	if len(tokens) > 0 && text[0] != ' ' && e.Piece(tokens[0]) == " " { // some tokenisers put a space before the first
		tokens = tokens[1:]
	}
	at := 0
	for i, t := range tokens {
		piece := e.Piece(t)
		if !bytes.HasPrefix(text[at:], []byte(piece)) || e.tokens().Longer(text[at:]) {
			tokens = tokens[:i]
			break
		}
		at += len(piece)
	}
	if len(k.known) >= maxSpellings || k.known == nil {
		k.known = map[string][]scheduler.Token{}
	}
	k.known[string(text)] = tokens
	return tokens
}
