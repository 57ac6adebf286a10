// SPDX-License-Identifier: MIT

package grammar_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/grammartest"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

// object is a grammar of JSON objects with so many members, of which each tenth is required, and
// any others.
func object(tb testing.TB, members int) *grammar.Grammar {
	b := grammar.NewBuilder()
	a := b.Lexemes
	raw := func(x lexeme.Expr) grammar.Body { return b.Lexeme(x, lexeme.UTF8) }
	text := func(x lexeme.Expr) grammar.Body {
		return b.Seq(raw(a.Text(`"`)), b.Lexeme(x, lexeme.JSONString), raw(a.Text(`"`)))
	}
	space := raw(a.Repeat(a.Class(lexeme.Range{Low: ' ', High: ' '}), 0, 2))
	loop := grammar.Loop{Separator: b.Seq(raw(a.Text(",")), space)}
	var names []lexeme.Expr
	var must []int
	for i := range members {
		name := a.Text(fmt.Sprintf("member %d of all", i))
		names = append(names, name)
		value := text(a.Repeat(lexeme.Char, 0, 10+i))
		if i%3 == 0 {
			value = raw(a.Repeat(a.Class(lexeme.Range{Low: '0', High: '9'}), 1, 5))
		}
		loop.Items = append(loop.Items, grammar.Item{Is: b.Seq(text(name), raw(a.Text(":")), space, value), Bit: i, Once: true})
		if i%10 == 0 {
			must = append(must, i)
		}
	}
	other := a.And(lexeme.All, a.Not(a.Or(names...)))
	loop.Items = append(loop.Items, grammar.Item{Is: b.Seq(text(other), raw(a.Text(":")), space, text(lexeme.All)), Bit: -1})
	loop.Ends = []grammar.Condition{{Must: must, Max: lexeme.Unbounded}}
	root := b.Rule()
	b.Define(root, b.Seq(raw(a.Text("{")), b.Loop(loop), raw(a.Text("}"))))
	g, err := b.Build(root)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// BenchmarkGrammar_Mask_Object is masks of objects of many members, in a new grammar.
func BenchmarkGrammar_Mask_Object(b *testing.B) {
	v := grammartest.Load(b, "../..")
	for _, members := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(members), func(b *testing.B) {
			mask := make([]uint32, v.Words())
			tokens := v.Of(`{"member 7 of all": "x y", "another": "z", "member 3 of all": 1234, "more": "It was a bright cold day", "member 0 of all": 1`)
			built, masks, first := time.Duration(0), time.Duration(0), time.Duration(0)
			for b.Loop() {
				begin := time.Now()
				g := object(b, members)
				built += time.Since(begin)
				s := g.Start()
				for i, token := range tokens {
					begin := time.Now()
					if err := g.Mask(s, v.Vocabulary, mask); err != nil {
						b.Fatal(err)
					}
					masks += time.Since(begin)
					if i == 0 {
						first += time.Since(begin)
					}
					var ok bool
					var err error
					if s, ok, err = g.Token(s, v.Vocabulary, token); err != nil || !ok {
						b.Fatal(i, string(v.Pieces[token]), ok, err)
					}
				}
			}
			b.ReportMetric(float64(built.Microseconds())/float64(b.N), "build-µs")
			b.ReportMetric(float64(first.Microseconds())/float64(b.N), "first-µs")
			b.ReportMetric(float64(masks.Microseconds())/float64(b.N*len(tokens)), "mean-µs")
		})
	}
}
