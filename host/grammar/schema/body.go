// SPDX-License-Identifier: MIT

package schema

import (
	"slices"
	"strings"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

// body is the texts of a goal.
func (r *reader) body(g goal) (grammar.Body, error) {
	all, err := r.spread(g)
	if err != nil {
		return 0, err
	}
	return r.bodyOf(all, lexeme.Nothing)
}

// bodyOf is the texts of alternatives, for each kind of value. Strings are JSON, unless raw is
// something: then they are written as they are, and are among its texts.
func (r *reader) bodyOf(all []*shape, raw lexeme.Expr) (grammar.Body, error) {
	values, err := r.valuesOf(all)
	if err != nil {
		return 0, err
	}
	parts, err := r.scalars(all, raw)
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
	return r.b.Alt(slices.Concat(r.literals(values, raw), parts, lists, objects)...), nil
}

// valuesOf is the values of enums that their alternative allows.
func (r *reader) valuesOf(all []*shape) ([]*value, error) {
	var made []*value
	seen := map[string]bool{}
	for _, s := range all {
		if !s.among {
			continue
		}
		for _, v := range s.values {
			if seen[v.same()] {
				continue
			}
			fits, err := r.fitsShape(v, s)
			if err != nil {
				return nil, err
			}
			if fits {
				seen[v.same()] = true
				made = append(made, v)
			}
		}
	}
	return made, nil
}

// scalars is the alternatives that are null, true, false, a string or a number.
func (r *reader) scalars(all []*shape, raw lexeme.Expr) ([]grammar.Body, error) {
	var words []string
	var texts, numbers []lexeme.Expr
	nothing, booleans := false, uint8(0)
	for _, s := range all {
		if s.among {
			continue
		}
		nothing = nothing || s.may(null)
		if s.may(boolean) {
			booleans |= s.booleans
		}
		if s.may(text) {
			texts = append(texts, r.textOf(s))
		}
		if s.may(number) {
			x, err := r.numberOf(&s.numbers)
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
		parts = append(parts, r.b.Lexeme(r.words(words), lexeme.UTF8))
	}
	if x := r.a.Or(texts...); x != lexeme.Nothing {
		parts = append(parts, r.written(x, raw))
	}
	if x := r.a.Or(numbers...); x != lexeme.Nothing {
		parts = append(parts, r.b.Lexeme(x, lexeme.UTF8))
	}
	return parts, nil
}

// written is a string whose text is one of an expression's: between quotes, where escapes are what
// they mean, or as it is, where raw is something.
func (r *reader) written(x, raw lexeme.Expr) grammar.Body {
	if raw != lexeme.Nothing {
		return r.b.Lexeme(r.a.And(x, raw), lexeme.UTF8)
	}
	quote := r.b.Lexeme(r.a.Text(`"`), lexeme.UTF8)
	return r.b.Seq(quote, r.b.Lexeme(x, lexeme.JSONString), quote)
}

// literals is the texts of values.
func (r *reader) literals(values []*value, raw lexeme.Expr) []grammar.Body {
	var parts []grammar.Body
	var words, strings []string
	for _, v := range values {
		switch v.kind {
		case text:
			if spelled, one := spell(v.text); one && raw == lexeme.Nothing {
				words = append(words, spelled)
			} else {
				strings = append(strings, v.text)
			}
		case null:
			words = append(words, "null")
		case boolean:
			words = append(words, v.text)
		case number: // as the schema writes it, or as most do
			if words = append(words, v.text); plain(v.text) != "" {
				words = append(words, plain(v.text))
			}
		default:
			parts = append(parts, r.literal(v))
		}
	}
	if len(strings) > 0 {
		parts = append(parts, r.written(r.words(strings), raw))
	}
	if len(words) > 0 {
		parts = append(parts, r.b.Lexeme(r.words(words), lexeme.UTF8))
	}
	return parts
}

// literal is the texts of one value, whose members come in any order where members may.
func (r *reader) literal(v *value) grammar.Body {
	r.spend(1)
	switch v.kind {
	case list:
		parts := []grammar.Body{r.spaces.openList}
		for i, item := range v.items {
			if i > 0 {
				parts = append(parts, r.spaces.comma)
			}
			parts = append(parts, r.literal(item))
		}
		return r.b.Seq(append(parts, r.spaces.closeList)...)
	case object:
		loop := grammar.Loop{Separator: r.spaces.comma}
		end := grammar.Condition{Max: lexeme.Unbounded}
		parts := []grammar.Body{r.spaces.openObject}
		for i, item := range v.items {
			member := r.b.Seq(r.name(v.names[i]), r.literal(item))
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
	return r.b.Alt(r.literals([]*value{v}, lexeme.Nothing)...)
}

// spell is a text as a JSON string of which there is only one usual spelling, which is reported.
func spell(s string) (string, bool) {
	if strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' || c == '/' }) {
		return "", false
	}
	return `"` + s + `"`, true
}

// spaces is JSON's punctuation with the white space around it, where llama.cpp's converter has it:
// behind all of it, and before colons and what closes. Elsewhere a greedy answer would not be what
// it is with llama.cpp.
type spaces struct {
	white                                        lexeme.Expr
	openObject, closeObject, openList, closeList grammar.Body
	comma, end                                   grammar.Body
}

// makeSpaces allows a space, or one or two line ends and at most 20 spaces and tabs: a model cannot
// go on with white space.
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

// name is a member's name and colon. It is one lexeme with one spelling where JSON has only one
// usual one.
func (r *reader) name(name string) grammar.Body {
	made, has := r.names[name]
	if !has {
		made = r.makeName(name)
		r.names[name] = made
	}
	return made
}

func (r *reader) makeName(name string) grammar.Body {
	colon := r.a.Then(r.spaces.white, r.a.Text(":"), r.spaces.white)
	if spelled, one := spell(name); one {
		return r.b.Lexeme(r.a.Then(r.a.Text(spelled), colon), lexeme.UTF8)
	}
	return r.b.Seq(r.b.Lexeme(r.a.Text(`"`), lexeme.UTF8), r.b.Lexeme(r.a.Text(name), lexeme.JSONString), r.afterName())
}

// afterName is the end of a name, and the colon.
func (r *reader) afterName() grammar.Body {
	return r.b.Lexeme(r.a.Then(r.a.Text(`"`), r.spaces.white, r.a.Text(":"), r.spaces.white), lexeme.UTF8)
}
