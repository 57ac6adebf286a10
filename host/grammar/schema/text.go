// SPDX-License-Identifier: MIT

package schema

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/grammar/format"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

// valueWords say which values may be, of any kind.
var valueWords = []word{
	{names: []string{"type"}, hold: holdType, deny: denyType},
	{names: []string{"const"}, hold: each(holdConst), deny: each(denyConst), since: 6},
	{names: []string{"enum"}, hold: each(holdEnum), deny: each(denyEnum)},
}

var stringWords = []word{
	least("minLength", text, characters),
	most("maxLength", text, characters),
	{names: []string{"pattern"}, hold: each(holdPattern), deny: each(denyPattern)},
	{names: []string{"format"}, hold: each(holdFormat), deny: denyFormat},
}

// kindsOf reads a type: which kinds it names, and whether its numbers are integers.
func (r *reader) kindsOf(at *value) (named uint8, integers bool, err error) {
	word := at.member("type")
	types := []*value{word}
	if word.kind == list {
		types = word.items
	}
	for _, t := range types {
		if t.kind != text {
			return 0, false, wrong(word, "type must be a string or a list of strings")
		}
		name := t.text
		if r.o.Loose { // Gemini's have capitals
			name = strings.ToLower(name)
		}
		switch name {
		case "null":
			named |= 1 << null
		case "boolean":
			named |= 1 << boolean
		case "string":
			named |= 1 << text
		case "array":
			named |= 1 << list
		case "object":
			named |= 1 << object
		case "integer":
			integers = integers || named&(1<<number) == 0
			named |= 1 << number
		case "number":
			integers = false
			named |= 1 << number
		case "any": // draft 3
			return every, false, nil
		default:
			return 0, false, wrong(t, "%q is no type: null, boolean, integer, number, string, array and object are", t.text)
		}
	}
	return named, integers && !slices.ContainsFunc(types, func(t *value) bool { return strings.EqualFold(t.text, "number") }), nil
}

func holdType(r *reader, all []*shape, at *value) ([]*shape, error) {
	named, integers, err := r.kindsOf(at)
	for _, s := range all {
		s.kinds &= named
		s.numbers.whole = s.numbers.whole || integers
	}
	return all, err
}

func denyType(r *reader, all []*shape, at *value) ([]*shape, error) {
	named, integers, err := r.kindsOf(at)
	if err != nil {
		return nil, err
	}
	var made []*shape
	if integers {
		made = copies(all)
		for _, s := range made {
			s.only(number)
			s.numbers.broken = true
		}
	}
	for _, s := range all {
		s.kinds &^= named
	}
	return append(made, all...), nil
}

func holdConst(r *reader, s *shape, at *value) error {
	word := at.member("const")
	r.leave(s, []*value{word})
	return r.besideType(word, []*value{word}, at)
}

// besideType refuses values of which none is of the type beside them. Only where such a word is
// left out: it else is a schema that nothing fits, like others.
func (r *reader) besideType(word *value, values []*value, at *value) error {
	if !r.o.Loose || len(values) == 0 || at.member("type") == nil {
		return nil
	}
	named, integers, err := r.kindsOf(at)
	fits := func(v *value) bool {
		return named&(1<<v.kind) != 0 && (v.kind != number || !integers || !strings.Contains(significant(v.text), "e-"))
	}
	if err != nil || slices.ContainsFunc(values, fits) {
		return nil //nolint:nilerr // a type that is none is told where it is read, and says nothing
	}
	return wrong(word, "none of its values is of the type beside it")
}

func holdEnum(r *reader, s *shape, at *value) error {
	word := at.member("enum")
	if word.kind != list {
		return wrong(word, "enum must be a list of values")
	}
	r.leave(s, word.items)
	if err := r.step(word, len(word.items)); err != nil {
		return err
	}
	return r.besideType(word, word.items, at)
}

// leave leaves values.
func (r *reader) leave(s *shape, values []*value) {
	r.spend((len(s.values) + len(values)) / itemsPerStep)
	if !s.among {
		s.keep(values)
		return
	}
	held := map[string]bool{}
	for _, v := range values {
		held[v.same()] = true
	}
	s.keep(slices.DeleteFunc(slices.Clone(s.values), func(v *value) bool { return !held[v.same()] }))
}

func denyConst(r *reader, s *shape, at *value) error {
	word := at.member("const")
	return r.exclude(s, word, []*value{word})
}

func denyEnum(r *reader, s *shape, at *value) error {
	word := at.member("enum")
	if word.kind != list {
		return wrong(word, "enum must be a list of values")
	}
	return r.exclude(s, word, word.items)
}

// exclude takes the values of a word out.
func (r *reader) exclude(s *shape, word *value, values []*value) error {
	for _, v := range values {
		switch {
		case v.kind == null:
			s.without(null)
		case v.kind == boolean && v.yes():
			s.booleans &^= 2
		case v.kind == boolean:
			s.booleans &^= 1
		case v.kind == number && s.may(number):
			s.numbers.without = append(s.numbers.without, v.text)
		case (v.kind == list || v.kind == object) && s.may(v.kind):
			s.excluded = append(s.excluded, v)
		}
	}
	if s.may(text) {
		s.text = r.a.And(s.text, r.otherTexts(word, values))
	}
	return r.step(word, len(values))
}

// otherTexts is all texts but those among a word's values.
func (r *reader) otherTexts(word *value, values []*value) lexeme.Expr {
	if known, has := r.otherwise[word]; has {
		return known
	}
	var texts []string
	for _, v := range values {
		if v.kind == text {
			texts = append(texts, v.text)
		}
	}
	r.otherwise[word] = r.a.Not(r.words(texts))
	return r.otherwise[word]
}

// longestCount stands for all counts above it: no text has so many characters, items or members.
const longestCount = 1 << 24

// whole reads a count.
func whole(word *value) (int, error) {
	if word.kind == number {
		if x := rational(word.text); x != nil && x.IsInt() && x.Sign() >= 0 {
			if !x.Num().IsInt64() || x.Num().Int64() > longestCount {
				return longestCount, nil
			}
			return int(x.Num().Int64()), nil
		}
		if n, err := strconv.ParseFloat(excerpt.Of(word.text, 2*maxExponent), 64); err == nil && n > longestCount {
			return longestCount, nil
		}
	}
	return 0, wrong(word, "%s must be a whole number that is not negative", word.step)
}

// atMost reads an upper count.
func atMost(word *value) (int, error) {
	n, err := whole(word)
	if n == longestCount {
		return lexeme.Unbounded, err
	}
	return n, err
}

func holdPattern(r *reader, s *shape, at *value) error {
	x, known, err := r.patternIn(at)
	if known && err == nil {
		s.text = r.a.And(s.text, x)
	}
	return err
}

func denyPattern(r *reader, s *shape, at *value) error {
	s.only(text)
	x, known, err := r.patternIn(at)
	if known && err == nil {
		s.text = r.a.And(s.text, r.a.Not(x))
	}
	return err
}

func holdFormat(r *reader, s *shape, at *value) error {
	x, known, err := r.format(at.member("format"))
	if known && err == nil {
		s.text = r.a.And(s.text, x)
	}
	return err
}

// denyFormat leaves nothing where the format asserts nothing.
func denyFormat(r *reader, all []*shape, at *value) ([]*shape, error) {
	x, known, err := r.format(at.member("format"))
	if err != nil || !known {
		return nil, err
	}
	if word := at.member("format"); !format.Exact(word.text) {
		return all, r.cannot(word, "that a string does not have the format %q cannot be enforced", word.text)
	}
	for _, s := range all {
		s.only(text)
		s.text = r.a.And(s.text, r.a.Not(x))
	}
	return all, nil
}

// textOf is what holds of a string, as one expression.
func (r *reader) textOf(s *shape) lexeme.Expr {
	if s.length == limitless {
		return s.text
	}
	return r.a.And(s.text, r.a.Repeat(lexeme.Char, s.length.least, s.length.most))
}

// words is any of some texts. Those that begin alike share their beginning: a text then rules out
// most others at its first character.
func (r *reader) words(of []string) lexeme.Expr {
	of = slices.Clone(of)
	slices.Sort(of)
	return r.begun(slices.Compact(of), 0)
}

// begun is any of some sorted texts from an offset on, before which they are equal.
func (r *reader) begun(of []string, from int) lexeme.Expr {
	if len(of) == 1 {
		return r.a.Text(of[0][from:])
	}
	var parts []lexeme.Expr
	for start := 0; start < len(of); {
		if len(of[start]) == from {
			parts = append(parts, lexeme.Empty)
			start++
			continue
		}
		end, width := start+1, runeAt(of[start], from)
		for end < len(of) && len(of[end]) >= from+width && of[end][from:from+width] == of[start][from:from+width] {
			end++
		}
		common := commonPrefix(of[start], of[end-1], from+width)
		if end-start == 1 {
			common = len(of[start])
		}
		parts = append(parts, r.a.Then(r.a.Text(of[start][from:common]), r.begun(of[start:end], common)))
		start = end
	}
	return r.a.Or(parts...)
}

// runeAt is the length in bytes of the character at an offset.
func runeAt(s string, at int) int {
	_, width := utf8.DecodeRuneInString(s[at:])
	return width
}

// commonPrefix is how many bytes of whole characters two texts share, which are known to share the
// first so many.
func commonPrefix(a, b string, known int) int {
	for known < len(a) && known < len(b) {
		width := runeAt(a, known)
		if len(b) < known+width || a[known:known+width] != b[known:known+width] {
			break
		}
		known += width
	}
	return known
}
