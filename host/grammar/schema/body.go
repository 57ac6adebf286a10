// SPDX-License-Identifier: MIT

package schema

import (
	"slices"
	"strings"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

// makeBody is the texts of a goal.
func (r *reader) makeBody(g goal) (grammar.Body, error) {
	all, err := r.expand(g)
	if err != nil {
		return 0, err
	}
	return r.makeBodyOf(all, lexeme.Nothing)
}

// makeBodyOf is the texts of alternatives, kind by kind. Strings are JSON, unless raw is given:
// then they are written as they are, and are among its texts.
func (r *reader) makeBodyOf(all []*shape, raw lexeme.Expr) (grammar.Body, error) {
	values, err := r.fittingValues(all)
	if err != nil {
		return 0, err
	}
	parts, err := r.scalarBodies(all, raw)
	if err != nil {
		return 0, err
	}
	lists, err := r.listBodies(all)
	if err != nil {
		return 0, err
	}
	objects, err := r.objectBodies(all)
	if err != nil {
		return 0, err
	}
	return r.b.Alt(slices.Concat(r.valueBodies(values, raw), parts, lists, objects)...), nil
}

// fittingValues returns the values of enums that fit their alternative.
func (r *reader) fittingValues(all []*shape) ([]*value, error) {
	var made []*value
	seen := map[string]bool{}
	for _, s := range all {
		if !s.listsValues {
			continue
		}
		for _, v := range s.values {
			if seen[v.canonicalKey()] {
				continue
			}
			fits, err := r.fitsShape(v, s)
			if err != nil {
				return nil, err
			}
			if fits {
				seen[v.canonicalKey()] = true
				made = append(made, v)
			}
		}
	}
	return made, nil
}

// scalarBodies returns the bodies of null, true, false, strings and numbers.
func (r *reader) scalarBodies(all []*shape, raw lexeme.Expr) ([]grammar.Body, error) {
	var words []string
	var texts, numbers []lexeme.Expr
	nothing, booleans := false, uint8(0)
	for _, s := range all {
		if s.listsValues {
			continue
		}
		nothing = nothing || s.may(null)
		if s.may(boolean) {
			booleans |= s.booleans
		}
		if s.may(text) {
			texts = append(texts, r.stringExpr(s))
		}
		if s.may(number) {
			x, err := r.numberExpr(&s.numbers)
			if err != nil {
				return nil, err
			}
			numbers = append(numbers, x)
		}
	}
	if nothing {
		words = append(words, "null")
	}
	if booleans&2 != 0 {
		words = append(words, "true")
	}
	if booleans&1 != 0 {
		words = append(words, "false")
	}
	var parts []grammar.Body
	if len(words) > 0 {
		parts = append(parts, r.b.Lexeme(r.anyText(words), lexeme.UTF8))
	}
	if x := r.a.Or(texts...); x != lexeme.Nothing {
		parts = append(parts, r.quoteBody(x, raw))
	}
	if x := r.a.Or(numbers...); x != lexeme.Nothing {
		parts = append(parts, r.b.Lexeme(x, lexeme.UTF8))
	}
	return parts, nil
}

// quoteBody is a string whose text is one of x's: between quotes, where escapes stand for what they
// mean; or as it is, among the texts of raw, unless that is lexeme.Nothing.
func (r *reader) quoteBody(x, raw lexeme.Expr) grammar.Body {
	if raw != lexeme.Nothing {
		return r.b.Lexeme(r.a.And(x, raw), lexeme.UTF8)
	}
	quote := r.b.Lexeme(r.a.Text(`"`), lexeme.UTF8)
	return r.b.Seq(quote, r.b.Lexeme(x, lexeme.JSONString), quote)
}

// valueBodies returns the bodies of values.
func (r *reader) valueBodies(values []*value, raw lexeme.Expr) []grammar.Body {
	var parts []grammar.Body
	var words, strings []string
	for _, v := range values {
		switch v.kind {
		case text:
			if spelled, one := spellOnce(v.text); one && raw == lexeme.Nothing {
				words = append(words, spelled)
			} else {
				strings = append(strings, v.text)
			}
		case null:
			words = append(words, "null")
		case boolean:
			words = append(words, v.text)
		case number: // as the schema writes it, or as most writers do
			if words = append(words, v.text); plainNumber(v.text) != "" {
				words = append(words, plainNumber(v.text))
			}
		default:
			parts = append(parts, r.valueBody(v))
		}
	}
	if len(strings) > 0 {
		parts = append(parts, r.quoteBody(r.anyText(strings), raw))
	}
	if len(words) > 0 {
		parts = append(parts, r.b.Lexeme(r.anyText(words), lexeme.UTF8))
	}
	return parts
}

// valueBody is the texts of one value. Its members come in any order where Options.Order says so.
func (r *reader) valueBody(v *value) grammar.Body {
	r.spend(1)
	switch v.kind {
	case list:
		parts := []grammar.Body{r.spaces.openList}
		for i, item := range v.items {
			if i > 0 {
				parts = append(parts, r.spaces.comma)
			}
			parts = append(parts, r.valueBody(item))
		}
		return r.b.Seq(append(parts, r.spaces.closeList)...)
	case object:
		loop := grammar.Loop{Separator: r.spaces.comma}
		end := grammar.Condition{Max: lexeme.Unbounded}
		parts := []grammar.Body{r.spaces.openObject}
		for i, item := range v.items {
			member := r.b.Seq(r.nameBody(v.names[i]), r.valueBody(item))
			if i > 0 {
				parts = append(parts, r.spaces.comma)
			}
			parts = append(parts, member)
			loop.Items = append(loop.Items, grammar.Item{Is: member, Bit: i, Once: true})
			end.Must = append(end.Must, i)
		}
		if r.o.Order == AnyOrder && len(v.items) > 1 {
			loop.Ends = []grammar.Condition{end}
			parts = []grammar.Body{r.spaces.openObject, r.b.Loop(loop)}
		}
		return r.b.Seq(append(parts, r.spaces.closeObject)...)
	}
	return r.b.Alt(r.valueBodies([]*value{v}, lexeme.Nothing)...)
}

// spellOnce returns a text as a JSON string, and whether that is its only usual spelling.
func spellOnce(s string) (string, bool) {
	if strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' || c == '/' }) {
		return "", false
	}
	return `"` + s + `"`, true
}

// spaces is JSON's punctuation, with white space where llama.cpp's converter has it: behind
// everything, and before colons and closing brackets. Elsewhere a greedy answer would differ from
// llama.cpp's.
type spaces struct {
	white                                        lexeme.Expr
	openObject, closeObject, openList, closeList grammar.Body
	comma, end                                   grammar.Body
}

// makeSpaces allows a space, or one or two line ends and at most 20 spaces and tabs: a model cannot
// go on with white space forever.
func (r *reader) makeSpaces() spaces {
	white := lexeme.Empty
	if !r.o.Compact {
		indent := r.a.Repeat(r.a.Class(lexeme.Range{Low: ' ', High: ' '}, lexeme.Range{Low: '\t', High: '\t'}), 0, 20)
		white = r.a.Or(lexeme.Empty, r.a.Text(" "), r.a.Then(r.a.Repeat(r.a.Text("\n"), 1, 2), indent))
	}
	mark := func(before lexeme.Expr, text string, after lexeme.Expr) grammar.Body {
		return r.b.Lexeme(r.a.Then(before, r.a.Text(text), after), lexeme.UTF8)
	}
	s := spaces{
		white:      white,
		openObject: mark(lexeme.Empty, "{", white), closeObject: mark(white, "}", lexeme.Empty),
		openList: mark(lexeme.Empty, "[", white), closeList: mark(white, "]", lexeme.Empty),
		comma: mark(lexeme.Empty, ",", white), end: r.b.Seq(),
	}
	return s
}

// nameBody is a member's name and colon: one lexeme where the name has only one usual spelling.
func (r *reader) nameBody(name string) grammar.Body {
	if known, has := r.names[name]; has {
		return known
	}
	var made grammar.Body
	if spelled, one := spellOnce(name); one {
		made = r.b.Lexeme(r.a.Then(r.a.Text(spelled), r.spaces.white, r.a.Text(":"), r.spaces.white), lexeme.UTF8)
	} else {
		made = r.b.Seq(r.b.Lexeme(r.a.Text(`"`), lexeme.UTF8), r.b.Lexeme(r.a.Text(name), lexeme.JSONString), r.endOfName())
	}
	r.names[name] = made
	return made
}

// endOfName is a name's closing quote, and the colon.
func (r *reader) endOfName() grammar.Body {
	return r.b.Lexeme(r.a.Then(r.a.Text(`"`), r.spaces.white, r.a.Text(":"), r.spaces.white), lexeme.UTF8)
}
