// SPDX-License-Identifier: MIT

package native

import (
	"slices"
	"strings"
	"testing"
)

// tests/real compares with transformers; this shows each rule by itself.
func TestWordPiece_Words(t *testing.T) {
	for _, c := range []struct {
		text, plain, cased string
	}{
		{"", "", ""},
		{" \n\t", "", ""},
		{"A frog", "a|frog", "A|frog"},
		{"don't, well-known", "don|'|t|,|well|-|known", "don|'|t|,|well|-|known"},
		{"a<b $5 \u20ac5", "a|<|b|$|5|\u20ac5", "a|<|b|$|5|\u20ac5"},
		{"caf\u00e9 cafe\u0301", "cafe|cafe", "caf\u00e9|cafe\u0301"},
		{"\u0130x", "ix", "\u0130x"},
		{"\ud55c\uad6d", "\u1112\u1161\u11ab\u1100\u116e\u11a8", "\ud55c\uad6d"}, // composed, and not
		{"\u0939\u093f\u0928\u094d", "\u0939\u093f\u0928", "\u0939\u093f\u0928\u094d"},
		{"x\u4e16\u754cy", "x|\u4e16|\u754c|y", "x|\u4e16|\u754c|y"},
		{"a\u200bb\x00c\x0bd\ufffde\ue000f", "abcdef", "abcdef"},
		{"a\u00a0b\u2028c", "a|b|c", "a|b|c"},
		{"a\xffb", "ab", "ab"},
	} {
		words := func(w *wordPiece) string {
			return strings.ReplaceAll(strings.Join(slices.Collect(w.words(c.text)), "|"), " ", "")
		}
		if got := words(&wordPiece{lower: true, noAccents: true}); got != c.plain {
			t.Errorf("%q: %q, want %q", c.text, got, c.plain)
		}
		if got := words(&wordPiece{}); got != c.cased {
			t.Errorf("%q, cased: %q, want %q", c.text, got, c.cased)
		}
	}
	if got := slices.Collect((&wordPiece{lower: true}).words("\u0130")); !slices.Equal(got, []string{" i\u0307"}) {
		t.Errorf("%q", got)
	}
}

func TestWordPiece_Append(t *testing.T) {
	w := &wordPiece{tokens: map[string]int32{" fro": 1, " frog": 2, "s": 3, "ging": 4, "g": 5, " ": 6, " \u00df": 7}, longest: 5, unknown: 9}
	for text, want := range map[string][]int32{
		"frog": {2}, "frogs": {2, 3}, "frogging": {2, 4}, "gs": {6, 5, 3}, "frogx": {9}, "x frogs x": {9, 2, 3, 9}, "\u00df": {7},
		"fro" + strings.Repeat("g", 97): append([]int32{2}, slices.Repeat([]int32{5}, 96)...), "fro" + strings.Repeat("g", 98): {9},
	} {
		if got, err := w.append(t.Context(), nil, text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	if tokens, err := w.append(t.Context(), nil, strings.Repeat("\u0301", 1<<20)); err != nil || !slices.Equal(tokens, []int32{9}) {
		t.Errorf("%d tokens, %v", len(tokens), err)
	}
}
