// SPDX-License-Identifier: MIT

package chain

import (
	"sync"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// BenchmarkChain is what a chain itself costs a token that three stages see.
func BenchmarkChain(b *testing.B) {
	first, second := &still{}, &still{}
	c := New([]Stage{first, second, &still{chosen: 2}}, 4, 0)
	var row Row
	var loans sync.WaitGroup
	rows := [][]float32{{0, 1, 2, 3}}
	b.ReportAllocs()
	for b.Loop() {
		must.Do(b, c.Prepare())
		row.Lend(rows, &loans)
		token, _ := must.Both(c.Draw(&row))(b)
		row.Return()
		for i := range c.Stages() {
			must.Get(c.Accept(i, token, nil))(b)
		}
		c.Outputs()
	}
}

// still is a stage that has each trait and does nothing but choose a token, where it has one.
type still struct{ chosen Token }

func (s *still) Native() bool                     { return false }
func (s *still) Prepare() (Prepared, error)       { return Prepared{}, nil }
func (s *still) TakeRow(WholeRow) bool            { return true }
func (s *still) Fits(tokens []Token) (int, error) { return len(tokens), nil }
func (s *still) Accept(Token) (Effect, error)     { return Effect{}, nil }
func (s *still) Reset([]Token, int) error         { return nil }
func (s *still) Close() error                     { return nil }

func (s *still) Apply(v *View) error {
	if s.chosen > 0 {
		v.Chosen = s.chosen
	}
	return nil
}

func (s *still) Traits() Traits {
	return Traits{Prepares: true, TakesRow: true, Guards: true, IgnoresRow: true, Outputs: func() []Output { return nil }}
}
