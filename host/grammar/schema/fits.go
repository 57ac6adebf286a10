// SPDX-License-Identifier: MIT

package schema

import (
	"slices"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// fits reports whether a value of the document, of an enum, fits a goal.
func (r *reader) fits(v *value, g goal) (bool, error) {
	all, err := r.spread(g)
	if err != nil {
		return false, err
	}
	for _, s := range all {
		if s.among && !r.isAmong(v, s.values) {
			continue
		}
		if fits, err := r.fitsShape(v, s); err != nil || fits {
			return fits, err
		}
	}
	return false, nil
}

// isAmong reports whether a value is one of some.
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

// fitsShape reports whether a value fits a shape, leaving aside the values that it must be among.
func (r *reader) fitsShape(v *value, s *shape) (bool, error) {
	if err := r.step(v, 1); err != nil {
		return false, err
	}
	if !s.may(v.kind) || r.isAmong(v, s.excluded) {
		return false, nil
	}
	switch v.kind {
	case boolean:
		return s.booleans&2 != 0 && v.yes() || s.booleans&1 != 0 && !v.yes(), nil
	case text:
		if s.text == lexeme.All && s.length == limitless {
			return true, nil
		}
		return r.match(r.textOf(s), v.text)
	case number:
		if s.numbers.free() {
			return true, nil
		}
		x, err := r.numberOf(&s.numbers)
		if err != nil {
			return false, err
		}
		digits := plain(v.text)
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
	if len(v.items) < m.least || above(len(v.items), m.most) {
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
	for _, o := range m.some {
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
	if len(v.items) < q.least || above(len(v.items), q.most) {
		return false, nil
	}
	seen := map[string]bool{}
	for i, item := range v.items {
		if fits, err := r.fits(item, r.itemGoal(q, i)); err != nil || !fits {
			return false, err
		}
		if q.unique != nil && seen[item.same()] {
			return false, nil
		}
		seen[item.same()] = true
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
		if count < c.least || above(count, c.most) {
			return false, nil
		}
	}
	return true, nil
}
