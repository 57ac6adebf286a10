// SPDX-License-Identifier: MIT

package gbnf

import (
	"errors"
	"strings"
	"testing"
)

func TestOfRegex_Grammar(t *testing.T) {
	for pattern, want := range map[string]string{
		``:                     `""`,
		`^$`:                   `""`,
		`abc`:                  `"abc"`,
		`^a"b$`:                `"a\x22b"`,
		`\Aab\z`:               `"ab"`,
		`(^a|^b)$`:             `("a" | "b")`,
		`^(a|b$)`:              `("a" | "b")`,
		`yes|no`:               `"yes" | "no"`,
		`(?:ab)+c`:             `("ab")+ "c"`,
		`a*?b+?c??`:            `"a"* "b"+ "c"?`,
		`(a{2,3}){4}`:          `("a"{2,3}){4,4}`,
		`(?:a{2,3}){4}`:        `("a"{2,3}){4,4}`,
		`x{0}y{3,}`:            `"y"{3,}`,
		`[a-f0-9]{8}`:          `[0-9a-f]{8,8}`,
		`[^"\\]`:               `[\x00-\x21\x23-\x5b\x5d-\U0010ffff]`,
		`.`:                    `[^\n]`,
		`(?s).`:                `.`,
		`\d{4}-\d\d`:           `[0-9]{4,4} "\x2d" [0-9] [0-9]`,
		`(?i)ok`:               `([Oo] [Kk\u212a])`,
		`é🐸`:                   `"\u00e9\U0001f438"`,
		`\.\*\n`:               `"\x2e\x2a\x0a"`,
		`(?P<year>\d)(?<m>\d)`: `([0-9]) ([0-9])`,
		`a|`:                   `"a" | ""`,
	} {
		got, err := OfRegex(pattern)
		got = strings.TrimSuffix(got, "\n")
		if err != nil || got != "root ::= "+want {
			t.Errorf("%s: %s, %v; want root ::= %s", pattern, got, err, want)
		}
	}
}

func TestOfRegex_LongClass_OneRule(t *testing.T) {
	got, err := OfRegex(`\p{L}+ \p{L}{1,1000}`)
	if err != nil || !strings.HasPrefix(got, "root ::= class0+ \" \" class0{1,1000}\nclass0 ::= [") || strings.Count(got, "::=") != 2 {
		t.Errorf("%.200s, %v", got, err)
	}
}

func TestOfRegex_Error_SaysWhere(t *testing.T) {
	for pattern, want := range map[string]struct {
		offset int
		why    string
	}{
		`a(?=b)`:                        {1, "(?="},
		`\(?=a(?=b)`:                    {5, "(?="},
		`(a)\1`:                         {3, `\1`},
		`üa**`:                          {2, "**"},
		`*a`:                            {0, "*"},
		`a{2,1}`:                        {1, "{2,1}"},
		`a{1001}`:                       {1, "{1001}"},
		`[z-a]`:                         {1, "z-a"},
		`ab[c`:                          {2, "[c"},
		`(ab`:                           {-1, "missing closing )"},
		`ab)`:                           {-1, "unexpected )"},
		`\p{Frog}`:                      {-1, "Frog"},
		`x\p{Frog}`:                     {1, "Frog"},
		`a\b c`:                         {1, "word boundaries"},
		`[\^^]a^b`:                      {6, "anchor"},
		`a$b`:                           {1, "anchor"},
		`(a$)*`:                         {2, "anchor"},
		`(?m)^a`:                        {4, "lines"},
		`[^\x00-\x{10ffff}]`:            {-1, "no text"},
		`x(?i`:                          {1, "(?i"},
		strings.Repeat("a", MaxRegex+1): {-1, "bytes"},
		strings.Repeat("(", 2000) + strings.Repeat(")", 2000): {-1, "nest"},
		"a\xff": {1, "UTF-8"},
	} {
		_, err := OfRegex(pattern)
		var e *Error
		if !errors.As(err, &e) || e.Offset != want.offset || !strings.Contains(e.Error(), want.why) {
			t.Errorf("%.50s: got %v, want %q at %d", pattern, err, want.why, want.offset)
		}
	}
}

func FuzzOfRegex(f *testing.F) {
	for _, seed := range []string{`^a(b|c)*[^d-f]{2,5}$`, `(?i)straße\b`, `\p{Greek}+|\d`, `(?=x)`, `((a?){3}){4}`, `[[:alpha:]\]]`, `a**`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		text, err := OfRegex(pattern)
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Offset > len(pattern)) {
			t.Errorf("%q: %v", pattern, err)
		}
		if err == nil && !strings.HasPrefix(text, "root ::= ") {
			t.Errorf("%q: %q", pattern, text)
		}
	})
}
