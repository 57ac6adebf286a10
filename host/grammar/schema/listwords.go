// SPDX-License-Identifier: MIT

package schema

import "github.com/penstock/penstock/host/grammar/lexeme"

var listWords = []word{
	{names: []string{"items", "prefixItems", "additionalItems"}, hold: each(holdItems), deny: denyItems},
	least("minItems", list, itemCount),
	most("maxItems", list, itemCount),
	{names: []string{"contains"}, hold: each(holdContains), deny: denyContains, since: 6},
	{names: []string{"uniqueItems"}, hold: each(holdUnique), deny: denyUnique},
}

// listPart is the first items, each by itself, and the rest.
type listPart struct {
	id     int
	prefix []literal
	rest   *literal
	from   int  // an unevaluatedItems: rest is of items from here on
	silent bool // as a part's
}

// listOf reads the items that a place speaks of. A list of items is what prefixItems is called
// since 2020-12, and additionalItems the rest.
func (r *reader) listOf(at *value) (*listPart, error) {
	if known, has := r.lists[at]; has {
		return known, nil
	}
	r.partCount++
	p := &listPart{id: r.partCount}
	first, rest := at.member("prefixItems"), at.member("items")
	if rest != nil && rest.kind == list {
		if first == nil {
			first = rest
		}
		rest = at.member("additionalItems")
	}
	if first != nil {
		if first.kind != list {
			return nil, wrong(first, "%s must be a list of schemas", first.step)
		}
		for _, v := range first.items {
			p.prefix = append(p.prefix, literal{at: v})
		}
	}
	if rest != nil {
		p.rest = &literal{at: rest}
	}
	r.lists[at] = p
	return p, nil
}

func holdItems(r *reader, s *shape, at *value) error {
	p, err := r.listOf(at)
	if err == nil && s.may(list) {
		if r.evaluating > 0 && r.denying > 0 {
			silent := *p
			silent.silent = true
			p = &silent
		}
		s.sequences.parts = append(s.sequences.parts, p)
	}
	return err
}

func denyItems(r *reader, all []*shape, at *value) ([]*shape, error) {
	p, err := r.listOf(at)
	if err != nil {
		return nil, err
	}
	var made []*shape
	for i, l := range p.prefix {
		denied := literal{l.at, !l.not}
		if r.goal(denied).never() {
			continue
		}
		if err := r.step(at, 1+len(all)+i/itemsPerStep); err != nil {
			return nil, err
		}
		of := r.itemPart(i, denied)
		of.silent = true
		for _, s := range copies(all) {
			s.only(list)
			s.sequences.parts = append(s.sequences.parts, of)
			s.sequences.least = max(s.sequences.least, i+1)
			made = append(made, s)
		}
	}
	if p.rest != nil && !r.goal(literal{p.rest.at, !p.rest.not}).never() {
		for _, s := range all {
			s.only(list)
			s.sequences.contains = append(s.sequences.contains, contain{
				at: p.rest.at, goal: literal{p.rest.at, !p.rest.not}, from: len(p.prefix), least: 1, most: lexeme.Unbounded,
			})
			made = append(made, s)
		}
	}
	return r.settle(made, at)
}

// anyValue is a schema that allows anything.
var anyValue = &value{kind: boolean, text: "true", id: -1}

// containsIn reads contains and how often.
func containsIn(at *value) (contain, error) {
	word := at.member("contains")
	c := contain{at: word, goal: literal{at: word}, least: 1, most: lexeme.Unbounded}
	var err error
	if n := at.member("minContains"); n != nil {
		if c.least, err = whole(n); err != nil {
			return c, err
		}
	}
	if n := at.member("maxContains"); n != nil {
		c.most, err = atMost(n)
	}
	return c, err
}

func holdContains(_ *reader, s *shape, at *value) error {
	c, err := containsIn(at)
	if above(c.least, c.most) {
		s.without(list)
	}
	if s.may(list) && (c.least > 0 || c.most != lexeme.Unbounded) {
		s.sequences.contains = append(s.sequences.contains, c)
		s.sequences.least = max(s.sequences.least, c.least)
	}
	return err
}

func denyContains(_ *reader, all []*shape, at *value) ([]*shape, error) {
	c, err := containsIn(at)
	var made []*shape
	add := func(least, most int) {
		for _, s := range copies(all) {
			s.only(list)
			s.sequences.contains = append(s.sequences.contains, contain{at: c.at, goal: c.goal, least: least, most: most})
			s.sequences.least = max(s.sequences.least, least)
			made = append(made, s)
		}
	}
	if c.least > 0 {
		add(0, c.least-1)
	}
	if c.most != lexeme.Unbounded {
		add(c.most+1, lexeme.Unbounded)
	}
	return made, err
}

func holdUnique(_ *reader, s *shape, at *value) error {
	if word := at.member("uniqueItems"); word.yes() && s.may(list) {
		s.sequences.unique = word
	}
	return nil
}

func denyUnique(r *reader, all []*shape, at *value) ([]*shape, error) {
	word := at.member("uniqueItems")
	if !word.yes() {
		return nil, nil
	}
	kept := all[:0]
	for _, s := range all {
		if s.only(list); s.kinds != 0 && !above(2, s.sequences.most) {
			s.sequences.least = max(s.sequences.least, 2)
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		return nil, nil
	}
	return kept, r.cannot(word, "that items repeat cannot be enforced")
}
