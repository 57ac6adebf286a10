// SPDX-License-Identifier: MIT

package schema

import (
	"slices"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
	numeric "github.com/penstock/penstock/host/grammar/number"
)

// distinct is a goal's values, each in one spelling or known by what it means: so that of two it is
// known whether they are the same.
type distinct struct {
	values         []*value // that are few, each by itself
	texts, numbers lexeme.Expr
}

// uniqueItems is different items, where they are no objects and lists.
func (r *reader) uniqueItems(q *sequences, g goal, prefix int, end grammar.Condition) (grammar.Body, error) {
	d, scalar, err := r.distinct(g)
	if err != nil {
		return 0, err
	}
	why := ""
	switch {
	case prefix > 0 || len(q.contains) > 0:
		why = "that items are unique is not enforced beside contains, or where some have schemas of their own"
	case !scalar:
		why = "that items are unique is not enforced where they may be objects or lists"
	case end.Min > grammar.MaxUnique && end.Min > len(d.values):
		why = "that more than 1,000 items are unique is not enforced"
	default:
		return r.differentItems(d, end), nil
	}
	if err := r.cannot(q.unique, "%s", why); err != nil {
		return 0, err
	}
	if len(q.contains) > 0 {
		return r.containing(q, g, end)
	}
	return r.plainItems(g, end), nil
}

// differentItems is at least one item, and no two that are the same.
func (r *reader) differentItems(d distinct, end grammar.Condition) grammar.Body {
	end.Min = max(1, end.Min)
	loop := grammar.Loop{Separator: r.spaces.comma, Ends: []grammar.Condition{end}}
	for i, v := range d.values {
		loop.Items = append(loop.Items, grammar.Item{Is: r.literal(v), Bit: i, Once: true, Count: 1})
	}
	if d.texts != lexeme.Nothing {
		quote := r.b.Lexeme(r.a.Text(`"`), lexeme.UTF8)
		loop.Items = append(loop.Items, grammar.Item{Is: quote, Bit: -1, Count: 1,
			Unique: &grammar.Unique{Before: quote, Text: d.texts, Decoder: lexeme.JSONString}})
	}
	if d.numbers != lexeme.Nothing {
		loop.Items = append(loop.Items, grammar.Item{Is: r.b.Seq(), Bit: -1, Count: 1,
			Unique: &grammar.Unique{Text: d.numbers, Decoder: lexeme.UTF8, Set: 1}})
	}
	return r.b.Loop(loop)
}

// distinct tells a goal's values apart; false where some are objects or lists, but for those of an
// enum.
func (r *reader) distinct(g goal) (d distinct, scalar bool, err error) {
	all, err := r.spread(g)
	if err != nil {
		return d, false, err
	}
	if d.values, err = r.valuesOf(all); err != nil {
		return d, false, err
	}
	var texts, numbers []lexeme.Expr
	for _, s := range all {
		switch {
		case s.among:
			continue
		case s.may(object) || s.may(list):
			return d, false, nil
		case s.may(text):
			texts = append(texts, r.textOf(s))
		}
		if s.may(number) {
			x, err := r.numberOf(&s.numbers)
			if err != nil {
				return d, false, err
			}
			numbers = append(numbers, x)
		}
		d.add(s)
	}
	if len(texts) > 0 {
		d.texts = r.manyOf(&d, text, r.a.And(r.a.Or(texts...), r.a.Not(r.words(d.textsOf(text)))))
	}
	if len(numbers) > 0 {
		x := r.a.And(r.a.Or(numbers...), numeric.Single(r.a))
		for _, spelled := range d.textsOf(number) {
			just := []bound{{Value: spelled}}
			equals, err := numeric.Numbers(r.a, numeric.Range{Min: just, Max: just})
			if err != nil {
				return d, false, err
			}
			x = r.a.And(x, r.a.Not(equals))
		}
		d.numbers = r.manyOf(&d, number, x)
	}
	return d, true, nil
}

// add adds null, true and false, where a shape has them.
func (d *distinct) add(s *shape) {
	var made []*value
	if s.may(null) {
		made = append(made, &value{kind: null})
	}
	for bit, spelled := range []string{"false", "true"} {
		if s.may(boolean) && s.booleans>>bit&1 == 1 {
			made = append(made, &value{kind: boolean, text: spelled})
		}
	}
	for _, v := range made {
		if !slices.ContainsFunc(d.values, func(o *value) bool { return o.same() == v.same() }) {
			d.values = append(d.values, v)
		}
	}
}

// textsOf is the values of a kind, as they are written.
func (d *distinct) textsOf(k kind) (texts []string) {
	for _, v := range d.values {
		if v.kind == k {
			texts = append(texts, v.text)
		}
	}
	return texts
}

// manyOf is the values of a kind where they are many; a few are added to the others.
func (r *reader) manyOf(d *distinct, k kind, x lexeme.Expr) lexeme.Expr {
	few, all, err := r.a.Texts(x, grammar.MaxUnique)
	if !all || err != nil {
		return x
	}
	for _, spelled := range few {
		d.values = append(d.values, &value{kind: k, text: spelled})
	}
	return lexeme.Nothing
}
