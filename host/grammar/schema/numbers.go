// SPDX-License-Identifier: MIT

package schema

import (
	"slices"
	"strings"

	"github.com/penstock/penstock/host/grammar/lexeme"
	numeric "github.com/penstock/penstock/host/grammar/number"
)

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
