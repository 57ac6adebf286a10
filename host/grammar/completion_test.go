// SPDX-License-Identifier: MIT

package grammar

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// From the least number of tokens on that Rest tells, any walk among the tokens that
// MaskCompletable leaves is complete in time, and it leaves all tokens after which Within says
// that the rest fits.
func TestGrammar_MaskCompletable_EveryWalkIsComplete(t *testing.T) {
	r := steadytest.Rand(t)
	walked := 0
	for i := range 60 {
		b := NewBuilder()
		g, err := b.Build(randomGrammar(b, r))
		if err != nil {
			continue
		}
		if i%3 == 0 {
			g.maxStateBytes = 1 << 12
		}
		v := randomVocabulary(r)
		if i%2 == 0 {
			v = bytesVocabulary(r)
		}
		least, err := g.Rest(g.Start(), v)
		if err != nil {
			continue
		}
		for more := range 4 {
			walked += walkWithin(t, g, v, r, least+more*more, fmt.Sprint("grammar ", i))
		}
	}
	if walked < 100 {
		t.Errorf("only %d tokens were walked", walked)
	}
}

func walkWithin(t *testing.T, g *Grammar, v *Vocabulary, r *rand.Rand, tokens int, where string) int {
	t.Helper()
	s, mask := g.Start(), make([]uint32, v.Words())
	for left := tokens; left > 0; left-- {
		known := reachOf(t, g, v, s)
		fits, err := g.MaskCompletable(s, v, left, mask)
		if errors.Is(err, ErrAmbiguous) {
			return tokens - left
		}
		if err != nil || !fits {
			t.Fatalf("%s: %d of %d tokens left: %v, %v", where, left, tokens, fits, err)
		}
		var next []State
		finding := newCompletions(g, v)
		for token := range int32(v.Len()) {
			to, ok, err := g.Token(s, v, token)
			if err != nil {
				return tokens - left
			}
			if ok && !v.isEnd[token] {
				finding.work.left = maxWork
				if ok, err = finding.completesWithin(to.node, left-1); err != nil {
					return tokens - left
				}
			}
			in := mask[token/32]>>(token%32)&1 == 1
			if whole := reachOf(t, g, v, s) != known; in != ok && (in || whole) { // else it takes too many steps to tell of all
				t.Fatalf("%s: %d of %d tokens left, token %d %q: in the mask %v, fits %v", where, left, tokens, token, v.pieces[token], in, ok)
			}
			if in && !v.isEnd[token] {
				next = append(next, to)
			}
		}
		if len(next) == 0 {
			if !g.Complete(s) {
				t.Fatalf("%s: nothing may come", where)
			}
			return tokens - left
		}
		s = next[r.IntN(len(next))]
	}
	if !g.Complete(s) {
		t.Fatalf("%s: not complete after %d tokens", where, tokens)
	}
	return tokens
}

// reachOf is what is kept of a whole mask.
func reachOf(t *testing.T, g *Grammar, v *Vocabulary, s State) *reach {
	t.Helper()
	if s.node.takesToken() {
		return s.node.reach.Load()
	}
	n := must.Get(newCompletions(g, v).shadow(s.node))(t)
	return n.reach.Load()
}

// bytesVocabulary has a token for each byte, and a few longer ones.
func bytesVocabulary(r *rand.Rand) *Vocabulary {
	pieces := make([][]byte, 320)
	for i := range pieces {
		if i < 256 {
			pieces[i] = []byte{byte(i)}
			continue
		}
		for range 2 + r.IntN(4) {
			pieces[i] = append(pieces[i], "ab,é\"0"[r.IntN(7)])
		}
	}
	pieces[319] = nil
	return NewVocabulary(pieces, []int32{319}, nil)
}

// Rest counts tokens, not bytes, and where a vocabulary has no tokens for a text it says so.
func TestGrammar_Rest_CountsTokens(t *testing.T) {
	for name, c := range map[string]struct {
		is     func(b *Builder) Body
		pieces []string
		want   int
		err    error
	}{
		"the longest tokens":      {func(b *Builder) Body { return re(b, `"name": 0`) }, []string{`"`, `"na`, "name", "me", `": `, "0"}, 4, nil},
		"a token by its number":   {func(b *Builder) Body { return b.Seq(re(b, "0"), b.Token(1, false), re(b, "me")) }, []string{"0", "a long text", "me"}, 3, nil},
		"of two, what is spelt":   {func(b *Builder) Body { return re(b, "[ab]") }, []string{"b", "x"}, 1, nil},
		"no token for a byte":     {func(b *Builder) Body { return re(b, "ax") }, []string{"a", "b"}, 0, ErrUnspelled},
		"what may be empty":       {func(b *Builder) Body { return re(b, "a*") }, []string{"b"}, 0, nil},
		"a token across lexemes":  {func(b *Builder) Body { return b.Seq(re(b, "{"), re(b, "}")) }, []string{"{", "}", "{}"}, 1, nil},
		"counted, not written":    {func(b *Builder) Body { return re(b, "a{300}") }, []string{"a", "aaaaaaaaaa"}, 30, nil},
		"a number among few left": {func(b *Builder) Body { return re(b, "1[0-9]{3}") }, []string{"1", "00", "0"}, 3, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBuilder()
			root := b.Rule()
			b.Define(root, c.is(b))
			g := must.Get(b.Build(root))(t)
			var pieces [][]byte
			for _, p := range c.pieces {
				pieces = append(pieces, []byte(p))
			}
			v := NewVocabulary(pieces, nil, nil)
			n, err := g.Rest(g.Start(), v)
			if !errors.Is(err, c.err) || err == nil && n != c.want {
				t.Errorf("it takes %d tokens, %v, want %d, %v", n, err, c.want, c.err)
			}
		})
	}
}

// As many tokens as Rest tells complete the text, also where it is not known how long a text must
// be of which there are enough.
func TestGrammar_Completes_WithAsManyAsRest(t *testing.T) {
	b := NewBuilder()
	root := b.Rule()
	b.Define(root, b.Loop(Loop{Items: []Item{
		{Is: re(b, ";"), Bit: -1, Count: 1, Unique: &Unique{Text: exprOf(b, "(é|ü){1,20}"), Decoder: lexeme.UTF8}},
	}, Ends: []Condition{{Min: 2, Max: lexeme.Unbounded}}}))
	g := must.Get(b.Build(root))(t)
	v := bytesVocabulary(steadytest.Rand(t))
	for text := ""; text != "é;éé;"; {
		s := follow(t, g, g.Start(), text)
		n := must.Get(g.Rest(s, v))(t)
		for tokens, want := range map[int]bool{n - 1: false, n: true, n + 1: true} {
			if fits, err := g.Completes(s, v, tokens); fits != want || err != nil {
				t.Errorf("%q: %d of %d tokens complete it: %v, %v", text, tokens, n, fits, err)
			}
		}
		text = "é;éé;"[:len(text)+1]
	}
}

// A text has ended where it is complete and nothing may follow; it is over where nothing but white
// space may follow, however far one looks, also where that leads back to the same state.
func TestGrammar_Over(t *testing.T) {
	pattern := func(p string) func(b *Builder) Body { return func(b *Builder) Body { return re(b, p) } }
	call := func(b *Builder) Body {
		space := re(b, `[ \t\n]{0,40}`)
		return b.Alt(b.Seq(re(b, "c+"), b.Repeat(b.Seq(re(b, " "), re(b, "x")), 0, 1), space), re(b, "[^c]*"))
	}
	type verdict struct{ ended, over bool }
	for _, c := range []struct {
		body  func(b *Builder) Body
		texts map[string]verdict
	}{
		{pattern("ab?"), map[string]verdict{"": {}, "a": {}, "ab": {true, true}}},
		{pattern("xa*"), map[string]verdict{"xaaa": {}}},
		{pattern(`x[ \n]*`), map[string]verdict{"x ": {false, true}}},
		{pattern("x( a?)*"), map[string]verdict{"x a a": {}}},
		{call, map[string]verdict{"": {}, "t": {}, "c": {}, "c ": {}, "c x": {false, true}, "c x ": {false, true}, "c x \n": {false, true}}},
	} {
		b := NewBuilder()
		root := b.Rule()
		b.Define(root, c.body(b))
		g := must.Get(b.Build(root))(t)
		for text, want := range c.texts {
			s, fits, err := g.Advance(g.Start(), []byte(text))
			if got := (verdict{g.Ended(s), g.Over(s)}); err != nil || !fits || got != want {
				t.Errorf("%q: ended and over are %v, want %v; fits %v, %v", text, got, want, fits, err)
			}
		}
	}
}

func TestGrammar_Forced(t *testing.T) {
	g := checkTexts(t, nil, func(b *Builder, _ Body) Body {
		return b.Alt(b.Seq(re(b, "name: é"), re(b, "[xy]"), b.Token(3, false)), re(b, "name: è."))
	})
	s := g.Start()
	for _, want := range []string{"name: \xc3", "", ""} {
		forced := g.Forced(s, 1000, maxWork)
		if string(forced) != want {
			t.Errorf("got %q, want %q", forced, want)
		}
		if want != "" {
			s = follow(t, g, s, want+"\xa9")
		} else {
			s = follow(t, g, g.Start(), "name: éx") // a token comes for its number
		}
	}
}

// With few steps and bytes, what is told of the bytes that must come is a beginning of them.
func TestGrammar_Forced_TellsABeginning(t *testing.T) {
	b := NewBuilder()
	long := strings.Repeat("abc", 200)
	root := b.Rule()
	b.Define(root, b.Seq(re(b, long), re(b, "[xy]")))
	g := must.Get(b.Build(root))(t)
	some := g.Forced(g.Start(), 1000, 300)
	if len(some) == 0 || len(some) >= len(long) || !strings.HasPrefix(long, string(some)) {
		t.Errorf("with few steps %q", some)
	}
	if few := g.Forced(g.Start(), 7, maxWork); string(few) != long[:7] {
		t.Errorf("at most 7 bytes: %q", few)
	}
	if all := g.Forced(g.Start(), 1000, maxWork); string(all) != long {
		t.Errorf("%d bytes of %d", len(all), len(long))
	}
}

func TestVocabulary_Longer(t *testing.T) {
	v := NewVocabulary([][]byte{[]byte("ab"), []byte("abc"), []byte("b"), nil, []byte("zz")}, []int32{4}, nil)
	for text, want := range map[string]bool{"": true, "a": true, "ab": true, "abc": false, "abd": false, "b": false, "z": false, "zz": false} {
		if got := v.Longer([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
