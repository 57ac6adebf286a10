// SPDX-License-Identifier: MIT

package format

import (
	"fmt"
	"strings"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// regexRules are those of ECMA-262, section 22.2.1, as its flag u has them. What nests is in regex.
const regexRules = `
DIGIT          = %x30-39
HEXDIG         = DIGIT / %x41-46 / %x61-66
character      = %x20-23 / %x25-27 / %x2C-2D / %x2F-3E / %x40-5A / %x5F-7A / %x7E / %xA0-D7FF / %xE000-10FFFF
escape         = %x5C (class / %s"f" / %s"n" / %s"r" / %s"t" / %s"v" / %s"x" 2HEXDIG / %s"u" unit / syntax / %s"c" letter)
class          = %s"d" / %s"D" / %s"w" / %s"W" / %s"s" / %s"S"
unit           = HEXDIG HEXDIG HEXDIG HEXDIG
letter         = %x41-5A / %x61-7A
syntax         = "^" / "$" / %x5C / "." / "*" / "+" / "?" / "(" / ")" / "[" / "]" / "{" / "}" / "|" / "/"
assertion      = "^" / "$" / %x5C (%s"b" / %s"B")
in-class       = %x20-2C / %x2E-5A / %x5F-7E / %xA0-D7FF / %xE000-10FFFF / escape
classes        = "[" ["^"] ["-"] *(in-class / spans) ["-"] "]"
quantifier     = ("*" / "+" / "?" / "{" counts "}") ["?"]
group          = "(" ["?" (":" / "=" / "!" / "<=" / "<!")]
`

// regexDepth is how deep groups may stand in each other.
const regexDepth = 4

// regex is alternatives of terms. Assertions in groups (lookaround) are not repeated, as the flag u
// has it.
func regex(g *abnf) lexeme.Expr {
	a := g.a
	g.rules["spans"] = spans()
	g.rules["counts"] = counts()
	quantified := a.Or(lexeme.Empty, g.rule("quantifier"))
	leaf := a.Or(g.rule("character"), a.Text("."), g.rule("escape"), g.rule("classes"))
	x := lexeme.Empty
	for depth := range regexDepth + 1 {
		term := a.Or(a.Then(leaf, quantified), g.rule("assertion"))
		if depth > 0 {
			inner := a.Then(x, a.Text(")"))
			look := a.Or(a.Text("?="), a.Text("?!"), a.Text("?<="), a.Text("?<!"))
			term = a.Or(term,
				a.Then(a.Text("("), a.Or(lexeme.Empty, a.Text("?:")), inner, quantified),
				a.Then(a.Text("("), look, inner))
		}
		terms := a.Repeat(term, 0, lexeme.Unbounded)
		x = a.Then(terms, a.Repeat(a.Then(a.Text("|"), terms), 0, lexeme.Unbounded))
	}
	return x
}

// spans is the ranges of a class that go from a digit or a letter to a later one of its kind.
func spans() string {
	var parts []string
	for _, kind := range []string{"09", "az", "AZ"} {
		for low := kind[0]; low <= kind[1]; low++ {
			parts = append(parts, fmt.Sprintf(`%%x%02X "-" %%x%02X-%02X`, low, low, kind[1]))
		}
	}
	return strings.Join(parts, " / ")
}

// counts is what a quantifier's braces hold: numbers up to 9,999, of which the second is not below
// the first where both have the same number of digits only if they differ in the first one.
func counts() string {
	number := "(DIGIT / %x31-39 1*3DIGIT)"
	parts := []string{number + ` [","]`, `DIGIT "," %x31-39 1*3DIGIT`, `%x31-39 DIGIT "," %x31-39 2*3DIGIT`, `%x31-39 2DIGIT "," %x31-39 3DIGIT`}
	for low := '0'; low <= '9'; low++ {
		parts = append(parts, fmt.Sprintf(`%%x%02X "," %%x%02X-39`, low, low))
		if low > '0' && low < '9' {
			for extra := 1; extra <= 3; extra++ {
				parts = append(parts, fmt.Sprintf(`%%x%02X %dDIGIT "," %%x%02X-39 %dDIGIT`, low, extra, low+1, extra))
			}
		}
	}
	return strings.Join(parts, " / ")
}
