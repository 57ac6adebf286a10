// SPDX-License-Identifier: MIT

package session

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/gbnf"
	"github.com/penstock/penstock/host/grammar/schema"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/program"
)

// grammars is a host's grammar engine over a vocabulary, as host/engine has it over a model's.
type grammars struct {
	tokens func() *grammar.Vocabulary
}

// NewGrammars makes a grammar engine for a vocabulary, for tests and cases on made-up models.
func NewGrammars(v plugin.Vocabulary) plugin.Grammars {
	return grammars{sync.OnceValue(func() *grammar.Vocabulary {
		pieces, ends := make([][]byte, v.Size()), []int32(nil)
		for t := range pieces {
			pieces[t] = []byte(v.Piece(int32(t)))
			if v.Attributes(int32(t))&abi.AttrEnd != 0 {
				ends = append(ends, int32(t))
			}
		}
		return grammar.NewVocabulary(pieces, ends, nil)
	})}
}

// Open implements plugin.Grammars.
func (s grammars) Open(_ context.Context, _ string, kind int32, text string) (plugin.Grammar, uint64, error) {
	b := grammar.NewBuilder()
	var g *grammar.Grammar
	var err error
	if kind == abi.GrammarJSONSchema {
		var root grammar.Rule
		if root, _, err = schema.Read(b, json.RawMessage(text), schema.Options{}); err == nil {
			g, err = b.Build(root)
		}
	} else if g, err = gbnf.Parse(b, text, "", gbnf.Tokens{}); err != nil {
		err = errors.New(strings.TrimPrefix(err.Error(), gbnf.ErrInvalid.Error()+": "))
	}
	if err != nil {
		return nil, 0, err
	}
	return &place{grammarState{g, s.tokens(), g.Start()}}, 0, nil
}

// place is a text's in a grammar.
type place struct{ grammarState }

// Mask, MaskWithin, Rest, Accept, Beginning and Close implement plugin.Grammar.

func (p *place) MaskWithin(tokens int, mask []uint32) (bool, error) {
	return p.in.MaskCompletable(p.here, p.tokens, tokens, mask)
}

func (p *place) Rest() (int, bool, error) {
	n, err := p.in.Rest(p.here, p.tokens)
	return n, err == nil && p.in.Ended(p.here), err
}

func (p *place) Accept(t int32) bool {
	next, fits := p.after(t)
	if fits {
		p.grammarState = next
	}
	return fits
}

func (p *place) Beginning() program.GrammarState {
	return grammarState{p.in, p.tokens, p.in.Start()}
}

func (*place) Close() error { return nil }

// grammarState is a program.GrammarState.
type grammarState struct {
	in     *grammar.Grammar
	tokens *grammar.Vocabulary
	here   grammar.State
}

func (s grammarState) Mask(mask []uint32) error { return s.in.Mask(s.here, s.tokens, mask) }

func (s grammarState) After(t int32) (program.GrammarState, bool) {
	next, fits := s.after(t)
	return next, fits
}

func (s grammarState) after(t int32) (grammarState, bool) {
	to, fits, err := s.in.Token(s.here, s.tokens, t)
	s.here = to
	return s, fits && err == nil
}
