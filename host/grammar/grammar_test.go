// SPDX-License-Identifier: MIT

package grammar

import (
	"regexp/syntax"
	"testing"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// re is the lexeme of a pattern of letters, classes, groups, alternatives and repetitions.
func re(b *Builder, pattern string) Body {
	parsed, err := syntax.Parse("(?s:"+pattern+")", syntax.Perl)
	if err != nil {
		panic(err)
	}
	return b.Lexeme(expr(b.Lexemes, parsed), lexeme.UTF8)
}

func expr(a *lexeme.Arena, p *syntax.Regexp) lexeme.Expr {
	var parts []lexeme.Expr
	for _, s := range p.Sub {
		parts = append(parts, expr(a, s))
	}
	switch p.Op {
	case syntax.OpLiteral:
		return a.Text(string(p.Rune))
	case syntax.OpCharClass:
		var ranges []lexeme.Range
		for i := 0; i < len(p.Rune); i += 2 {
			ranges = append(ranges, lexeme.Range{Low: p.Rune[i], High: p.Rune[i+1]})
		}
		return a.Class(ranges...)
	case syntax.OpAnyChar:
		return lexeme.Char
	case syntax.OpStar:
		return a.Repeat(parts[0], 0, lexeme.Unbounded)
	case syntax.OpPlus:
		return a.Repeat(parts[0], 1, lexeme.Unbounded)
	case syntax.OpQuest:
		return a.Repeat(parts[0], 0, 1)
	case syntax.OpRepeat:
		return a.Repeat(parts[0], p.Min, p.Max)
	case syntax.OpConcat:
		return a.Then(parts...)
	case syntax.OpAlternate:
		return a.Or(parts...)
	case syntax.OpCapture:
		return parts[0]
	case syntax.OpEmptyMatch:
		return lexeme.Empty
	}
	panic(p.String())
}

func fits(t *testing.T, g *Grammar, text string) bool {
	t.Helper()
	s, ok, err := g.Advance(g.Start(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return ok && g.Complete(s)
}

func TestLeft(t *testing.T) {
	b := NewBuilder()
	e := b.Rule()
	b.Define(e, b.Alt(b.Seq(b.Call(e), re(b, `\+`), b.Call(e)), b.Seq(b.Call(e), re(b, `\*`), re(b, `b?`)), re(b, `[0-9]+`), b.Seq()))
	g, err := b.Build(e)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"1+1": true, "+": true, "": true, "1**b": true, "b": false, "1*bb": false, "+*b+1": true} {
		if fits(t, g, text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestLoop(t *testing.T) {
	b := NewBuilder()
	r := b.Rule()
	b.Define(r, b.Seq(re(b, `{`), b.Loop(Loop{Separator: re(b, `,`), Items: []Item{
		{Is: re(b, `a+`), Bit: 0, Once: true}, {Is: re(b, `b`), Bit: 1, Once: true, Count: 1}, {Is: re(b, `c`), Bit: 2, Once: true, Count: 1}, {Is: re(b, `d`), Bit: -1, Count: 1}},
		Ends: []Condition{{Must: []int{0}, Min: 1, Max: 2}, {MustNot: []int{0}, Must: []int{2}, Min: 3, Max: 3}}}), re(b, `}`)))
	g, err := b.Build(r)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"{}": false, "{a}": false, "{a,b}": true, "{b,aa}": true, "{d,d,a}": true, "{d,d,b,a}": false, "{d,d,c}": true, "{d,d,d}": false, "{a,a}": false, "{b,d,c}": true, "{b,d,a,c}": false} {
		if fits(t, g, text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	for _, text := range []string{"{", "{a", "{a,", "{b,d", "{b,d,", "{d,d,"} {
		s, ok, err := g.Advance(g.Start(), []byte(text))
		f, _ := g.Forced(s)
		t.Log(text, ok, err, shortestOf(t, g, s), string(f))
	}
}
