// SPDX-License-Identifier: MIT

package pattern

import (
	"math/rand/v2"
	"regexp"
	"testing"
)

// TestMatcher_Step_AgreesWithRegexp runs random texts through patterns and wants the first match
// to end exactly where, by the standard library, a part of the text matches first.
func TestMatcher_Step_AgreesWithRegexp(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, pattern := range []string{"ab", "a+b", "(a|ba)c", "a.c", "[ab]{3}", "c(a|b)*c", "(ab?|c)+b\\s", "[^a]a[^a]"} {
		whole, found := regexp.MustCompile("^(?:"+pattern+")$"), 0
		for range 2000 {
			text := make([]byte, r.IntN(12))
			for i := range text {
				text[i] = "abc \n"[r.IntN(5)]
			}
			m, err := Compile(pattern)
			if err != nil {
				t.Fatal(err)
			}
			got := -1
			for i, c := range string(text) {
				if from, to, ok := m.Step(c, i, i+1); ok {
					if got = to; !whole.Match(text[from:to]) {
						t.Fatalf("%s in %q: %q does not match", pattern, text, text[from:to])
					}
					found++
					break
				}
			}
			if want := firstEnd(whole, text); got != want {
				t.Fatalf("%s in %q: ended at %d, want %d", pattern, text, got, want)
			}
		}
		if found == 0 {
			t.Errorf("%s never matched", pattern)
		}
	}
}

func firstEnd(whole *regexp.Regexp, text []byte) int {
	for end := 1; end <= len(text); end++ {
		for start := range end {
			if whole.Match(text[start:end]) {
				return end
			}
		}
	}
	return -1
}

// Nothing is matched by nothing, be it only at the border of a word or a line.
func TestCompile_EmptyMatches_AreRefused(t *testing.T) {
	for _, pattern := range []string{"a*", `\b|ab`, `(?m)^`, `\B`, "$", `x*\b`} {
		if _, err := Compile("ab", pattern); err == nil {
			t.Errorf("%q is taken", pattern)
		}
	}
	for _, pattern := range []string{`\bab\b`, "(?m)^a$", `\b.`} {
		if _, err := Compile(pattern); err != nil {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}
