// SPDX-License-Identifier: MIT

package lexeme

import "testing"

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
