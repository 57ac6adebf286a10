// SPDX-License-Identifier: MIT

package schema

import (
	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

// maxPrefix bounds the items that each have a schema of their own.
const maxPrefix = 2_000

// itemGoal is what must hold of the item at an index.
func (r *reader) itemGoal(q *sequences, i int) goal {
	var literals []literal
	r.spend(len(q.parts) / itemsPerStep)
	for _, p := range q.parts {
		switch {
		case i < len(p.prefix):
			literals = append(literals, p.prefix[i])
		case p.rest != nil && i >= p.from:
			literals = append(literals, *p.rest)
		}
	}
	return r.goal(literals...)
}

// listBodies is the alternatives that are lists.
func (r *reader) listBodies(all []*shape) ([]grammar.Body, error) {
	var made []grammar.Body
	seen := map[string]bool{}
	for _, s := range all {
		var of key
		of.sequences(&s.sequences)
		r.spend(len(of) / keyBytesPerStep)
		if s.among || !s.may(list) || seen[string(of)] {
			continue
		}
		seen[string(of)] = true
		for _, v := range s.excluded {
			if v.kind == list {
				if err := r.cannot(v, "that a value is not this list cannot be enforced"); err != nil {
					return nil, err
				}
			}
		}
		variants, err := r.placeContained(&s.sequences)
		if err != nil {
			return nil, err
		}
		for _, q := range variants {
			body, err := r.listBody(q)
			if err != nil {
				return nil, err
			}
			made = append(made, body)
		}
	}
	return made, nil
}

// prefixOf is how many items have schemas of their own.
func prefixOf(q *sequences) int {
	n := 0
	for _, p := range q.parts {
		n = max(n, len(p.prefix), p.from)
	}
	return n
}

// listBody is the items of a list in their order.
func (r *reader) listBody(q *sequences) (grammar.Body, error) {
	prefix := prefixOf(q)
	if prefix > maxPrefix {
		return 0, wrong(r.here, "a list has more than %d items with schemas of their own", maxPrefix)
	}
	most := q.most
	var items []grammar.Body
	for i := range prefix {
		g := r.itemGoal(q, i)
		if void, err := r.void(g, maxVoidDepth-1); err != nil {
			return 0, err
		} else if void {
			most = lower(most, i)
			break
		}
		items = append(items, r.b.Call(r.rule(g)))
	}
	if above(q.least, most) {
		return r.b.Alt(), nil
	}
	rest, err := r.restOf(q, prefix, most)
	if err != nil {
		return 0, err
	}
	body := rest
	if most != lexeme.Unbounded && most <= len(items) {
		items, body = items[:most], r.b.Seq()
	}
	for i := len(items) - 1; i >= 0; i-- {
		after := body
		if i > 0 {
			body = r.b.Seq(r.spaces.comma, items[i], after)
		} else {
			body = r.b.Seq(items[i], after)
		}
		if i >= q.least {
			body = r.b.Alt(r.b.Seq(), body)
		}
		rule := r.b.Rule()
		r.b.Define(rule, body)
		body = r.b.Call(rule)
	}
	return r.b.Seq(r.spaces.openList, body, r.spaces.closeList), nil
}

// restOf is the items after those with schemas of their own, with the comma before them.
func (r *reader) restOf(q *sequences, prefix, most int) (grammar.Body, error) {
	end := grammar.Condition{Min: max(0, q.least-prefix), Max: most}
	if most != lexeme.Unbounded {
		end.Max = max(0, most-prefix)
	}
	optional := end.Min == 0
	g := r.itemGoal(q, prefix)
	void, err := r.void(g, maxVoidDepth-1)
	if err != nil {
		return 0, err
	}
	if void || end.Max == 0 {
		if q.unique != nil && prefix > 1 && !above(2, q.most) {
			if err := r.cannot(q.unique, "that items are unique is not enforced where they have schemas of their own"); err != nil {
				return 0, err
			}
		}
		if !optional || len(q.contains) > 0 && q.contains[0].least > 0 {
			return r.b.Alt(), nil
		}
		return r.b.Seq(), nil
	}
	var items grammar.Body
	switch {
	case q.unique != nil && above(2, q.most): // one item is unique
		q.unique = nil
		return r.restOf(q, prefix, most)
	case q.unique != nil:
		items, err = r.uniqueItems(q, g, prefix, end)
	case len(q.contains) > 0:
		optional = optional && q.contains[0].least == 0
		items, err = r.containing(q, g, end)
	default:
		items = r.plainItems(g, end)
	}
	if err != nil {
		return 0, err
	}
	if prefix > 0 {
		items = r.b.Seq(r.spaces.comma, items)
	}
	if optional {
		items = r.b.Alt(r.b.Seq(), items)
	}
	return items, nil
}

// plainItems is items of one goal, at least one.
func (r *reader) plainItems(g goal, end grammar.Condition) grammar.Body {
	item := r.b.Call(r.rule(g))
	least, more := max(0, end.Min-1), end.Max
	if more != lexeme.Unbounded {
		more--
	}
	return r.b.Seq(item, r.b.Repeat(r.b.Seq(r.spaces.comma, item), least, more))
}
