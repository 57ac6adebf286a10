// SPDX-License-Identifier: MIT

package lexeme

import (
	"slices"
	"testing"
)

func TestArena_Match_Cases(t *testing.T) {
	a := NewArena(100_000)
	letter, digit := a.Class(Range{'a', 'z'}), a.Class(Range{'0', '9'})
	has := func(x Expr) Expr { return a.Then(All, x, All) }
	for name, c := range map[string]struct {
		x       Expr
		yes, no []string
	}{
		"nothing":      {Nothing, nil, []string{"", "a"}},
		"text":         {a.Text("häß"), []string{"häß"}, []string{"", "hä", "häßl"}},
		"repeat":       {a.Repeat(letter, 2, 3), []string{"ab", "abc"}, []string{"a", "abcd", "a1"}},
		"intersection": {a.And(has(letter), has(digit), a.Repeat(Char, 0, 3)), []string{"a1", "1xa"}, []string{"a", "1", "aaa1"}},
		"complement":   {a.And(a.Repeat(letter, 1, Unbounded), a.Not(a.Or(a.Text("foo"), a.Text("bar")))), []string{"fo", "fooo", "ba"}, []string{"foo", "bar", ""}},
		"nested":       {a.Repeat(a.Then(a.Repeat(letter, 1, 3), digit), 2, 2), []string{"a1bcd2"}, []string{"a1", "abcd1a2"}},
		"empty or":     {a.Repeat(a.Or(a.Text("ab"), a.Text("c")), 0, 1), []string{"", "ab", "c"}, []string{"a", "abc"}},
	} {
		for _, s := range c.yes {
			if ok, err := a.Match(c.x, s); !ok || err != nil {
				t.Errorf("%s: %q does not match: %v", name, s, err)
			}
		}
		for _, s := range c.no {
			if ok, err := a.Match(c.x, s); ok || err != nil {
				t.Errorf("%s: %q matches: %v", name, s, err)
			}
		}
	}
	if a.Err() != nil {
		t.Fatal(a.Err())
	}
}

func TestArena_Texts_AreAllOfFewOnes(t *testing.T) {
	a := NewArena(100_000)
	letters := a.Class(Range{'a', 'c'})
	for name, c := range map[string]struct {
		x    Expr
		most int
		want []string // nil: there are more
	}{
		"none":               {Nothing, 3, []string{}},
		"the empty one":      {Empty, 1, []string{""}},
		"one too many":       {letters, 2, nil},
		"as many as may be":  {letters, 3, []string{"a", "b", "c"}},
		"two lengths":        {a.Then(letters, a.Or(Empty, a.Text("é"))), 6, []string{"a", "b", "c", "aé", "bé", "cé"}},
		"but for some":       {a.And(letters, a.Not(a.Text("b"))), 3, []string{"a", "c"}},
		"without an end":     {a.Then(a.Repeat(a.Text("a"), 0, Unbounded), a.Text("b")), 50, nil},
		"around surrogates":  {a.Class(Range{firstSurrogate - 1, lastSurrogate + 1}), 2, []string{"\uD7FF", "\uE000"}},
		"a large class":      {Char, 1000, nil},
		"what cannot end":    {a.And(a.Repeat(letters, 0, Unbounded), a.Not(a.Repeat(letters, 0, Unbounded))), 9, []string{}},
		"a class, then more": {a.Then(a.Text("x"), a.Repeat(letters, 2, 2)), 8, nil},
	} {
		texts, all, err := a.Texts(c.x, c.most)
		slices.Sort(texts)
		slices.Sort(c.want)
		if err != nil || all != (c.want != nil) || all && !slices.Equal(texts, c.want) {
			t.Errorf("%s: %q, all: %v, %v; want %q", name, texts, all, err, c.want)
		}
	}
}

// Within so many bytes there are so many texts, and with one byte less there are not.
func TestArena_Plenty(t *testing.T) {
	a := NewArena(100_000)
	digits := a.Class(Range{'0', '9'})
	for name, c := range map[string]struct {
		x     Expr
		count int
		want  int // below 0: there are not so many
	}{
		"digits":           {a.Repeat(digits, 0, Unbounded), 11, 1},
		"one digit more":   {a.Repeat(digits, 0, Unbounded), 12, 2},
		"behind a text":    {a.Then(a.Text("abc"), a.Repeat(digits, 1, Unbounded)), 10, 4},
		"not so many":      {digits, 11, -1},
		"only by a quote":  {a.Then(a.Text(`"`), a.Repeat(digits, 1, Unbounded)), 5, -1},
		"all of a class":   {digits, 10, 1},
		"among long texts": {a.Repeat(digits, 200, Unbounded), 1000, 200},
	} {
		got, ok := a.Plenty(c.x, c.count)
		if ok != (c.want >= 0) || ok && got != c.want {
			t.Errorf("%s: %d, %v; want %d", name, got, ok, c.want)
		}
	}
}

// A text that is left out cannot be written in any spelling; those that begin with it can.
func TestAutomata_Without(t *testing.T) {
	a := NewArena(10_000)
	x, two := a.Repeat(Char, 0, Unbounded), a.Class(Range{'a', 'b'})
	auto := NewAutomata(a, 1<<20)
	s, err := auto.Without(x, []string{"é\n", "", "ab"}, JSONString)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"": false, `a`: true, `ab`: false, `\u0061b`: false, `abc`: true, `é`: true, `é\n`: false, `\u00E9\u000a`: false, `é\n\n`: true} {
		at := s
		for _, b := range []byte(text) {
			if at, err = auto.Next(at, b); err != nil {
				t.Fatal(err)
			}
		}
		if got := auto.Accepts(at); got != want {
			t.Errorf("%s is a whole text: %v, want %v", text, got, want)
		}
	}
	if s, err := auto.Without(two, []string{"a", "b"}, UTF8); s != Dead || err != nil {
		t.Errorf("without all its texts, something goes on: %d, %v", s, err)
	}
}
