// SPDX-License-Identifier: MIT

package grammar_test

import (
	"testing"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/gbnf"
	"github.com/penstock/penstock/host/grammar/grammartest"
)

// BenchmarkGrammar_Within is what it costs at each token of a JSON text that its answer is to be
// complete: to test a token while many are left, and while few are, and a mask while few are.
func BenchmarkGrammar_Within(b *testing.B) {
	v := grammartest.Load(b, "../..")
	g, err := gbnf.Parse(grammar.NewBuilder(), jsonGrammar, "", gbnf.Tokens{})
	if err != nil {
		b.Fatal(err)
	}
	var states []grammar.State
	s := g.Start()
	for _, token := range v.Of(jsonText) {
		states = append(states, s)
		if s, _, err = g.Token(s, v.Vocabulary, token); err != nil {
			b.Fatal(err)
		}
	}
	mask := make([]uint32, v.Words())
	for name, do := range map[string]func(s grammar.State, rest int) error{
		"many left": func(s grammar.State, _ int) error { _, err := g.Completes(s, v.Vocabulary, 1000); return err },
		"few left":  func(s grammar.State, rest int) error { _, err := g.Completes(s, v.Vocabulary, rest); return err },
		"mask": func(s grammar.State, rest int) error {
			_, err := g.MaskCompletable(s, v.Vocabulary, rest+1, mask)
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			rests := make([]int, len(states))
			for i, s := range states {
				if rests[i], err = g.Rest(s, v.Vocabulary); err != nil {
					b.Fatal(err)
				}
			}
			n := 0
			for b.Loop() {
				if err := do(states[n%len(states)], rests[n%len(states)]); err != nil {
					b.Fatal(err)
				}
				n++
			}
		})
	}
}
