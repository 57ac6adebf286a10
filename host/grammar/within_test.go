// SPDX-License-Identifier: MIT

package grammar

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// However few steps an operation is given, it has the result that it has with all of them, or none
// yet; and what it has found out is kept, so that it has one in the end.
func TestGrammar_Within_SameResultOrNone(t *testing.T) {
	r := steadytest.Rand(t)
	v := randomVocabulary(r)
	later, same := 0, 0
	for range 300 {
		seed := r.Uint64()
		build := func() *Grammar {
			b := NewBuilder()
			g, err := b.Build(randomGrammar(b, rand.New(rand.NewPCG(seed, 1))))
			if err != nil {
				return nil
			}
			return g
		}
		g, whole := build(), build()
		if g == nil {
			continue
		}
		s, want := g.Start(), whole.Start()
		for range 6 {
			mask, full := make([]uint32, v.Words()), make([]uint32, v.Words())
			wantErr := whole.Mask(want, v, full)
			err := ErrLater
			for steps := 1; errors.Is(err, ErrLater) && steps < 2*maxWork; steps *= 2 {
				if err = g.MaskWithin(s, v, mask, steps); errors.Is(err, ErrLater) {
					later++
				}
			}
			if wantErr != nil {
				break // what takes too long may be told in either way
			}
			if same++; err != nil || !slices.Equal(mask, full) {
				t.Fatalf("seed %d: the mask differs, %v", seed, err)
			}
			token := int32(r.IntN(v.Len()))
			to, ok, err := g.TokenWithin(s, v, token, 1+r.IntN(50))
			if errors.Is(err, ErrLater) {
				to, ok, err = g.Token(s, v, token)
			}
			next, wantOK, wantErr := whole.Token(want, v, token)
			if ok != wantOK || (err == nil) != (wantErr == nil) {
				t.Fatalf("seed %d: token %d: %v, %v; with all steps %v, %v", seed, token, ok, err, wantOK, wantErr)
			}
			if !ok {
				break
			}
			s, want = to, next
		}
	}
	if later < 100 || same < 100 {
		t.Errorf("%d had no result, %d had one", later, same)
	}
}

// hostile grammars are small to write and take long to follow: their first masks, or their states
// after a text.
func hostile(t *testing.T) map[string]func(b *Builder) (Rule, string) {
	t.Helper()
	letters := func(b *Builder, n int) Body {
		x := lexeme.All
		for i := range n {
			letter := b.Lexemes.Class(lexeme.Range{Low: rune('a' + i), High: rune('a' + i)})
			x = b.Lexemes.And(x, b.Lexemes.Then(lexeme.All, letter, lexeme.All))
		}
		return b.Lexeme(x, lexeme.UTF8)
	}
	return map[string]func(b *Builder) (Rule, string){
		"all letters": func(b *Builder) (Rule, string) { return ruleOf(b, letters(b, 26)), "" },
		"readings double": func(b *Builder) (Rule, string) {
			root := b.Rule()
			a := re(b, "a")
			b.Define(root, b.Alt(b.Seq(a, b.Call(root)), b.Seq(a, b.Call(root), re(b, "b")), b.Seq(a, b.Call(root), re(b, "c")), a))
			return root, "aaaaaaaa"
		},
		"words of many lengths": func(b *Builder) (Rule, string) {
			var all []Body
			for n := range 800 {
				all = append(all, re(b, "[a-z]{"+string(rune('0'+n%9))+",}"+strings.Repeat("x", n%50)))
			}
			return ruleOf(b, b.Alt(all...)), ""
		},
		"members in any order": func(b *Builder) (Rule, string) {
			var items []Item
			for i := range 200 {
				items = append(items, Item{Is: re(b, "[a-z]*"+string(rune('a'+i%26))), Bit: i, Once: true})
			}
			return ruleOf(b, b.Loop(Loop{Items: items, Separator: re(b, "z?")})), "a"
		},
		"deep": func(b *Builder) (Rule, string) {
			root := b.Rule()
			b.Define(root, b.Alt(b.Seq(re(b, "a"), b.Call(root), re(b, "[a-z]*")), re(b, "[a-z]+")))
			return root, strings.Repeat("a", 100)
		},
	}
}

// What takes long ends soon with few steps: it takes not many more, and makes not many more states.
func TestGrammar_Within_Hostile_TakesFewSteps(t *testing.T) {
	const steps = 1500
	v := all()
	for name, of := range hostile(t) {
		t.Run(name, func(t *testing.T) {
			b := NewBuilder()
			root, text := of(b)
			g := must.Get(b.Build(root))(t)
			s, ok, err := g.Advance(g.Start(), []byte(text))
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			later := false
			for range 50 {
				spent, kept := g.automata.Spent(), g.table.bytes
				err := g.MaskWithin(s, v, make([]uint32, v.Words()), steps)
				later = later || errors.Is(err, ErrLater)
				if err != nil && !errors.Is(err, ErrLater) {
					break // that it is too ambiguous is known now
				}
				if n := g.automata.Spent() - spent; n > 3*steps*lexemeSteps {
					t.Fatalf("%d steps of automata", n)
				}
				if n := g.table.bytes - kept; n > 1000*steps {
					t.Fatalf("%d bytes of states", n)
				}
			}
			if !later {
				t.Error("it is not hostile")
			}
		})
	}
}

// A caller that cannot wait does not wait for an operation that takes long.
func TestGrammar_Within_DoesNotWait(t *testing.T) {
	g := nested(t)
	v := all()
	w := fullWork()
	must.Do(t, g.lock(w))
	g.long.Store(true)
	mask := make([]uint32, v.Words())
	if err := g.MaskWithin(g.Start(), v, mask, 1000); !errors.Is(err, ErrLater) {
		t.Errorf("while another takes long: %v", err)
	}
	g.unlock()
	if err := g.MaskWithin(g.Start(), v, mask, 100_000); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
