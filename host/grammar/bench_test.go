// SPDX-License-Identifier: MIT

package grammar_test

import (
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/gbnf"
	"github.com/penstock/penstock/host/grammar/grammartest"
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
