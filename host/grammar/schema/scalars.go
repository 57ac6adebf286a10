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

// valueWords say which values are allowed, of any kind.
var valueWords = []word{
	{names: []string{"type"}, hold: holdType, deny: denyType},
	{names: []string{"const"}, hold: eachAlone(holdConst), deny: eachAlone(denyConst), since: 6},
	{names: []string{"enum"}, hold: eachAlone(holdEnum), deny: eachAlone(denyEnum)},
}

var stringWords = []word{
	atLeastWord("minLength", text, characters),
	atMostWord("maxLength", text, characters),
	{names: []string{"pattern"}, hold: eachAlone(holdPattern), deny: eachAlone(denyPattern)},
	{names: []string{"format"}, hold: eachAlone(holdFormat), deny: denyFormat},
}

// readType reads a type: the kinds that it names, and whether its numbers are integers.
func (r *reader) readType(at *value) (named uint8, integers bool, err error) {
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
		if r.o.Loose { // Gemini's types are in capitals
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
	named, integers, err := r.readType(at)
	for _, s := range all {
		s.kinds &= named
		s.numbers.integer = s.numbers.integer || integers
	}
	return all, err
}

func denyType(r *reader, all []*shape, at *value) ([]*shape, error) {
	named, integers, err := r.readType(at)
	if err != nil {
		return nil, err
	}
	var made []*shape
	if integers {
		made = copies(all)
		for _, s := range made {
			s.only(number)
			s.numbers.notInteger = true
		}
	}
	for _, s := range all {
		s.kinds &^= named
	}
	return append(made, all...), nil
}

func holdConst(r *reader, s *shape, at *value) error {
	word := at.member("const")
	r.intersectValues(s, []*value{word})
	return r.checkBesideType(word, []*value{word}, at)
}

// checkBesideType refuses values of which none has the type beside them, where Options.Loose drops
// such a word. Without it, that is a schema that nothing fits, like any other.
func (r *reader) checkBesideType(word *value, values []*value, at *value) error {
	if !r.o.Loose || len(values) == 0 || at.member("type") == nil {
		return nil
	}
	named, integers, err := r.readType(at)
	fits := func(v *value) bool {
		return named&(1<<v.kind) != 0 && (v.kind != number || !integers || !strings.Contains(canonicalNumber(v.text), "e-"))
	}
	if err != nil || slices.ContainsFunc(values, fits) {
		return nil //nolint:nilerr // a malformed type is reported where it is read
	}
	return wrong(word, "none of its values is of the type beside it")
}

func holdEnum(r *reader, s *shape, at *value) error {
	word := at.member("enum")
	if word.kind != list {
		return wrong(word, "enum must be a list of values")
	}
	r.intersectValues(s, word.items)
	if err := r.step(word, len(word.items)); err != nil {
		return err
	}
	return r.checkBesideType(word, word.items, at)
}

// intersectValues allows only some values, of those that were allowed.
func (r *reader) intersectValues(s *shape, values []*value) {
	r.spend((len(s.values) + len(values)) / itemsPerStep)
	if !s.listsValues {
		s.setValues(values)
		return
	}
	held := map[string]bool{}
	for _, v := range values {
		held[v.canonicalKey()] = true
	}
	s.setValues(slices.DeleteFunc(slices.Clone(s.values), func(v *value) bool { return !held[v.canonicalKey()] }))
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

// exclude takes out the values of a word.
func (r *reader) exclude(s *shape, word *value, values []*value) error {
	for _, v := range values {
		switch {
		case v.kind == null:
			s.without(null)
		case v.kind == boolean && v.isTrue():
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

// otherTexts is all texts except those among a word's values.
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
	r.otherwise[word] = r.a.Not(r.anyText(texts))
	return r.otherwise[word]
}

// longestCount stands for all higher counts: no text has so many characters, items or members.
const longestCount = 1 << 24

// readCount reads a number of things.
func readCount(word *value) (int, error) {
	if word.kind == number {
		if x := parseRational(word.text); x != nil && x.IsInt() && x.Sign() >= 0 {
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

// readUpperCount reads a highest number of things.
func readUpperCount(word *value) (int, error) {
	n, err := readCount(word)
	if n == longestCount {
		return lexeme.Unbounded, err
	}
	return n, err
}

func holdPattern(r *reader, s *shape, at *value) error {
	x, known, err := r.patternOf(at)
	if known && err == nil {
		s.text = r.a.And(s.text, x)
	}
	return err
}

func denyPattern(r *reader, s *shape, at *value) error {
	s.only(text)
	x, known, err := r.patternOf(at)
	if known && err == nil {
		s.text = r.a.And(s.text, r.a.Not(x))
	}
	return err
}

func holdFormat(r *reader, s *shape, at *value) error {
	x, known, err := r.compileFormat(at.member("format"))
	if known && err == nil {
		s.text = r.a.And(s.text, x)
	}
	return err
}

// denyFormat allows nothing where the format asserts nothing.
func denyFormat(r *reader, all []*shape, at *value) ([]*shape, error) {
	x, known, err := r.compileFormat(at.member("format"))
	if err != nil || !known {
		return nil, err
	}
	if word := at.member("format"); !format.Exact(word.text) {
		return all, r.relaxOrRefuse(word, "that a string does not have the format %q cannot be enforced", word.text)
	}
	for _, s := range all {
		s.only(text)
		s.text = r.a.And(s.text, r.a.Not(x))
	}
	return all, nil
}

// stringExpr is what must hold of a string, as one expression.
func (r *reader) stringExpr(s *shape) lexeme.Expr {
	if s.length == limitless {
		return s.text
	}
	return r.a.And(s.text, r.a.Repeat(lexeme.Char, s.length.least, s.length.most))
}

// anyText is any of some texts. Those with a common beginning share it, as in a trie, so the first
// character of a text rules out most others.
func (r *reader) anyText(of []string) lexeme.Expr {
	of = slices.Clone(of)
	slices.Sort(of)
	return r.anyTextFrom(slices.Compact(of), 0)
}

// anyTextFrom is any of some sorted texts from an offset on, up to which they are equal.
func (r *reader) anyTextFrom(of []string, from int) lexeme.Expr {
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
		end, width := start+1, runeLength(of[start], from)
		for end < len(of) && len(of[end]) >= from+width && of[end][from:from+width] == of[start][from:from+width] {
			end++
		}
		common := commonPrefix(of[start], of[end-1], from+width)
		if end-start == 1 {
			common = len(of[start])
		}
		parts = append(parts, r.a.Then(r.a.Text(of[start][from:common]), r.anyTextFrom(of[start:end], common)))
		start = end
	}
	return r.a.Or(parts...)
}

// runeLength is the number of bytes of the character at an offset.
func runeLength(s string, at int) int {
	_, width := utf8.DecodeRuneInString(s[at:])
	return width
}

// commonPrefix is how many bytes of whole characters two texts share, known of which are known.
func commonPrefix(a, b string, known int) int {
	for known < len(a) && known < len(b) {
		width := runeLength(a, known)
		if len(b) < known+width || a[known:known+width] != b[known:known+width] {
			break
		}
		known += width
	}
	return known
}

// limits bound the characters of a string, the members of an object, or the items of a list.
type limits struct{ least, most int }

// limitless is any number.
var limitless = limits{most: lexeme.Unbounded}

// impossible reports whether no number is within the limits.
func (l limits) impossible() bool { return exceeds(l.least, l.most) }

func characters(s *shape) *limits  { return &s.length }
func memberCount(s *shape) *limits { return &s.members.limits }
func itemCount(s *shape) *limits   { return &s.sequences.limits }

// atLeastWord is a word such as minLength, which says how many there are at least in values of a
// kind.
func atLeastWord(name string, of kind, in func(*shape) *limits) word {
	hold := func(_ *reader, s *shape, at *value) error {
		n, err := readCount(at.member(name))
		in(s).least = max(in(s).least, n)
		return err
	}
	deny := func(_ *reader, s *shape, at *value) error {
		n, err := readCount(at.member(name))
		if s.only(of); n == 0 {
			s.kinds = 0
		}
		in(s).most = lowerOf(in(s).most, max(n-1, 0))
		return err
	}
	return word{names: []string{name}, hold: eachAlone(hold), deny: eachAlone(deny)}
}

// atMostWord is a word such as maxLength, which says how many there are at most.
func atMostWord(name string, of kind, in func(*shape) *limits) word {
	hold := func(_ *reader, s *shape, at *value) error {
		n, err := readUpperCount(at.member(name))
		in(s).most = lowerOf(in(s).most, n)
		return err
	}
	deny := func(_ *reader, s *shape, at *value) error {
		n, err := readCount(at.member(name))
		s.only(of)
		in(s).least = max(in(s).least, n+1)
		return err
	}
	return word{names: []string{name}, hold: eachAlone(hold), deny: eachAlone(deny)}
}

// compilePattern returns the texts in which a pattern matches somewhere, and whether it is
// enforced. at is its place.
func (r *reader) compilePattern(at *value, source string) (lexeme.Expr, bool, error) {
	if known, has := r.patterns[source]; has {
		return known, true, nil
	}
	x, err := pattern.ECMA(r.a, source)
	if err != nil {
		if r.a.Err() != nil {
			return lexeme.Nothing, false, wrong(at, "%v", err)
		}
		return lexeme.Nothing, false, r.relaxOrRefuse(at, "%v", err)
	}
	r.patterns[source] = x
	return x, true, nil
}

// patternOf compiles the pattern of a schema.
func (r *reader) patternOf(at *value) (lexeme.Expr, bool, error) {
	word := at.member("pattern")
	if word.kind != text {
		return lexeme.Nothing, false, wrong(word, "a pattern must be a string")
	}
	return r.compilePattern(word, word.text)
}

// compileFormat returns the texts of a format, and whether it asserts anything.
func (r *reader) compileFormat(word *value) (lexeme.Expr, bool, error) {
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

// numbers is what must hold of a number.
type numbers struct {
	integer, notInteger bool // it must be an integer; must not be
	low, high           []bound
	multiples           []string
	otherMultiples      []string // of these it must not be a multiple
	without             []string // it must not equal these
}

func (n *numbers) copy() numbers {
	c := *n
	c.low, c.high = slices.Clip(n.low), slices.Clip(n.high)
	c.multiples, c.otherMultiples, c.without = slices.Clip(n.multiples), slices.Clip(n.otherMultiples), slices.Clip(n.without)
	return c
}

func (n *numbers) impossible() bool { return n.integer && n.notInteger }

func (n *numbers) isFree() bool {
	return !n.integer && !n.notInteger && len(n.low)+len(n.high)+len(n.multiples)+len(n.otherMultiples)+len(n.without) == 0
}

var numberWords = []word{
	{names: []string{"minimum", "exclusiveMinimum"}, hold: eachAlone(holdLow), deny: denyLow},
	{names: []string{"maximum", "exclusiveMaximum"}, hold: eachAlone(holdHigh), deny: denyHigh},
	{names: []string{"multipleOf", "divisibleBy"}, hold: eachAlone(holdMultiple), deny: eachAlone(denyMultiple)},
}

// readBounds reads a bound of numbers. Up to draft 4, exclusiveMinimum is a boolean that excludes
// minimum itself.
func readBounds(at *value, inclusive, exclusive string) ([]bound, error) {
	var made []bound
	without := at.member(exclusive)
	if word := at.member(inclusive); word != nil {
		if word.kind != number {
			return nil, wrong(word, "%s must be a number", inclusive)
		}
		made = append(made, bound{Value: word.text, Exclusive: without != nil && without.isTrue()})
	}
	if without != nil && without.kind == number {
		made = append(made, bound{Value: without.text, Exclusive: true})
	} else if without != nil && without.kind != boolean {
		return nil, wrong(without, "%s must be a number", exclusive)
	}
	return made, nil
}

func readLows(at *value) ([]bound, error)  { return readBounds(at, "minimum", "exclusiveMinimum") }
func readHighs(at *value) ([]bound, error) { return readBounds(at, "maximum", "exclusiveMaximum") }

func holdLow(_ *reader, s *shape, at *value) error {
	low, err := readLows(at)
	s.numbers.low = append(s.numbers.low, low...)
	return err
}

func holdHigh(_ *reader, s *shape, at *value) error {
	high, err := readHighs(at)
	s.numbers.high = append(s.numbers.high, high...)
	return err
}

func denyLow(_ *reader, all []*shape, at *value) ([]*shape, error) {
	low, err := readLows(at)
	return denyBounds(all, low, func(s *shape, b bound) { s.numbers.high = append(s.numbers.high, b) }), err
}

func denyHigh(_ *reader, all []*shape, at *value) ([]*shape, error) {
	high, err := readHighs(at)
	return denyBounds(all, high, func(s *shape, b bound) { s.numbers.low = append(s.numbers.low, b) }), err
}

// denyBounds makes an alternative for each bound, with numbers beyond it.
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

func readMultiple(at *value) (*value, error) {
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
	word, err := readMultiple(at)
	if err != nil {
		return err
	}
	_, err = numeric.Numbers(r.a, numeric.Range{MultipleOf: []string{word.text}})
	switch {
	case err == nil:
		s.numbers.multiples = append(s.numbers.multiples, word.text)
	case s.may(number):
		return r.relaxOrRefuse(word, "%v", err)
	}
	return nil
}

func denyMultiple(r *reader, s *shape, at *value) error {
	word, err := readMultiple(at)
	if err != nil {
		return err
	}
	if s.only(number); s.kinds == 0 {
		return nil
	}
	if _, err := numeric.Numbers(r.a, numeric.Range{MultipleOf: []string{word.text}}); err != nil {
		return r.relaxOrRefuse(word, "%v", err)
	}
	s.numbers.otherMultiples = append(s.numbers.otherMultiples, word.text)
	return nil
}

// numberExpr is what must hold of a number, as one expression of its spelling.
func (r *reader) numberExpr(n *numbers) (lexeme.Expr, error) {
	x, err := numeric.Numbers(r.a, numeric.Range{Integer: n.integer, Min: n.low, Max: n.high, MultipleOf: n.multiples})
	if err != nil || !n.notInteger && len(n.otherMultiples) == 0 && len(n.without) == 0 {
		return x, err
	}
	parts := []lexeme.Expr{x, numeric.Plain(r.a)}
	others := n.otherMultiples
	if n.notInteger {
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

// plainNumber writes a number without an exponent, and an integer without a fraction; "" where that
// takes too many digits.
func plainNumber(spelled string) string {
	if !strings.ContainsAny(spelled, "eE") {
		if strings.Contains(spelled, ".") {
			spelled = strings.TrimSuffix(strings.TrimRight(spelled, "0"), ".")
		}
		if spelled == "-0" {
			return "0"
		}
		return spelled
	}
	x := parseRational(spelled)
	switch {
	case x == nil:
		return ""
	case x.IsInt():
		return x.Num().String()
	}
	return strings.TrimRight(x.FloatString(len(spelled)+maxExponent), "0")
}
