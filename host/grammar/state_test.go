// SPDX-License-Identifier: MIT

package grammar

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// nested is lists of words of lists, so deep as one likes, in which each text has states of its
// own.
func nested(t testing.TB) *Grammar {
	t.Helper()
	b := NewBuilder()
	list := b.Rule()
	word := re(b, "[a-z]{1,40}")
	items := b.Loop(Loop{Items: []Item{{Is: b.Alt(word, b.Call(list)), Bit: -1, Count: 1}}, Separator: re(b, ","), Ends: []Condition{{Min: 1, Max: 9}}})
	b.Define(list, b.Seq(re(b, `\[`), items, re(b, `\]`)))
	return must.Get(b.Build(list))(t)
}

func follow(t testing.TB, g *Grammar, s State, text string) State {
	t.Helper()
	to, ok, err := g.Advance(s, []byte(text))
	if err != nil || !ok {
		t.Fatalf("%q: %v, %v", text, ok, err)
	}
	return to
}

// Equal states have one identity, however they are reached.
func TestState_Equal(t *testing.T) {
	g := nested(t)
	a, b := follow(t, g, g.Start(), "[ab,[c],[["), follow(t, g, g.Start(), "[[z,yy,x],c,[[")
	if a != b {
		t.Error("two states that allow the same differ")
	}
	if c := follow(t, g, g.Start(), "[ab,[[["); a == c {
		t.Error("after one item and after two, the state is the same")
	}
}

// What is known of a state for one vocabulary is not told of another.
func TestGrammar_Mask_OfItsVocabulary(t *testing.T) {
	g := nested(t)
	state := follow(t, g, g.Start(), "[ab")
	for range 2 {
		for pieces, want := range map[[3]string]uint32{{"c", "[", ","}: 0b101, {"[", "]", "c"}: 0b110, {"9", "9", "9"}: 0} {
			v := NewVocabulary([][]byte{[]byte(pieces[0]), []byte(pieces[1]), []byte(pieces[2])}, nil, nil)
			for range 3 {
				mask := make([]uint32, v.Words())
				if err := g.Mask(state, v, mask); err != nil || mask[0] != want {
					t.Errorf("%q: %b, %v; want %b", pieces, mask, err, want)
				}
			}
		}
	}
}

// What a text of any length and a grammar of many states take stays within the bound, and states
// that are held go on as before.
func TestGrammar_Memory_IsBounded(t *testing.T) {
	g := nested(t)
	g.maxStateBytes, g.maxLexemeBytes = 1<<16, 1<<15
	held := map[string]State{}
	text := ""
	s := g.Start()
	for i := range 400 {
		part := fmt.Sprintf("[%c%c,", 'a'+i%26, 'a'+i/26)
		s = follow(t, g, s, part)
		if text += part; i%40 == 0 {
			held[text] = s
		}
		if size := g.table.bytes; size > 2*g.maxStateBytes {
			t.Fatalf("after %d bytes the states take %d", len(text), size)
		}
	}
	if g.generation == 0 {
		t.Error("nothing was forgotten")
	}
	for text, s := range held {
		rest := "z"
		for range len(text) / 4 {
			rest += "]"
		}
		if s := follow(t, g, s, rest); !g.Complete(s) {
			t.Errorf("%d bytes of brackets do not complete a state that was held", len(rest)-1)
		}
	}
}

// Automata that are full begin anew, and states within a lexeme go on in the new ones.
func TestGrammar_Lexemes_BeginAnew(t *testing.T) {
	b := NewBuilder()
	root := b.Rule()
	a := b.Lexemes
	word := a.And(a.Repeat(lexeme.Char, 3, 4000), a.Not(a.Then(lexeme.All, a.Text("xyz"), lexeme.All)))
	b.Define(root, b.Seq(b.Lexeme(word, lexeme.JSONString), re(b, `"`)))
	g := must.Get(b.Build(root))(t)
	g.maxLexemeBytes = 1 << 18
	must.Do(t, g.renewAutomata())
	first, s := g.automata, g.Start()
	for i := range 3000 {
		s = follow(t, g, s, string(rune('a'+i%23)))
	}
	if g.automata == first {
		t.Fatal("the automata did not become full")
	}
	if _, ok, err := g.Advance(s, []byte("xyz")); ok || err != nil {
		t.Errorf("what is forbidden fits after the automata began anew: %v, %v", ok, err)
	}
	if s = follow(t, g, s, `\u0041xy"`); !g.Complete(s) {
		t.Error("the text is not complete")
	}
	if n := g.automata.Size(); n > 2*g.maxLexemeBytes {
		t.Errorf("the automata take %d bytes", n)
	}
}

// Many goroutines follow one grammar, while states are forgotten: each has the same masks as it has
// alone.
func TestGrammar_Hammer(t *testing.T) {
	v := randomVocabulary(steadytest.Rand(t))
	const text = "[ab,[b,[a],ba],b,[[[ab,ba],a]]"
	alone := nested(t)
	var want [][]uint32
	for i := range text {
		mask := make([]uint32, v.Words())
		must.Do(t, alone.Mask(follow(t, alone, alone.Start(), text[:i]), v, mask))
		want = append(want, mask)
	}
	g := nested(t)
	g.maxStateBytes = 1 << 15
	var group sync.WaitGroup
	for k := range 8 {
		group.Go(func() {
			mask := make([]uint32, v.Words())
			for n := range 20 {
				s := g.Start()
				for i := range text {
					if err := g.Mask(s, v, mask); err != nil || !slices.Equal(mask, want[i]) {
						t.Errorf("goroutine %d, turn %d, byte %d: another mask, %v", k, n, i, err)
						return
					}
					if _, err := g.Shortest(s); err != nil {
						t.Error(err)
					}
					s, _, _ = g.Advance(s, []byte{text[i]})
				}
			}
		})
	}
	group.Wait()
}

// A grammar whose readings double with each byte ends in an error, again and again, and quickly
// once it is known.
func TestGrammar_Ambiguous(t *testing.T) {
	b := NewBuilder()
	root := b.Rule()
	a := re(b, "a")
	b.Define(root, b.Alt(b.Seq(a, b.Call(root)), b.Seq(a, b.Call(root), re(b, "b")), b.Seq(a, b.Call(root), re(b, "c")), a))
	g := must.Get(b.Build(root))(t)
	s := g.Start()
	for i := 0; ; i++ {
		to, ok, err := g.Advance(s, []byte("a"))
		if err != nil {
			if i < 8 {
				t.Errorf("it fails after %d bytes", i)
			}
			break
		}
		if s = to; !ok || i > 40 {
			t.Fatal("40 bytes without an error")
		}
	}
	for range 3 {
		if _, _, err := g.Advance(s, []byte("a")); !errors.Is(err, ErrAmbiguous) {
			t.Errorf("got %v", err)
		}
	}
	v := randomVocabulary(steadytest.Rand(t))
	if err := g.Mask(s, v, make([]uint32, v.Words())); !errors.Is(err, ErrAmbiguous) {
		t.Errorf("a mask there: %v", err)
	}
}

// all has every text of three letters as a token.
func all() *Vocabulary {
	var pieces [][]byte
	for i := range 26 * 26 * 26 {
		pieces = append(pieces, []byte{'a' + byte(i%26), 'a' + byte(i/26%26), 'a' + byte(i/26/26)})
	}
	return NewVocabulary(pieces, nil, nil)
}

// Of a lexeme with very many states a mask takes a bounded number of steps, and single tokens can
// be told.
func TestGrammar_Mask_LargeLexeme(t *testing.T) {
	b := NewBuilder()
	a := b.Lexemes
	x := lexeme.All
	for i := range 26 {
		letter := a.Class(lexeme.Range{Low: rune('a' + i), High: rune('a' + i)})
		x = a.And(x, a.Then(lexeme.All, letter, lexeme.All))
	}
	g := must.Get(b.Build(ruleOf(b, b.Lexeme(x, lexeme.UTF8))))(t)
	var pieces [][]byte
	r := steadytest.Rand(t)
	for range 20_000 {
		piece := make([]byte, 12)
		for i := range piece {
			piece[i] = 'a' + byte(r.IntN(26))
		}
		pieces = append(pieces, piece)
	}
	v := NewVocabulary(pieces, nil, nil)
	mask := make([]uint32, v.Words())
	before := g.automata.Spent()
	if err := g.Mask(g.Start(), v, mask); !errors.Is(err, ErrAmbiguous) {
		t.Errorf("got %v", err)
	}
	const oneStep = 400_000
	if n := g.automata.Spent() - before; n > maxWork*lexemeSteps+oneStep {
		t.Errorf("it took %d steps", n)
	}
	clear(mask)
	tokens := []int32{17, 5, 3, 99_999}
	if n, err := g.Few(g.Start(), v, tokens, mask); n != len(tokens) || err != nil || mask[0] != 1<<17|1<<5|1<<3 {
		t.Errorf("it looked at %d tokens, allowed %b, %v", n, mask[0], err)
	}
}

// Few looks at as many tokens as its steps suffice for, and tells of each as Mask does.
func TestGrammar_Few(t *testing.T) {
	g := nested(t)
	v := all()
	s := follow(t, g, g.Start(), "[ab")
	want, got := make([]uint32, v.Words()), make([]uint32, v.Words())
	must.Do(t, g.Mask(s, v, want))
	var tokens []int32
	for i := range int32(v.Len()) {
		tokens = append(tokens, i)
	}
	if n, err := g.Few(s, v, tokens, got); n != v.Len() || err != nil || !slices.Equal(got, want) {
		t.Errorf("of %d tokens others may come than in the mask, %v", n, err)
	}
	if _, err := g.Few(s, v, tokens, got[1:]); err == nil {
		t.Error("a mask too short is taken")
	}
	if err := g.Mask(s, v, got[1:]); err == nil {
		t.Error("a mask too short is taken")
	}
}

// Grammars that are followed at once keep together what they may, and each goes on as it would
// alone.
func TestMemory_BoundsAllTogether(t *testing.T) {
	const most = 6 << 20
	m := NewMemory(most)
	var all []*Grammar
	states := make([]State, 12)
	for i := range states {
		g := nested(t)
		if !m.Add(g) {
			t.Fatal("no room for its rules")
		}
		all, states[i] = append(all, g), g.Start()
	}
	alone, want := nested(t), nested(t).Start()
	largest := 0
	for i := range 900 {
		part := fmt.Sprintf("[%c%c%c,", 'a'+i%26, 'a'+i/26%26, 'a'+i%7)
		for k, g := range all {
			states[k] = follow(t, g, states[k], part)
		}
		if i == 0 {
			want = alone.Start()
		}
		want = follow(t, alone, want, part)
		largest = max(largest, m.Used())
	}
	sum := 0
	for _, g := range all {
		sum += g.Fixed() + g.size()
	}
	if largest > most+len(all)*guaranteedBytes || sum > most+len(all)*(guaranteedBytes+2*reportStep) {
		t.Errorf("they took %d bytes, at the end %d, of %d", largest, sum, most)
	}
	if one := alone.size(); 12*one < 2*most {
		t.Errorf("alone one takes %d bytes: nothing had to be forgotten", one)
	}
	rest := "z"
	for range 900 {
		rest += "]"
	}
	for k, g := range all {
		if s := follow(t, g, states[k], rest); !g.Complete(s) {
			t.Errorf("grammar %d: the text is not complete", k)
		}
	}
	if s := follow(t, alone, want, rest); !alone.Complete(s) {
		t.Error("alone: the text is not complete")
	}
}

// A grammar counts until it is removed.
func TestMemory_Remove(t *testing.T) {
	one := nested(t).Fixed()
	m := NewMemory(7 * one) // half of it is for rules
	var all []*Grammar
	for len(all) < 10 {
		g := nested(t)
		if !m.Add(g) {
			break
		}
		all = append(all, g)
	}
	if len(all) != 3 {
		t.Fatalf("room for %d", len(all))
	}
	follow(t, all[1], all[1].Start(), "[[[[")
	for i, g := range all {
		if m.Add(nested(t)) {
			t.Fatalf("room for another while %d count", len(all)-i)
		}
		if m.Remove(g); !m.Add(g) {
			t.Fatal("no room in the place of the removed one")
		}
	}
	for _, g := range all {
		m.Remove(g)
	}
	if m.Used() != 0 {
		t.Errorf("%d bytes count that nobody has", m.Used())
	}
}
