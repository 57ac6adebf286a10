// SPDX-License-Identifier: MIT

package grammar_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/gbnf"
	"github.com/penstock/penstock/host/grammar/grammartest"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

const jsonGrammar = `root ::= value
value ::= object | "[" ws (value ("," ws value)*)? "]" ws | string | number | ("true" | "false" | "null") ws
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}" ws
string ::= "\"" ([^"\\\x7F\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]*)) ("." [0-9]+)? ([eE] [-+]? [0-9]+)? ws
ws ::= [ \t\n]*`

const jsonText = `{"title": "The Café on Rue Émile-Zola", "pages": 312, "price": -12.50e2, "tags": ["novel", "a \"quoted\" word", "\u00e9t\u00e9"],
  "author": {"name": "Jean Martin", "born": 1952, "alive": true, "works": [{"title": "One", "year": null}, {"title": "Two", "year": 1999}]},
  "text": "It was a bright cold day in April, and the clocks were striking thirteen. Winston Smith, his chin nuzzled into his breast."}`

// BenchmarkGrammar_Mask is a mask for each token of a JSON text, over a vocabulary: in a new
// grammar, and in one that has followed it.
func BenchmarkGrammar_Mask(b *testing.B) {
	v := grammartest.Load(b, "../..")
	for name, text := range map[string]string{
		"json":  jsonGrammar,
		"long":  `root ::= "{\"title\": \"" ([^"\\] | "\\" .){0,2000} "\"" .*`,
		"slow":  `root ::= ([^ aeiou]* [aeiou]? " "?)* "}"`,
		"lines": `root ::= ([^\n]{1,200} "\n"?)+`,
	} {
		for _, known := range []bool{false, true} {
			b.Run(name+map[bool]string{false: "/new", true: "/known"}[known], func(b *testing.B) { benchmarkMasks(b, v, text, known) })
		}
	}
}

func benchmarkMasks(b *testing.B, v *grammartest.Tokens, text string, known bool) {
	mask := make([]uint32, v.Words())
	tokens := v.Of(jsonText)
	var first, all []time.Duration
	var g *grammar.Grammar
	for b.Loop() {
		if g == nil || !known {
			var err error
			if g, err = gbnf.Parse(grammar.NewBuilder(), text, "", gbnf.Tokens{}); err != nil {
				b.Fatal(err)
			}
		}
		s := g.Start()
		for i, token := range tokens {
			begin := time.Now()
			if err := g.Mask(s, v.Vocabulary, mask); err != nil {
				b.Fatal(err)
			}
			took := time.Since(begin)
			if all = append(all, took); i == 0 {
				first = append(first, took)
			}
			var ok bool
			var err error
			if s, ok, err = g.Token(s, v.Vocabulary, token); err != nil || !ok {
				b.Fatalf("token %d %q: %v, %v", i, v.Pieces[token], ok, err)
			}
		}
	}
	sum := time.Duration(0)
	for _, took := range all {
		sum += took
	}
	slices.Sort(all)
	slices.Sort(first)
	b.ReportMetric(float64(sum.Microseconds())/float64(len(all)), "mean-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(all[len(all)-1].Microseconds()), "most-µs")
	b.ReportMetric(float64(first[len(first)/2].Microseconds()), "first-µs")
}

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
