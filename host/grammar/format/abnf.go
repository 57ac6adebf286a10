// SPDX-License-Identifier: MIT

package format

import (
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// abnf makes expressions of rules in ABNF (RFC 5234), the notation of the formats' standards. A
// rule must not refer to itself. Quoted texts match either case, after %s only their own (RFC
// 7405).
type abnf struct {
	a     *lexeme.Arena
	rules map[string]string
	made  map[string]lexeme.Expr
	rest  string
	fault string // the first rule that could not be read, for tests
}

// newABNF reads the rules of some texts. A rule begins at the beginning of a line, and goes on in
// lines that begin with a blank.
func newABNF(a *lexeme.Arena, texts ...string) *abnf {
	g := &abnf{a: a, rules: map[string]string{}, made: map[string]lexeme.Expr{}}
	for _, text := range texts {
		name := ""
		for line := range strings.Lines(text) {
			head, body, found := strings.Cut(line, "=")
			switch {
			case line[0] == ' ' || line[0] == '\t':
				g.rules[name] += line
			case found:
				name = strings.TrimSpace(head)
				g.rules[name] = body
			}
		}
	}
	return g
}

// rule returns the texts of a rule.
func (g *abnf) rule(name string) lexeme.Expr {
	if x, ok := g.made[name]; ok {
		return x
	}
	body, ok := g.rules[name]
	if !ok {
		return g.fail(name)
	}
	delete(g.rules, name) // a rule that refers to itself finds none
	outer := g.rest
	g.rest = body
	x := g.alternatives()
	if g.rest != "" {
		g.fail(name + ": " + g.rest)
	}
	if g.fault != "" {
		x = lexeme.Nothing
	}
	g.rest, g.made[name] = outer, x
	return x
}

func (g *abnf) fail(what string) lexeme.Expr {
	if g.fault == "" {
		g.fault = what
	}
	g.rest = ""
	return lexeme.Nothing
}

// next reports whether a text comes next, after blanks and in any case, and reads it.
func (g *abnf) next(text string) bool {
	g.rest = strings.TrimLeft(g.rest, " \t\n")
	rest, ok := strings.CutPrefix(g.rest, text)
	if ok {
		g.rest = rest
	}
	return ok
}

func (g *abnf) alternatives() lexeme.Expr {
	parts := []lexeme.Expr{g.sequence()}
	for g.next("/") {
		parts = append(parts, g.sequence())
	}
	return g.a.Or(parts...)
}

func (g *abnf) sequence() lexeme.Expr {
	var parts []lexeme.Expr
	for g.next("") && g.rest != "" && !strings.ContainsRune("/)]", rune(g.rest[0])) {
		parts = append(parts, g.repetition())
	}
	return g.a.Then(parts...)
}

// repetition reads an element with its count: n*m, n, or none.
func (g *abnf) repetition() lexeme.Expr {
	least, most := 1, 1
	counted := g.read("0123456789")
	if counted != "" {
		least, _ = strconv.Atoi(counted)
		most = least
	}
	if g.next("*") {
		if counted == "" {
			least = 0
		}
		most = lexeme.Unbounded
		if upper := g.read("0123456789"); upper != "" {
			most, _ = strconv.Atoi(upper)
		}
	}
	x := g.element()
	if least == 1 && most == 1 {
		return x
	}
	return g.a.Repeat(x, least, most)
}

// read reads as many characters of a set as come next.
func (g *abnf) read(set string) string {
	tail := strings.TrimLeft(g.rest, set)
	text := g.rest[:len(g.rest)-len(tail)]
	g.rest = tail
	return text
}

func (g *abnf) element() lexeme.Expr {
	switch {
	case g.next("("):
		return g.closed(g.alternatives(), ")")
	case g.next("["):
		return g.a.Or(lexeme.Empty, g.closed(g.alternatives(), "]"))
	case g.next(`%s"`):
		return g.a.Text(g.quoted())
	case g.next(`"`):
		return g.anyCase(g.quoted())
	case g.next("%x"):
		return g.numbers()
	}
	name := g.read("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
	return g.rule(name)
}

func (g *abnf) closed(x lexeme.Expr, bracket string) lexeme.Expr {
	if !g.next(bracket) {
		return g.fail(bracket + " is missing before " + g.rest)
	}
	return x
}

func (g *abnf) quoted() string {
	text, rest, ok := strings.Cut(g.rest, `"`)
	if !ok {
		g.fail("a quote without an end")
		return ""
	}
	g.rest = rest
	return text
}

// anyCase is a text of ASCII in upper or lower case.
func (g *abnf) anyCase(text string) lexeme.Expr {
	parts := make([]lexeme.Expr, 0, len(text))
	for _, r := range strings.ToLower(text) {
		ranges := []lexeme.Range{{Low: r, High: r}}
		if r >= 'a' && r <= 'z' {
			ranges = append(ranges, lexeme.Range{Low: r - 'a' + 'A', High: r - 'a' + 'A'})
		}
		parts = append(parts, g.a.Class(ranges...))
	}
	return g.a.Then(parts...)
}

// numbers reads what follows %x: a range, or one character.
func (g *abnf) numbers() lexeme.Expr {
	read := func() rune {
		n, err := strconv.ParseUint(g.read("0123456789abcdefABCDEF"), 16, 21)
		if err != nil {
			g.fail("%x without a number: " + g.rest)
		}
		return rune(n)
	}
	low := read()
	high := low
	if rest, ok := strings.CutPrefix(g.rest, "-"); ok {
		g.rest = rest
		high = read()
	}
	return g.a.Class(lexeme.Range{Low: low, High: high})
}
