// SPDX-License-Identifier: MIT

package lexeme

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"
	"unicode/utf8"

	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// naive is an expression as a test of texts, by definition and without any simplification.
type naive func(text []rune) bool

// randomExpr draws an expression over few characters, and the same as a naive test.
func randomExpr(r *rand.Rand, a *Arena, depth int) (Expr, naive, string) {
	if depth == 0 || r.IntN(8) == 0 {
		switch r.IntN(5) {
		case 0:
			return Empty, func(s []rune) bool { return len(s) == 0 }, "()"
		case 1:
			return Char, func(s []rune) bool { return len(s) == 1 }, "."
		case 2:
			return All, func([]rune) bool { return true }, ".*"
		}
		low := rune('a' + r.IntN(3))
		high := low + rune(r.IntN(2))
		if r.IntN(4) == 0 {
			high = 'é'
		}
		return a.Class(Range{low, high}), func(s []rune) bool { return len(s) == 1 && s[0] >= low && s[0] <= high }, fmt.Sprintf("[%c-%c]", low, high)
	}
	x, f, s := randomExpr(r, a, depth-1)
	switch r.IntN(6) {
	case 0:
		return a.Not(x), func(t []rune) bool { return !f(t) }, "~(" + s + ")"
	case 1:
		low := r.IntN(3)
		high := low + r.IntN(3)
		if r.IntN(4) == 0 {
			return a.Repeat(x, low, Unbounded), func(t []rune) bool { return repeats(f, t, low, 99) }, fmt.Sprintf("(%s){%d,}", s, low)
		}
		return a.Repeat(x, low, high), func(t []rune) bool { return repeats(f, t, low, high) }, fmt.Sprintf("(%s){%d,%d}", s, low, high)
	}
	y, g, u := randomExpr(r, a, depth-1)
	switch r.IntN(3) {
	case 0:
		return a.Or(x, y), func(t []rune) bool { return f(t) || g(t) }, "(" + s + "|" + u + ")"
	case 1:
		return a.And(x, y), func(t []rune) bool { return f(t) && g(t) }, "(" + s + "&" + u + ")"
	}
	return a.Then(x, y), func(t []rune) bool {
		for i := range len(t) + 1 {
			if f(t[:i]) && g(t[i:]) {
				return true
			}
		}
		return false
	}, "(" + s + " " + u + ")"
}

// repeats reports whether t is f low to high times. Parts that are empty count only while there
// are too few.
func repeats(f naive, t []rune, low, high int) bool {
	if f(nil) {
		low = 0
	}
	if len(t) == 0 {
		return low == 0
	}
	if high == 0 {
		return false
	}
	for i := 1; i <= len(t); i++ {
		if f(t[:i]) && repeats(f, t[i:], max(0, low-1), high-1) {
			return true
		}
	}
	return false
}

// allTexts are those of up to so many of some characters.
func allTexts(length int) []string {
	texts := []string{""}
	for begin := 0; length > 0; length-- {
		end := len(texts)
		for _, t := range texts[begin:end] {
			for _, c := range "abcé" {
				texts = append(texts, t+string(c))
			}
		}
		begin = end
	}
	return texts
}

func TestArena_Match_IsWhatTheExpressionSays(t *testing.T) {
	r := steadytest.Rand(t)
	texts := allTexts(4)
	for range 3000 {
		a := NewArena(100_000)
		x, is, written := randomExpr(r, a, 1+r.IntN(5))
		void, err := a.IsVoid(x, 10_000)
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		low, high := a.Lengths(x)
		for _, s := range texts {
			want := is([]rune(s))
			got, err := a.Match(x, s)
			if got != want || err != nil {
				t.Fatalf("%s matches %q: %v, %v; want %v", written, s, got, err, want)
			}
			if want && void {
				t.Fatalf("%s is void, but %q is one of its texts", written, s)
			}
			if n := len([]rune(s)); want && (n < low || high >= 0 && n > high) {
				t.Fatalf("%s has lengths %d to %d, but %q is one of its texts", written, low, high, s)
			}
		}
		if !void {
			if s, ok := a.example(x); !ok {
				t.Fatalf("%s is not void, but no text was found", written)
			} else if len(s) < 7 && !is(s) {
				t.Fatalf("%s has the text %q, which it does not match", written, string(s))
			}
		}
	}
}

// example finds a shortest text.
func (a *Arena) example(x Expr) ([]rune, bool) {
	type found struct {
		x    Expr
		text []rune
	}
	seen, ahead := map[Expr]bool{x: true}, []found{{x, nil}}
	for len(ahead) > 0 {
		f := ahead[0]
		ahead = ahead[1:]
		if a.Nullable(f.x) {
			return f.text, true
		}
		for _, c := range "abcdé€" {
			y, err := a.deriveBy(f.x, c)
			if err == nil && y != Nothing && !seen[y] {
				seen[y] = true
				ahead = append(ahead, found{y, append(append([]rune(nil), f.text...), c)})
			}
		}
	}
	return nil, false
}

// replacement is what encoding/json and others put where something is at fault: it cannot be told
// from a fault.
var replacement = regexp.MustCompile(`(?i)\\ufffd|\x{FFFD}`)

func FuzzAutomata_JSONString_IsWhatEncodingJSONReads(f *testing.F) {
	for _, s := range []string{"", "a", `\"`, `\u00e9`, `\ud83d\ude00`, "é😀", `\ud83d`, `\udc00`, "\x80", "\n", `\\\/\b\f\n\r\t`, "\u007f\u2028", `\uD800\uDC00`, "\"", `\`, "\xed\xa0\x80"} {
		f.Add(s)
	}
	a := NewArena(10)
	f.Fuzz(func(t *testing.T, s string) {
		if replacement.MatchString(s) {
			return
		}
		m := NewAutomata(a, 1<<20)
		for _, d := range []Decoder{UTF8, JSONString} {
			state := must.Get(m.Start(All, d))(t)
			want := utf8.ValidString(s)
			if d == JSONString {
				_, want = decoded(s)
			}
			if got := m.Accepts(follow(t, m, state, s)); got != want {
				t.Fatalf("decoder %d accepts %q: %v", d, s, got)
			}
		}
	})
}
