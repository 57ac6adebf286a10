// SPDX-License-Identifier: MIT

package examples

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/schema"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/program"
)

// schemas is a host's grammar engine for JSON schemas over a vocabulary, as host/engine has it
// over a model's.
type schemas struct {
	arranged func() *grammar.Vocabulary
}

func newSchemas(v plugin.Vocabulary) schemas {
	return schemas{sync.OnceValue(func() *grammar.Vocabulary {
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
func (s schemas) Open(_ context.Context, _ string, kind int32, text string) (plugin.Grammar, uint64, error) {
	if kind != abi.GrammarJSONSchema {
		return nil, 0, errors.New("only schemas are read here")
	}
	b := grammar.NewBuilder()
	root, _, err := schema.Read(b, json.RawMessage(text), schema.Options{})
	if err != nil {
		return nil, 0, err
	}
	g, err := b.Build(root)
	if err != nil {
		return nil, 0, err
	}
	return &place{g, s.arranged(), g.Start()}, 0, nil
}

// place is a text's in a grammar.
type place struct {
	in     *grammar.Grammar
	tokens *grammar.Vocabulary
	here   grammar.State
}

func (p *place) Mask(mask []uint32) error { return p.in.Mask(p.here, p.tokens, mask) }

func (p *place) MaskWithin(tokens int, mask []uint32) (bool, error) {
	return p.in.MaskCompletable(p.here, p.tokens, tokens, mask)
}

func (p *place) Rest() (int, bool, error) {
	n, err := p.in.Rest(p.here, p.tokens)
	return n, err == nil && p.in.Ended(p.here), err
}

func (p *place) Accept(token int32) bool {
	to, fits, err := p.in.Token(p.here, p.tokens, token)
	if fits && err == nil {
		p.here = to
	}
	return fits && err == nil
}

func (*place) Beginning() program.GrammarState { return nil }

func (p *place) Close() error { return nil }
