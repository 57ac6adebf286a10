// SPDX-License-Identifier: MIT

package pattern

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/tools/steadytest"
)

func TestECMA_Cases(t *testing.T) {
	for source, c := range map[string]struct{ yes, no string }{ // texts between spaces; _ is the empty one, ~ a space
		`^[0-9]{2}"$`:                 {`08" 99"`, `08 8" 08"" _`},
		`^C:\\foo$`:                   {`C:\foo`, "C:foo C:\foo"},
		`^é{2}$`:                      {`éé`, `é ééé`},
		`b`:                           {`b abc xb`, `_ a`},
		`^a|b$`:                       {`a ax b xb`, `xa bx`},
		`^(a|b$)`:                     {`a ax b`, `xa bx`},
		`(^|,)a(,|$)`:                 {`a b,a a,b b,a,c`, `ab ba b,ab`},
		`^(?:a$|b)+$`:                 {`a bba b`, `ab _`},
		`(?:^a|b)*c`:                  {`c abc aac`, `ab`},
		`^(?:^a|b){2,}$`:              {`ab abb bb`, `a b ba`},
		`\d+`:                         {`1 a1b`, `a ١`},
		`^\w+\s\W$`:                   {"a\u00a0-", `aa é`},
		`^\S+$`:                       {`é 💩`, "a\u2028b a\ufeffb"},
		`^\p{L}{2}$`:                  {`éa 漢字`, `a1 é`},
		`^\P{L}$`:                     {`1 -`, `é`},
		`^\p{Script=Greek}+$`:         {`αβ`, `ab`},
		`^\p{Lu}\p{gc=Ll}\p{Number}$`: {`Aa1 Éé½`, `aA1`},
		`^\p{Alphabetic}\p{ASCII}$`:   {`éa`, `aé`},
		`\/`:                          {`/`, `\`},
		`^[\w.-]+@[\w-]+\.[a-z]{2,}$`: {`a.b-c@d-e.fr`, `@a.fr a@b.c`},
		`^(?i)abc$`:                   {`abc ABC aBc`, `abd`},
		`^(?i:a)b$`:                   {`ab Ab`, `aB`},
		`^(?i)[^k]$`:                  {`j`, `k K`},
		`^(?<year>\d{4})-(?<m>\d\d)$`: {`2020-02`, `2020-2`},
		`^a+?b*?c??$`:                 {`a abc aab`, `b`},
		`^(?=.*[A-Z])(?=.*\d).{3,5}$`: {`aA1 A1bcd`, `A1 aa1 aA1bcd`},
		`^(?!.*foo).*$`:               {`bar _ fo`, `foo xfooy`},
		`^(?!foo$|bar$)\w+$`:          {`fo foob`, `foo bar`},
		`^((?!foo).)*$`:               {`bar _ fo`, `foo xfooy`},
		`^(?:(?!--)[a-z-])+x$`:        {`ax a-bx -x`, `x a--x`},
		`^((?!x).)*$`:                 {`ab _`, `x ax xa`}, // right before the end, too
		`^(?:(?!b).)*c$`:              {`ac c`, `bc abc bac`},
		`a(?=b)`:                      {`ab xab`, `a ac`},
		`a(?!b)`:                      {`a ac aba`, `ab xab`},
		`\bfoo\b`:                     {`foo a~foo~b -foo-`, `afoo foob`},
		`\Boo\b`:                      {`foo`, `oo ooz`},
		`^(\bfoo\b,?){1,2}$`:          {`foo foo,foo foo,`, `foofoo`},
		`^\u0061\x62\cJ?\t?\u{63}$`:   {"abc ab\nc ab\tc", `ab`},
		`^\ud83d\ude00$`:              {`😀`, `a`},
		`^.$`:                         {`😀 é`, "\n \r \u2028"},
		`^(?s).$`:                     {"\n", `ab`},
		`^(?:a|)(?:)b{0}$`:            {`a _`, `b ab`},
		`^[]$|^[^]$`:                  {`x`, `_ xx`},
		`^[\b\-\]^a-]$`:               {"\b - ] ^ a", `b`},
		`^{a}]$`:                      {`{a}]`, `a`},
		`^a{2,3}{$`:                   {`aa{ aaa{`, `a{`},
		`^[\d-x]$`:                    {`1 - x`, `y`},
		`(?m)^a$`:                     {"a b\na\nc", `ab b`},
		`^(a{1,1000000}){2}$`:         {`aa aaa`, `a`},
		`^(([a-z])|([0-9])+)*$`:       {`a1b22 _`, `A`},
	} {
		a := lexeme.NewArena(100_000)
		x, err := ECMA(a, source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		check := func(texts string, want bool) {
			for _, s := range strings.Split(texts, " ") {
				s = strings.NewReplacer("~", " ", "_", "").Replace(s)
				if got, err := a.Match(x, s); got != want || err != nil {
					t.Errorf("%s matches %q: %v, %v", source, s, got, err)
				}
			}
		}
		check(c.yes, true)
		check(c.no, false)
	}
}

func TestECMA_Refuses(t *testing.T) {
	for source, why := range map[string]string{
		`a(?<=b)c`:                         "look-behind is not supported, at byte 1",
		`a(?<!b)c`:                         "look-behind is not supported, at byte 1",
		`(a)\1`:                            "references to groups are not supported, at byte 3",
		`(?<n>a)\k<n>`:                     "references to groups are not supported, at byte 7",
		`(?P<n>a)(?P=n)`:                   "references to groups are not supported, at byte 8",
		`a)`:                               "a ) closes nothing, at byte 1",
		`(a`:                               "a group is not closed, at byte 0",
		`x[a`:                              "a class is not closed, at byte 1",
		`[b-a]`:                            "a class has a range that ends before it begins, at byte 1",
		`*a`:                               "nothing is before * that can be repeated, at byte 0",
		`a**`:                              "a quantifier follows a quantifier, at byte 2",
		`a{3,2}`:                           "a quantifier's bounds are the wrong way round, at byte 6",
		`a{,2}`:                            "a quantifier has no lower bound, at byte 3",
		`^*`:                               "an assertion cannot be repeated, at byte 0",
		`(?=a)*`:                           "an assertion cannot be repeated, at byte 0",
		`\Z`:                               `\Z is not in ECMA-262, at byte 0`,
		`\a`:                               `\a is not in ECMA-262, at byte 0`,
		`\p{Nope}`:                         "the property Nope is not supported, at byte 0",
		`\pL`:                              `\p wants the name of a property in braces, at byte 0`,
		`\u12`:                             "an escape wants 4 hexadecimal digits, at byte 0",
		`\xg0`:                             "an escape wants 2 hexadecimal digits, at byte 0",
		`\u{110000}`:                       `\u{ wants the hexadecimal number of a character and }, at byte 0`,
		`a\`:                               "a backslash stands at the end, at byte 1",
		`(?>a)`:                            "a group begins with what ECMA-262 does not have, at byte 0",
		`(?`:                               "a group is not closed, at byte 0",
		`^(\b[a-z]+ ?)+$`:                  "an assertion other than ^ and $ within a repetition is not supported, at byte 2",
		`^((?!a).)*b+$`:                    "a repeated look-ahead is supported only where the end of the text follows, or a text of one length, at byte 1",
		strings.Repeat("(", 300):           "groups are nested more than 250 deep, at byte 250",
		strings.Repeat("a", MaxLength+1):   "it has 16385 bytes; at most 16384 are taken",
		"\xff":                             "it is not UTF-8",
		`^(?:(?:(?:\ba{2}b){16}){16}){16}`: "repeated assertions take too many copies, at byte 10",
		`(?i)` + strings.Repeat(`[^\p{L}]`, 1000): "its classes have more than 50000 ranges, at byte 612",
	} {
		_, err := ECMA(lexeme.NewArena(100_000), source)
		var refused *Error
		if !errors.As(err, &refused) || err.Error() != why {
			t.Errorf("%.40s: %v; want %s", source, err, why)
		}
	}
}

func TestECMA_Hostile_TakesTooMuchWork(t *testing.T) {
	many := func(write string) string {
		var b strings.Builder
		for i := 0; b.Len() < MaxLength-20; i++ {
			fmt.Fprintf(&b, write, i)
		}
		return b.String()
	}
	for _, source := range []string{many(`(?=.*%d)`), many(`(?!.*%d)`), `^(a|` + many(`(\ba|-\b%d|$)`) + `)$`} {
		a := lexeme.NewArena(1 << 20)
		if _, err := ECMA(a, source); !errors.Is(err, lexeme.ErrTooMuch) {
			t.Errorf("%.20s: %v", source, err)
		}
		if a.Err() != nil {
			t.Errorf("%.20s: %v", source, a.Err())
		}
		if x, err := ECMA(a, `^a$`); err != nil || a.Err() != nil {
			t.Errorf("%.20s: nothing else is read afterwards: %v", source, err)
		} else if got, err := a.Match(x, "a"); !got || err != nil {
			t.Errorf("%.20s: what is read afterwards does not match: %v", source, err)
		}
	}
}

// What has many ranges takes no longer than plain letters: it is paid for, or refused before.
func TestPatterns_Ranges_AreCharged(t *testing.T) {
	cost := func(read func(*lexeme.Arena, string) (lexeme.Expr, error), source string) time.Duration {
		return steadytest.Cost(t, func() { _, _ = read(lexeme.NewArena(1<<20), source) })
	}
	repeated := func(begin, part, end string) string {
		return begin + strings.Repeat(part, (MaxLength-len(begin)-len(end))/len(part)) + end
	}
	letters := max(cost(ECMA, repeated("(?i)", `\w`, "")), cost(Go, repeated("", "(a|b)", "")))
	for _, source := range []string{
		repeated("(?i)[", `\P{L}`, "]"), repeated("[", `\p{L}`, "]"), repeated("(?i)[", `\P{Lu}\p{Cn}`, "]"), repeated("", `\p{L}`, ""),
		repeated("(?i)", `[\P{L}]`, ""), repeated("(?i)", "[A-\U0001E922]", ""), repeated("(?i)[", "A-\U0001E922", "]"),
		repeated("(?i)[", `\x{41}-\x{1E922}`, "]"), repeated("(?s-i:(?i:[", `A-\x{1E922}`, "]))"), repeated("[", `\pL`, "]"),
	} {
		for name, read := range map[string]func(*lexeme.Arena, string) (lexeme.Expr, error){"ECMA-262": ECMA, "Go": Go} {
			if got := cost(read, source); got > 5*letters {
				t.Errorf("%s: %.30s takes %v, letters %v", name, source, got, letters)
			}
		}
	}
}

// A class means the same however often it says what it has.
func TestECMA_Class_Twice(t *testing.T) {
	a := lexeme.NewArena(1 << 20)
	for once, twice := range map[string]string{`[\p{L}]`: `[\p{L}0\p{L}]`, `(?i)[\P{Lu}]`: `(?i)[\P{Lu}\P{Lu}]`, `[^\p{L}\d]`: `[^\d\p{L}\d\p{L}]`} {
		x, err := ECMA(a, once)
		y, other := ECMA(a, strings.Replace(twice, "0", "", 1))
		if err != nil || other != nil || x != y {
			t.Errorf("%s is not %s: %v, %v", once, twice, err, other)
		}
	}
}

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
