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
	numeric "github.com/penstock/penstock/host/grammar/number"
	"github.com/penstock/penstock/host/grammar/pattern"
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

// limits is how many characters a string has, members an object, or items a list.
type limits struct{ least, most int }

// limitless is any number.
var limitless = limits{most: lexeme.Unbounded}

// never reports whether no number is within the limits.
func (l limits) never() bool { return above(l.least, l.most) }

func characters(s *shape) *limits  { return &s.length }
func memberCount(s *shape) *limits { return &s.members.limits }
func itemCount(s *shape) *limits   { return &s.sequences.limits }

// least is a word, as minLength, that says how many there are at least in values of a kind.
func least(name string, of kind, in func(*shape) *limits) word {
	hold := func(_ *reader, s *shape, at *value) error {
		n, err := whole(at.member(name))
		in(s).least = max(in(s).least, n)
		return err
	}
	deny := func(_ *reader, s *shape, at *value) error {
		n, err := whole(at.member(name))
		if s.only(of); n == 0 {
			s.kinds = 0
		}
		in(s).most = lower(in(s).most, max(n-1, 0))
		return err
	}
	return word{names: []string{name}, hold: each(hold), deny: each(deny)}
}

// most is a word, as maxLength, that says how many there are at most.
func most(name string, of kind, in func(*shape) *limits) word {
	hold := func(_ *reader, s *shape, at *value) error {
		n, err := atMost(at.member(name))
		in(s).most = lower(in(s).most, n)
		return err
	}
	deny := func(_ *reader, s *shape, at *value) error {
		n, err := whole(at.member(name))
		s.only(of)
		in(s).least = max(in(s).least, n+1)
		return err
	}
	return word{names: []string{name}, hold: each(hold), deny: each(deny)}
}

// pattern is the texts in which a pattern is found, and whether it is enforced. at is where it
// stands.
func (r *reader) pattern(at *value, source string) (lexeme.Expr, bool, error) {
	if known, has := r.patterns[source]; has {
		return known, true, nil
	}
	x, err := pattern.ECMA(r.a, source)
	if err != nil {
		if r.a.Err() != nil {
			return lexeme.Nothing, false, wrong(at, "%v", err)
		}
		return lexeme.Nothing, false, r.cannot(at, "%v", err)
	}
	r.patterns[source] = x
	return x, true, nil
}

// patternIn is the pattern of a schema.
func (r *reader) patternIn(at *value) (lexeme.Expr, bool, error) {
	word := at.member("pattern")
	if word.kind != text {
		return lexeme.Nothing, false, wrong(word, "a pattern must be a string")
	}
	return r.pattern(word, word.text)
}

// format is the texts of a format, and whether it asserts anything.
func (r *reader) format(word *value) (lexeme.Expr, bool, error) {
	if word.kind != text {
		return lexeme.Nothing, false, wrong(word, "format must be a string")
	}
	if known, has := r.formats[word.text]; has {
		return known, known != lexeme.Nothing, nil
	}
	x, known := format.Expr(r.a, word.text)
	r.formats[word.text] = x
	return x, known, nil
}

type bound = numeric.Bound

// numbers is what holds of a number.
type numbers struct {
	whole, broken  bool // an integer, or none
	low, high      []bound
	multiples      []string
	otherMultiples []string // of which it is no multiple
	without        []string
}

func (n *numbers) copy() numbers {
	c := *n
	c.low, c.high = slices.Clip(n.low), slices.Clip(n.high)
	c.multiples, c.otherMultiples, c.without = slices.Clip(n.multiples), slices.Clip(n.otherMultiples), slices.Clip(n.without)
	return c
}

func (n *numbers) never() bool { return n.whole && n.broken }

func (n *numbers) free() bool {
	return !n.whole && !n.broken && len(n.low)+len(n.high)+len(n.multiples)+len(n.otherMultiples)+len(n.without) == 0
}

var numberWords = []word{
	{names: []string{"minimum", "exclusiveMinimum"}, hold: each(holdLow), deny: denyLow},
	{names: []string{"maximum", "exclusiveMaximum"}, hold: each(holdHigh), deny: denyHigh},
	{names: []string{"multipleOf", "divisibleBy"}, hold: each(holdMultiple), deny: each(denyMultiple)},
}

// bounds reads a bound of numbers. To draft 4, exclusiveMinimum says of minimum that it is out of
// the range.
func bounds(at *value, inclusive, exclusive string) ([]bound, error) {
	var made []bound
	without := at.member(exclusive)
	if word := at.member(inclusive); word != nil {
		if word.kind != number {
			return nil, wrong(word, "%s must be a number", inclusive)
		}
		made = append(made, bound{Value: word.text, Exclusive: without != nil && without.yes()})
	}
	if without != nil && without.kind == number {
		made = append(made, bound{Value: without.text, Exclusive: true})
	} else if without != nil && without.kind != boolean {
		return nil, wrong(without, "%s must be a number", exclusive)
	}
	return made, nil
}

func lows(at *value) ([]bound, error)  { return bounds(at, "minimum", "exclusiveMinimum") }
func highs(at *value) ([]bound, error) { return bounds(at, "maximum", "exclusiveMaximum") }

func holdLow(_ *reader, s *shape, at *value) error {
	low, err := lows(at)
	s.numbers.low = append(s.numbers.low, low...)
	return err
}

func holdHigh(_ *reader, s *shape, at *value) error {
	high, err := highs(at)
	s.numbers.high = append(s.numbers.high, high...)
	return err
}

func denyLow(_ *reader, all []*shape, at *value) ([]*shape, error) {
	low, err := lows(at)
	return denyBounds(all, low, func(s *shape, b bound) { s.numbers.high = append(s.numbers.high, b) }), err
}

func denyHigh(_ *reader, all []*shape, at *value) ([]*shape, error) {
	high, err := highs(at)
	return denyBounds(all, high, func(s *shape, b bound) { s.numbers.low = append(s.numbers.low, b) }), err
}

// denyBounds makes an alternative for each bound, beyond which a number is.
func denyBounds(all []*shape, bounds []bound, add func(*shape, bound)) (made []*shape) {
	for _, b := range bounds {
		for _, s := range copies(all) {
			s.only(number)
			add(s, bound{Value: b.Value, Exclusive: !b.Exclusive})
			made = append(made, s)
		}
	}
	return made
}

func multipleIn(at *value) (*value, error) {
	word := at.member("multipleOf")
	if word == nil {
		word = at.member("divisibleBy") // draft 3
	}
	if word.kind != number || strings.HasPrefix(word.text, "-") {
		return nil, wrong(word, "%s must be a number above 0", word.step)
	}
	return word, nil
}

func holdMultiple(r *reader, s *shape, at *value) error {
	word, err := multipleIn(at)
	if err != nil {
		return err
	}
	_, err = numeric.Numbers(r.a, numeric.Range{MultipleOf: []string{word.text}})
	switch {
	case err == nil:
		s.numbers.multiples = append(s.numbers.multiples, word.text)
	case s.may(number):
		return r.cannot(word, "%v", err)
	}
	return nil
}

func denyMultiple(r *reader, s *shape, at *value) error {
	word, err := multipleIn(at)
	if err != nil {
		return err
	}
	if s.only(number); s.kinds == 0 {
		return nil
	}
	if _, err := numeric.Numbers(r.a, numeric.Range{MultipleOf: []string{word.text}}); err != nil {
		return r.cannot(word, "%v", err)
	}
	s.numbers.otherMultiples = append(s.numbers.otherMultiples, word.text)
	return nil
}

// numberOf is what holds of a number, as one expression of its digits.
func (r *reader) numberOf(n *numbers) (lexeme.Expr, error) {
	x, err := numeric.Numbers(r.a, numeric.Range{Integer: n.whole, Min: n.low, Max: n.high, MultipleOf: n.multiples})
	if err != nil || !n.broken && len(n.otherMultiples) == 0 && len(n.without) == 0 {
		return x, err
	}
	parts := []lexeme.Expr{x, numeric.Plain(r.a)}
	others := n.otherMultiples
	if n.broken {
		others = append(slices.Clip(others), "1")
	}
	for _, m := range others {
		multiples, err := numeric.Numbers(r.a, numeric.Range{MultipleOf: []string{m}})
		if err != nil {
			return lexeme.Nothing, err
		}
		parts = append(parts, r.a.Not(multiples))
	}
	for _, v := range n.without {
		just := []bound{{Value: v}}
		equals, err := numeric.Numbers(r.a, numeric.Range{Min: just, Max: just})
		if err != nil {
			return lexeme.Nothing, err
		}
		parts = append(parts, r.a.Not(equals))
	}
	return r.a.And(parts...), nil
}

// plain spells a number without an exponent, and an integer without a fraction; "" where that takes
// too many digits.
func plain(spelled string) string {
	if !strings.ContainsAny(spelled, "eE") {
		if strings.Contains(spelled, ".") {
			spelled = strings.TrimSuffix(strings.TrimRight(spelled, "0"), ".")
		}
		if spelled == "-0" {
			return "0"
		}
		return spelled
	}
	x := rational(spelled)
	switch {
	case x == nil:
		return ""
	case x.IsInt():
		return x.Num().String()
	}
	return strings.TrimRight(x.FloatString(len(spelled)+maxExponent), "0")
}
