// SPDX-License-Identifier: MIT

package grammar

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// uniqueStrings is lists of different JSON strings of a pattern, and of different digits.
func uniqueStrings(t testing.TB, pattern string) *Grammar {
	t.Helper()
	b := NewBuilder()
	root := b.Rule()
	quote := re(b, `"`)
	items := b.Loop(Loop{Separator: re(b, ","), Items: []Item{
		{Is: quote, Bit: -1, Unique: &Unique{Before: quote, Text: exprOf(b, pattern), Decoder: lexeme.JSONString}},
		{Is: b.Seq(), Bit: -1, Unique: &Unique{Text: exprOf(b, `0|[1-9][0-9]*`), Decoder: lexeme.UTF8, Set: 1}},
	}})
	b.Define(root, b.Seq(re(b, `\[`), items, re(b, `\]`)))
	return must.Get(b.Build(root))(t)
}

// What a text means counts, not how it is spelled, and each set by itself.
func TestLoop_Unique(t *testing.T) {
	g := uniqueStrings(t, `.*`)
	for text, want := range map[string]bool{
		`["a","b","ab",""]`:    true,
		`["a","a"]`:            false,
		`["a","b","a"]`:        false,
		`["","a",""]`:          false,
		`["a","\u0061"]`:       false,
		`["é","\u00e9"]`:       false,
		`["\ud83d\ude00","😀"]`: false,
		`["\n","\u000A"]`:      false,
		`["\n","\\n"]`:         true,
		`["1",1,11,"11",111]`:  true,
		`[1,12,1]`:             false,
		`[1,11,111,1111,1]`:    false,
		`["` + strings.Repeat("a", 9) + `","` + strings.Repeat("a", 8) + `"]`: true,
	} {
		s, fits, err := g.Advance(g.Start(), []byte(text))
		if err != nil || (fits && g.Complete(s)) != want {
			t.Errorf("%s fits: %v, want %v; %v", text, fits && g.Complete(s), want, err)
		}
	}
}

// A text that begins as one that came goes on only where another can come of it.
func TestLoop_Unique_LeadsNowhereElse(t *testing.T) {
	g := uniqueStrings(t, `a|[bc].*`)
	s := follow(t, g, g.Start(), `["b","a","`)
	for next, want := range map[string]bool{"a": false, "b": true, "c": true, `\u0061`: false, `\u00`: true, `"`: false} {
		if _, fits, err := g.Advance(s, []byte(next)); fits != want || err != nil {
			t.Errorf("%s may come: %v, want %v; %v", next, fits, want, err)
		}
	}
}

// Texts that differ in nothing but what they have seen share their masks, and keep no states of
// their own.
func TestGrammar_Unique_SharesMasks(t *testing.T) {
	g := uniqueStrings(t, `.*`)
	v := randomVocabulary(steadytest.Rand(t))
	mask, other := make([]uint32, v.Words()), make([]uint32, v.Words())
	walk := func(words ...string) {
		t.Helper()
		text := `["` + strings.Join(words, `","`) + `"`
		s := g.Start()
		for i := range text {
			must.Do(t, g.Mask(s, v, mask))
			s = follow(t, g, s, text[i:i+1])
		}
	}
	count := func() (n int) {
		for _, same := range g.table.nodes {
			n += len(same)
		}
		return n
	}
	walk("ab", "ba", "x")
	before := count()
	for i := range 20 {
		walk(fmt.Sprint("b0", i), "1x", fmt.Sprint("a", i))
	}
	// A state differs where a text has the same beginning as one that came.
	if n := count(); n > before+100 {
		t.Errorf("%d states were kept for one text, %d for twenty more", before, n)
	}
	a, b := follow(t, g, g.Start(), `["ab","0`), follow(t, g, g.Start(), `["xx","0`)
	must.Do(t, g.Mask(a, v, mask))
	if err := g.Mask(b, v, other); err != nil || !slices.Equal(mask, other) {
		t.Errorf("masks differ behind different texts: %v", err)
	}
}

// members is an object with so many listed names, of which the first ones must be there, and any
// others.
func members(t testing.TB, names, needed int) *Grammar {
	t.Helper()
	b := NewBuilder()
	root := b.Rule()
	quote := re(b, `"`)
	var listed []lexeme.Expr
	l, end := Loop{Separator: re(b, ",")}, Condition{Max: lexeme.Unbounded}
	for i := range names {
		name := fmt.Sprintf("item %d of the catalogue", i*7919%names)
		listed = append(listed, b.Lexemes.Text(name))
		l.Items = append(l.Items, Item{Is: re(b, `"`+name+`":[0-9]`), Bit: i, Once: true})
		if i < needed {
			end.Must = append(end.Must, i)
		}
	}
	others := b.Lexemes.Not(b.Lexemes.Or(listed...))
	l.Items = append(l.Items, Item{Is: re(b, `":[0-9]`), Bit: -1, Unique: &Unique{Before: quote, Text: others, Decoder: lexeme.JSONString}})
	l.Ends = []Condition{end}
	b.Define(root, b.Seq(re(b, `\{`), b.Loop(l), re(b, `\}`)))
	return must.Get(b.Build(root))(t)
}

// How a text can be completed, and which tokens leave enough for that, is found once for all texts
// that differ in nothing but what they have seen.
func TestGrammar_Unique_SharesCompletions(t *testing.T) {
	g := members(t, 100, 5)
	v := bytesVocabulary(steadytest.Rand(t))
	walk := func(text string) {
		t.Helper()
		s, mask := g.Start(), make([]uint32, v.Words())
		for i := range text {
			n := must.Get(g.Rest(s, v))(t)
			if fits, err := g.MaskCompletable(s, v, n+4, mask); !fits || err != nil {
				t.Fatalf("%q: %v, %v", text[:i], fits, err)
			}
			s = follow(t, g, s, text[i:i+1])
		}
	}
	count := func() (n int) {
		for _, same := range g.table.nodes {
			n += len(same)
		}
		return n
	}
	walk(`{"ab":1,"ba":2,"x`)
	before := count()
	for i := range 20 {
		walk(fmt.Sprintf(`{"k%c":3,"%d0":4,"t`, 'a'+i, i))
	}
	if n := count(); n > before+20*20 {
		t.Errorf("%d states were kept for one text, %d for twenty more", before, n)
	}
	s := follow(t, g, g.Start(), `{"another":1,"name":2,"`)
	r := newCompletions(g, v)
	if _, err := r.find(s.node); err != nil || r.work.left < maxWork-2000 {
		t.Errorf("it took %d steps to complete a text like others: %v", maxWork-r.work.left, err)
	}
}

// How an object of many names can be completed is found within the bound of an operation.
func TestGrammar_Rest_ManyNames(t *testing.T) {
	g := members(t, 1250, 20)
	v := bytesVocabulary(steadytest.Rand(t))
	for _, text := range []string{"", `{"`, `{"item 7 of the catalogue":1,"other":2,"`, `{"other":1,"oth`} {
		s := follow(t, g, g.Start(), text)
		r := newCompletions(g, v)
		if is, err := r.find(s.node); err != nil || is.tokens == never {
			t.Errorf("after %q: %v", text, err)
		}
	}
}

// What many texts take stays within the bound, and states that are held go on as before.
func TestGrammar_Unique_MemoryIsBounded(t *testing.T) {
	g := uniqueStrings(t, `.*`)
	s := follow(t, g, g.Start(), "[")
	held := map[int]State{}
	for i := range 1500 {
		if s = follow(t, g, s, fmt.Sprintf(`"text %d",`, i)); i%100 == 0 {
			held[i] = s
		}
		if n := g.privateTable.bytes; n > 2*maxPrivateBytes {
			t.Fatalf("after %d texts the private states take %d bytes", i, n)
		}
	}
	if g.privateGeneration == 1 {
		t.Error("nothing was forgotten")
	}
	for i, s := range held {
		if i < MaxUnique {
			if _, fits, err := g.Advance(s, fmt.Appendf(nil, `"text %d"`, i)); fits || err != nil {
				t.Errorf("text %d may come again: %v", i, err)
			}
		}
		if s := follow(t, g, s, `"another"]`); !g.Complete(s) {
			t.Errorf("the list does not end after text %d", i)
		}
	}
}

// A unique text that could be read as nothing, or of which there is only one, is refused.
func TestBuilder_Unique_Refused(t *testing.T) {
	for name, u := range map[string]*Unique{
		"may be empty": {Text: lexeme.All},
		"only one":     {Text: lexeme.Empty},
		"none":         {Text: lexeme.Nothing},
	} {
		b := NewBuilder()
		root := b.Rule()
		b.Define(root, b.Loop(Loop{Items: []Item{{Is: re(b, "a"), Bit: -1, Unique: u}}}))
		if _, err := b.Build(root); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Many goroutines write different texts in one grammar, while states are forgotten: each has the
// masks that it has alone.
func TestGrammar_Unique_Hammer(t *testing.T) {
	v := randomVocabulary(steadytest.Rand(t))
	texts := make([]string, 8)
	want := make([][][]uint32, len(texts))
	for k := range texts {
		texts[k] = fmt.Sprintf(`["a%d","ab","b%d0","a",%d,"b"`, k, k, k)
		alone := uniqueStrings(t, `.*`)
		for i := range texts[k] {
			mask := make([]uint32, v.Words())
			must.Do(t, alone.Mask(follow(t, alone, alone.Start(), texts[k][:i]), v, mask))
			want[k] = append(want[k], mask)
		}
	}
	g := uniqueStrings(t, `.*`)
	g.maxStateBytes = 1 << 15
	var group sync.WaitGroup
	for k, text := range texts {
		group.Go(func() {
			mask := make([]uint32, v.Words())
			for n := range 5 {
				s := g.Start()
				for i := range text {
					if err := g.Mask(s, v, mask); err != nil || !slices.Equal(mask, want[k][i]) {
						t.Errorf("goroutine %d, turn %d, byte %d: another mask, %v", k, n, i, err)
						return
					}
					s, _, _ = g.Advance(s, []byte{text[i]})
				}
			}
		})
	}
	group.Wait()
}
