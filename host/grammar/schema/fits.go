// SPDX-License-Identifier: MIT

package schema

import (
	"slices"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// fits reports whether a value of the document, such as one of an enum, fits a goal.
func (r *reader) fits(v *value, g goal) (bool, error) {
	all, err := r.expand(g)
	if err != nil {
		return false, err
	}
	for _, s := range all {
		if s.listsValues && !r.isAmong(v, s.values) {
			continue
		}
		if fits, err := r.fitsShape(v, s); err != nil || fits {
			return fits, err
		}
	}
	return false, nil
}

// isAmong reports whether a value equals one of some.
func (r *reader) isAmong(v *value, values []*value) bool {
	r.spend(len(values) / itemsPerStep)
	return slices.ContainsFunc(values, func(w *value) bool { return equal(v, w) })
}

// match reports whether a text is one of an expression's.
func (r *reader) match(x lexeme.Expr, text string) (bool, error) {
	if x == lexeme.All {
		return true, nil
	}
	r.spend(len(text) / charactersPerStep)
	return r.a.Match(x, text)
}

// fitsShape reports whether a value fits a shape, apart from the values that it lists.
func (r *reader) fitsShape(v *value, s *shape) (bool, error) {
	if err := r.step(v, 1); err != nil {
		return false, err
	}
	if !s.may(v.kind) || r.isAmong(v, s.excluded) {
		return false, nil
	}
	switch v.kind {
	case boolean:
		return s.booleans&2 != 0 && v.isTrue() || s.booleans&1 != 0 && !v.isTrue(), nil
	case text:
		if s.text == lexeme.All && s.length == limitless {
			return true, nil
		}
		return r.match(r.stringExpr(s), v.text)
	case number:
		if s.numbers.isFree() {
			return true, nil
		}
		x, err := r.numberExpr(&s.numbers)
		if err != nil {
			return false, err
		}
		digits := plainNumber(v.text)
		if digits == "" {
			return false, nil
		}
		return r.match(x, digits)
	case object:
		return r.fitsObject(v, &s.members)
	case list:
		return r.fitsList(v, &s.sequences)
	}
	return true, nil
}

func (r *reader) fitsObject(v *value, m *members) (bool, error) {
	if len(v.items) < m.least || exceeds(len(v.items), m.most) {
		return false, nil
	}
	r.spend((len(m.required) + len(m.absent)) / itemsPerStep)
	for _, name := range m.required {
		if v.member(name) == nil {
			return false, nil
		}
	}
	for _, name := range m.absent {
		if v.member(name) != nil {
			return false, nil
		}
	}
	for i, name := range v.names {
		g, fits, err := r.memberGoal(m, name)
		if err != nil || !fits {
			return false, err
		}
		if fits, err := r.fits(v.items[i], g); err != nil || !fits {
			return false, err
		}
	}
	for _, o := range m.unnamed {
		found := false
		for i, name := range v.names {
			named, err := r.match(o.names, name)
			if err != nil {
				return false, err
			}
			if named && !found {
				if found, err = r.fits(v.items[i], o.goal); err != nil {
					return false, err
				}
			}
		}
		if !found {
			return false, nil
		}
	}
	return true, nil
}

func (r *reader) fitsList(v *value, q *sequences) (bool, error) {
	if len(v.items) < q.least || exceeds(len(v.items), q.most) {
		return false, nil
	}
	seen := map[string]bool{}
	for i, item := range v.items {
		if fits, err := r.fits(item, r.itemGoal(q, i)); err != nil || !fits {
			return false, err
		}
		if q.unique != nil && seen[item.canonicalKey()] {
			return false, nil
		}
		seen[item.canonicalKey()] = true
	}
	for _, c := range q.contains {
		count := 0
		for i := c.from; i < len(v.items); i++ {
			fits, err := r.fits(v.items[i], r.goal(c.goal))
			if err != nil {
				return false, err
			}
			if fits {
				count++
			}
		}
		if count < c.least || exceeds(count, c.most) {
			return false, nil
		}
	}
	return true, nil
}

const (
	maxVoidDepth = 6   // of nested objects and lists that isVoid looks into
	voidStates   = 200 // of a lexeme's automaton that isVoidText explores
)

// found is what isVoid knows of a goal: that nothing fits it, or that it did not see that from some
// depth on.
type found struct {
	void  bool
	depth int
}

// isVoid reports whether nothing fits a goal. It is an estimate: false may mean that it was not
// seen. depth is how many objects and lists, of which the same is asked, lie around it.
func (r *reader) isVoid(g goal, depth int) (bool, error) {
	if g.impossible() {
		return true, nil
	}
	var of key
	of.goal(g)
	name := string(of)
	if known, has := r.voids[name]; has && (known.void || known.depth <= depth) {
		return known.void, nil
	}
	if depth > maxVoidDepth || r.expanding[name] {
		return false, nil
	}
	r.voids[name] = found{false, depth} // for when it leads to itself
	all, err := r.expand(g)
	if err != nil {
		return false, r.step(g[0].at, 0) // the error is reported where the goal is read, if it is
	}
	for _, s := range all {
		void, err := r.isVoidShape(s, depth)
		if err != nil || !void {
			return false, err
		}
	}
	r.voids[name] = found{true, depth}
	return true, nil
}

// isVoidShape is isVoid for one alternative.
func (r *reader) isVoidShape(s *shape, depth int) (bool, error) {
	if s.listsValues {
		for _, v := range s.values {
			if fits, err := r.fitsShape(v, s); err != nil || fits {
				return false, err
			}
		}
		return true, nil
	}
	if s.kinds&(1<<null|1<<boolean) != 0 {
		return false, nil
	}
	if s.may(text) {
		if void, err := r.isVoidText(r.stringExpr(s)); err != nil || !void {
			return false, err
		}
	}
	if s.may(number) {
		x, err := r.numberExpr(&s.numbers)
		if err != nil {
			return false, err
		}
		if void, err := r.isVoidText(x); err != nil || !void {
			return false, err
		}
	}
	if s.may(list) {
		if void, err := r.isVoidList(&s.sequences, depth); err != nil || !void {
			return false, err
		}
	}
	if s.may(object) {
		return r.isVoidObject(&s.members, depth)
	}
	return true, nil
}

// isVoidText reports whether an expression has no text, as far as some work shows.
func (r *reader) isVoidText(x lexeme.Expr) (bool, error) {
	if x == lexeme.All {
		return false, nil
	}
	before := r.a.Len()
	void, err := r.a.IsVoid(x, voidStates)
	return void && err == nil, r.step(r.here, 20+(r.a.Len()-before)/4)
}

// isVoidObject looks for a required member that nothing fits: first among those that are quick to
// look at.
func (r *reader) isVoidObject(m *members, depth int) (bool, error) {
	var later []goal
	for _, name := range m.required {
		g, fits, err := r.memberGoal(m, name)
		if err != nil {
			return false, err
		}
		if !fits {
			return true, nil
		}
		if err := r.step(r.here, 1); err != nil {
			return false, err
		}
		if slices.ContainsFunc(g, func(l literal) bool { return hasSubschemas(l.at) }) {
			later = append(later, g)
		} else if void, err := r.isVoid(g, depth+1); err != nil || void {
			return void, err
		}
	}
	for _, g := range later {
		if void, err := r.isVoid(g, depth+1); err != nil || void {
			return void, err
		}
	}
	return false, nil
}

// hasSubschemas reports whether a schema applies others to the same value.
func hasSubschemas(at *value) bool {
	return slices.ContainsFunc([]string{"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if"}, func(word string) bool {
		return at.member(word) != nil
	})
}

// isVoidList looks for an item that must be there and that nothing fits.
func (r *reader) isVoidList(q *sequences, depth int) (bool, error) {
	for i := range min(q.least, 8) {
		if void, err := r.isVoid(r.itemGoal(q, i), depth+1); err != nil || void {
			return void, err
		}
	}
	return false, nil
}
