// SPDX-License-Identifier: MIT

package grammar

import (
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/tools/must"
)

// re is the lexeme of a pattern of letters, classes, groups, alternatives and repetitions.
func re(b *Builder, pattern string) Body { return b.Lexeme(exprOf(b, pattern), lexeme.UTF8) }

func exprOf(b *Builder, pattern string) lexeme.Expr {
	parsed, err := syntax.Parse("(?s:"+pattern+")", syntax.Perl)
	if err != nil {
		panic(err)
	}
	return expr(b.Lexemes, parsed)
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
	s, ok := must.Both(g.Advance(g.Start(), []byte(text)))(t)
	return ok && g.Complete(s)
}

// checkTexts builds a grammar of one rule and looks which texts fit.
func checkTexts(t *testing.T, texts map[string]bool, is func(b *Builder, itself Body) Body) *Grammar {
	t.Helper()
	b := NewBuilder()
	r := b.Rule()
	b.Define(r, is(b, b.Call(r)))
	g := must.Get(b.Build(r))(t)
	for text, want := range texts {
		if fits(t, g, text) != want {
			t.Errorf("%q fits: %v", text, !want)
		}
	}
	return g
}

// A rule may begin with itself, also behind what may be empty.
func TestBuilder_LeftRecursion(t *testing.T) {
	checkTexts(t, map[string]bool{"1+1": true, "+": true, "": true, "1**b": true, "b": false, "1*bb": false, "+*b+1": true},
		func(b *Builder, sum Body) Body {
			return b.Alt(b.Seq(sum, re(b, `\+`), sum), b.Seq(sum, re(b, `\*`), re(b, `b?`)), re(b, `[0-9]+`), b.Seq())
		})
	checkTexts(t, map[string]bool{"x": true, "-x;": true, "--x;;": true, "x;;": true, ";": false},
		func(b *Builder, x Body) Body { return b.Alt(b.Seq(re(b, `-?`), x, re(b, `;`)), re(b, "x")) })
}

// A loop remembers which items came and how many, and ends only where a condition holds.
func TestBuilder_Loop(t *testing.T) {
	g := checkTexts(t, map[string]bool{"{}": false, "{a}": false, "{a,b}": true, "{b,aa}": true, "{d,d,a}": true, "{d,d,b,a}": false,
		"{d,d,c}": true, "{d,d,d}": false, "{a,a}": false, "{b,d,c}": true, "{b,d,a,c}": false},
		func(b *Builder, _ Body) Body {
			return b.Seq(re(b, `{`), b.Loop(Loop{Separator: re(b, `,`), Items: []Item{{Is: re(b, `a+`), Bit: 0, Once: true},
				{Is: re(b, `b`), Bit: 1, Once: true, Count: 1}, {Is: re(b, `c`), Bit: 2, Once: true, Count: 1}, {Is: re(b, `d`), Bit: -1, Count: 1}},
				Ends: []Condition{{Must: []int{0}, Min: 1, Max: 2}, {MustNot: []int{0}, Must: []int{2}, Min: 3, Max: 3}}}), re(b, `}`))
		})
	for text, want := range map[string]struct {
		shortest int
		forced   string
	}{"": {5, "{"}, "{": {4, ""}, "{a": {3, ""}, "{a,": {2, ""}, "{b,d": {3, ","}, "{b,d,": {2, ""}, "{b,d,c": {1, "}"}, "{b,d,c}": {0, ""}} {
		s, ok, err := g.Advance(g.Start(), []byte(text))
		if !ok || err != nil {
			t.Fatalf("%q: %v, %v", text, ok, err)
		}
		forced := g.Forced(s, 1000, maxWork)
		if n := shortestOf(t, g, s); n != want.shortest || string(forced) != want.forced {
			t.Errorf("%q: %d bytes are left, %q is forced, want %v", text, n, forced, want)
		}
	}
}

// After a comma an item comes, and where none may come there is no comma.
func TestBuilder_Loop_NoDeadEnd(t *testing.T) {
	g := checkTexts(t, map[string]bool{"": true, "a": true, "a,b": true, "b,a": true, "a,": false, "a,b,a": false},
		func(b *Builder, _ Body) Body {
			return b.Loop(Loop{Separator: re(b, `,`), Items: []Item{{Is: re(b, `a`), Bit: 0, Once: true}, {Is: re(b, `b`), Bit: 1, Once: true}, {Is: b.Alt(), Bit: 2}}})
		})
	s, _, _ := g.Advance(g.Start(), []byte("b,a"))
	if _, ok, err := g.Advance(s, []byte(",")); ok || err != nil {
		t.Errorf("a comma may come where nothing can follow it: %v", err)
	}
}

// Millions of repetitions are counted: they take no more room than one.
func TestBuilder_Repeat_Counts(t *testing.T) {
	g := checkTexts(t, map[string]bool{"": false, "ab": false, strings.Repeat("ab", 3000): true},
		func(b *Builder, _ Body) Body {
			return b.Repeat(b.Seq(re(b, "a"), b.Alt(re(b, "b"), b.Seq(re(b, "c"), b.Token(1, false)))), 3000, 5_000_000)
		})
	if n := shortestOf(t, g, g.Start()); n != 6000 {
		t.Errorf("the shortest text has %d bytes", n)
	}
	if n := len(g.edges); n > 100 {
		t.Errorf("it takes %d edges", n)
	}
}

// An incomplete grammar, or one beyond a limit, is refused with a message.
func TestBuilder_Build_Refuses(t *testing.T) {
	for name, c := range map[string]struct {
		says  string
		build func(b *Builder) Rule
	}{
		"an undefined rule":     {"is not defined", func(b *Builder) Rule { return b.Rule() }},
		"no such rule":          {"not declared", func(b *Builder) Rule { b.Call(7); return b.Rule() }},
		"no root":               {"no rule 3", func(b *Builder) Rule { return 3 }},
		"nothing fits":          {"no text fits", func(b *Builder) Rule { r := b.Rule(); b.Define(r, b.Seq(re(b, "a"), b.Call(r))); return r }},
		"a loop without an end": {"no text fits", func(b *Builder) Rule { return ruleOf(b, b.Loop(Loop{Ends: []Condition{{Min: 1, Max: -1}}})) }},
		"backwards":             {"at least 3 and at most 2", func(b *Builder) Rule { return ruleOf(b, b.Repeat(re(b, "a"), 3, 2)) }},
		"a bit too high":        {"bit 99999", func(b *Builder) Rule { return ruleOf(b, b.Loop(Loop{Ends: []Condition{{Must: []int{99999}}}})) }},
		"too many items":        {"4096 items", func(b *Builder) Rule { return ruleOf(b, b.Loop(Loop{Items: make([]Item, 5000)})) }},
		"copies of copies":      {"places", func(b *Builder) Rule { return ruleOf(b, doubled(b, 24)) }},
		"depth":                 {"10000 deep", func(b *Builder) Rule { return ruleOf(b, nestedBody(b, 20_000)) }},
		"many ways to begin":    {"ambiguous", func(b *Builder) Rule { return manyWays(b, 60) }},
		"much left recursion":   {"", func(b *Builder) Rule { return manyLeft(b, 2000) }},
	} {
		b := NewBuilder()
		_, err := b.Build(c.build(b))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %q", name, err, c.says)
		}
	}
}

func ruleOf(b *Builder, is Body) Rule {
	r := b.Rule()
	b.Define(r, is)
	return r
}

func doubled(b *Builder, n int) Body {
	x := b.Alt(re(b, "a"), b.Token(1, false))
	for range n {
		x = b.Seq(x, x)
	}
	return x
}

func nestedBody(b *Builder, n int) Body {
	x := re(b, "a")
	for range n {
		x = b.Seq(x, re(b, "b"))
	}
	return x
}

func manyWays(b *Builder, n int) Rule {
	r := ruleOf(b, b.Repeat(re(b, "x"), 0, 1))
	for range n {
		r = ruleOf(b, b.Seq(b.Call(r), b.Call(r)))
	}
	return r
}

func manyLeft(b *Builder, n int) Rule {
	rules := make([]Rule, n)
	for i := range rules {
		rules[i] = b.Rule()
	}
	for i := range rules {
		b.Define(rules[i], b.Alt(b.Seq(b.Call(rules[(i+1)%n]), re(b, "a")), b.Seq(b.Call(rules[i/2]), re(b, "b")), re(b, "c")))
	}
	return rules[0]
}
