// SPDX-License-Identifier: MIT

package grammar

import (
	"regexp"
	"testing"
	"unicode/utf8"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

func re(b *Builder, text string) Body {
	x := lexeme.Expr(100 + len(standIn))
	standIn[x] = text
	return b.Lexeme(x, lexeme.UTF8)
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
	t.Log(g.Shortest(g.Start()))
	for text, want := range map[string]bool{"{}": false, "{a}": false, "{a,b}": true, "{b,aa}": true, "{d,d,a}": true, "{d,d,b,a}": false, "{d,d,c}": true, "{d,d,d}": false, "{a,a}": false, "{b,d,c}": true, "{b,d,a,c}": false} {
		if fits(t, g, text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	for _, text := range []string{"{", "{a", "{a,", "{b,d", "{b,d,", "{d,d,"} {
		s, ok, err := g.Advance(g.Start(), []byte(text))
		f, _ := g.Forced(s)
		t.Log(text, ok, err, g.Shortest(s), string(f))
	}
}

var standRE = map[string]*regexp.Regexp{}

func matches(t *testing.T, b *Builder, w word, text string) bool {
	src := standIn[w.is]
	if standRE[src] == nil {
		standRE[src] = regexp.MustCompile("^(?s:" + src + ")$")
	}
	return utf8.ValidString(text) && standRE[src].MatchString(text)
}
