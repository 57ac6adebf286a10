// SPDX-License-Identifier: MIT

package engine

import (
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/tools/must"
)

// A regular expression's grammar takes the texts that the expression matches as a whole, and no
// other.
func TestEngine_Regex_TakesWhatItMatches(t *testing.T) {
	e := opened(t, Options{})
	letters := []rune("aaabbcxyzXé🐸019 .-\n\"\\]")
	for _, pattern := range []string{
		`a*b+c?`, `(a|bc)*x`, `[^a]{2,3}`, `.{1,4}`, `(?s).{1,4}`, `(?i)x[yz]*`, `\d+(\.\d{1,2})?`, `[é🐸]+|[a-c]+`, `\p{L}+ \p{L}+`,
		`^(?:a|b)+$`, `["\\\]-]+`, `(ab?){2,}`, `a{0}b`, `(?:)`, `\s?\S+`, `x|`, `[[:digit:]]{2}`, `a\b.*`, `(?m)^a$\n?b*`,
	} {
		kept, err := e.read(t.Context(), sampling.Constraint{Regex: pattern})
		if err != nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		whole := regexp.MustCompile(`\A(?:` + pattern + `)\z`)
		defer kept.release()
		taken := 0
		r := rand.New(rand.NewPCG(1, 3))
		for range 400 {
			said := make([]rune, r.IntN(5))
			for i := range said {
				said[i] = letters[r.IntN(len(letters))]
			}
			got, want := e.takes(t, kept, string(said)), whole.MatchString(string(said))
			if got != want {
				t.Errorf("%s: %q is taken: %v, matches: %v", pattern, string(said), got, want)
				break
			}
			if want {
				taken++
			}
		}
		if taken == 0 {
			t.Errorf("%s: no text was taken", pattern)
		}
	}
}

// takes reports whether a text is one of a grammar's.
func (e *Engine) takes(t *testing.T, g *keptGrammar, text string) bool {
	t.Helper()
	tokens := must.Get(e.Tokenize(t.Context(), text, false, false))(t)
	f := must.Get(e.newFollowing(g, nil))(t)
	n := must.Get(f.count(append(tokens, e.info.Special.EOS), 0, nil))(t)
	return n == len(tokens)+1
}
