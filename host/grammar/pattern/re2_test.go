// SPDX-License-Identifier: MIT

package pattern

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/tools/steadytest"
)

func TestGo_Refuses(t *testing.T) {
	for source, why := range map[string]string{
		`a(?=b)`:                         "invalid or unsupported Perl syntax: `(?=`, at byte 1",
		`(a`:                             "missing closing ): `(a`, at byte 0",
		strings.Repeat("a", MaxLength+1): "it has 16385 bytes; at most 16384 are taken",
		`^(\b[a-z]+ ?)+$`:                "an assertion other than ^ and $ within a repetition is not supported",
	} {
		if _, err := Go(lexeme.NewArena(100_000), source); err == nil || err.Error() != why {
			t.Errorf("%.40s: %v; want %s", source, err, why)
		}
	}
}

// randomPattern draws a pattern that Go and ECMA-262 read alike. Within repetitions there are only
// assertions that are supported.
func randomPattern(r *rand.Rand, depth int, asserts bool) string {
	if depth == 0 {
		atoms := []string{"a", "b", "é", "-", ".", "[ab]", "[^a]", `\w`, `\W`, `\d`, `[b-é]`, "(?i:B)", "(?i:[^é])", ""}
		if asserts {
			atoms = append(atoms, "^", "$", `\b`, `\B`)
		}
		return atoms[r.IntN(len(atoms))]
	}
	x := randomPattern(r, depth-1, asserts)
	switch r.IntN(6) {
	case 0:
		x = randomPattern(r, depth-1, asserts && r.IntN(4) == 0 && depth == 1)
		return "(?:" + x + ")" + []string{"*", "+", "{2,}", "{0,2}", "{3}", "?", "*?"}[r.IntN(7)]
	case 1:
		return "(?:" + x + "|" + randomPattern(r, depth-1, asserts) + ")"
	case 2:
		return "(" + x + ")" + randomPattern(r, depth-1, asserts)
	}
	return x + randomPattern(r, depth-1, asserts)
}

func TestPatterns_Random_MatchAsGoDoes(t *testing.T) {
	r := steadytest.Rand(t)
	texts := []string{""}
	for begin, length := 0, 0; length < 4; length++ {
		end := len(texts)
		for _, s := range texts[begin:end] {
			for _, c := range "aB-é" {
				texts = append(texts, s+string(c))
			}
		}
		begin = end
	}
	taken := 0
	for range 1000 {
		source := randomPattern(r, 1+r.IntN(4), true)
		if strings.Contains(source, "(?:^)") || strings.Contains(source, "(?:$)") || strings.Contains(source, `(?:\b)`) || strings.Contains(source, `(?:\B)`) {
			continue // ECMA-262 takes no repeated assertion
		}
		anywhere, whole := regexp.MustCompile(source), regexp.MustCompile(`\A(?:`+source+`)\z`)
		a := lexeme.NewArena(100_000)
		x, err := ECMA(a, source)
		y, err2 := Go(a, source)
		if err != nil || err2 != nil {
			continue // a repeated assertion
		}
		taken++
		for _, s := range texts {
			for name, c := range map[string]struct {
				x    lexeme.Expr
				want bool
			}{"ECMA": {x, anywhere.MatchString(s)}, "Go": {y, whole.MatchString(s)}} {
				if got, err := a.Match(c.x, s); got != c.want || err != nil {
					t.Fatalf("%s: %s matches %q: %v, %v; want %v", name, source, s, got, err, c.want)
				}
			}
		}
	}
	if taken < 500 {
		t.Errorf("only %d of 1000 patterns were taken", taken)
	}
}
