// SPDX-License-Identifier: MIT

package pattern

import (
	"errors"
	"regexp"
	"testing"
	"unicode/utf8"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

var seeds = []string{
	`^[0-9]{2}"$`, `^(?=.*[A-Z])(?=.*\d).{8,}$`, `^((?!foo).)*$`, `\bfoo\b|^$`, `(?i)[^k-m]{2,3}?`, `\p{L}+\P{Lu}\u{1F600}\ud83d\ude00\cJ\x41`,
	`((a{1,9}){1,9}){1,9}`, `(?:^a|b$)*(?:a|^)+`, `(?m)^a$\n\B`, `[^]|[]|{`, `(?<x>a)(?P<y>b)`, `(a|b)*a(a|b){1000}`,
}

var samples = []string{"", "a", "foo", "08\"", "Ab1", "é", "a\nb", "fooooooooooooo bar", "aabbaabb"}

func FuzzECMA_IsReadOrRefused(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		a := lexeme.NewArena(20_000)
		x, err := ECMA(a, source)
		var refused *Error
		if err != nil && !errors.As(err, &refused) && !errors.Is(err, lexeme.ErrTooMuch) {
			t.Fatalf("%q: %v", source, err)
		}
		if refused != nil && refused.Offset > len(source) {
			t.Fatalf("%q: %v", source, err)
		}
		for _, s := range samples {
			if _, err := a.Match(x, s); err != nil && !errors.Is(err, lexeme.ErrTooMuch) {
				t.Fatalf("%q: %v", source, err)
			}
		}
	})
}

func FuzzGo_MatchesAsGoDoes(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		a := lexeme.NewArena(20_000)
		x, err := Go(a, source)
		compiled, failed := regexp.Compile(`\A(?:` + source + `)\z`)
		if err != nil || failed != nil || !utf8.ValidString(source) {
			return
		}
		if _, err := regexp.Compile(source); err != nil {
			return // a ) that ends more than the source
		}
		for _, s := range samples {
			if got, err := a.Match(x, s); err == nil && got != compiled.MatchString(s) {
				t.Fatalf("%q matches %q: %v", source, s, got)
			}
		}
	})
}
