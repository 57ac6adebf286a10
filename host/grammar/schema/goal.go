// SPDX-License-Identifier: MIT

package schema

import (
	"slices"

	"github.com/penstock/penstock/host/grammar"
)

// literal is a place of the schema that must hold, or must not.
type literal struct {
	at  *value
	not bool
}

// goal is literals that hold together, without order or repetition.
type goal []literal

// goal makes one of literals. Those that always hold are left out.
func (r *reader) goal(literals ...literal) goal {
	g := make(goal, 0, len(literals))
	for _, l := range literals {
		if trivial(l.at) && !l.not || l.at.kind == boolean && !l.at.yes() && l.not {
			continue
		}
		g = append(g, l)
	}
	slices.SortFunc(g, func(a, b literal) int {
		if a.at.id != b.at.id {
			return a.at.id - b.at.id
		}
		if a.not == b.not {
			return 0
		}
		if b.not {
			return -1
		}
		return 1
	})
	return slices.Compact(g)
}

// trivial reports whether a schema allows anything, as true and {} do.
func trivial(at *value) bool {
	return at.yes() || at.kind == object && len(at.items) == 0
}

// never reports whether a goal plainly cannot hold.
func (g goal) never() bool {
	for i, l := range g {
		if !l.not && l.at.kind == boolean && !l.at.yes() || l.not && trivial(l.at) {
			return true
		}
		if i > 0 && g[i-1].at == l.at { // both it and its denial
			return true
		}
	}
	return false
}

// rule is the texts that a goal allows.
func (r *reader) rule(g goal) grammar.Rule {
	var of key
	of.goal(g)
	if known, has := r.rules[string(of)]; has {
		return known
	}
	made := r.b.Rule()
	r.rules[string(of)] = made
	r.queue = append(r.queue, task{made, g})
	return made
}

// spread returns a goal's alternatives.
func (r *reader) spread(g goal) ([]*shape, error) {
	if g.never() {
		return nil, nil
	}
	var of key
	of.goal(g)
	name := string(of)
	if known, has := r.shapes[name]; has {
		return known, nil
	}
	r.spreading[name] = true
	active, evaluating, denying := r.active, r.evaluating, r.denying
	r.active, r.evaluating, r.denying = map[literal]bool{}, 0, 0
	defer func() {
		r.active, r.evaluating, r.denying = active, evaluating, denying
		delete(r.spreading, name)
	}()
	all := []*shape{anything()}
	var err error
	for _, l := range g {
		if all, err = r.assert(all, l); err != nil {
			return nil, err
		}
	}
	r.shapes[name] = all
	return all, nil
}
