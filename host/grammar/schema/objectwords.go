// SPDX-License-Identifier: MIT

package schema

import "github.com/penstock/penstock/host/grammar/lexeme"

var objectWords = []word{
	{names: []string{"properties", "patternProperties", "additionalProperties"}, hold: each(holdProperties), deny: denyProperties},
	{names: []string{"propertyNames"}, hold: each(holdNames), deny: each(denyNames), since: 6},
	{names: []string{"required"}, hold: each(holdRequired), deny: denyRequired},
	least("minProperties", object, memberCount),
	most("maxProperties", object, memberCount),
	{names: []string{"dependentRequired", "dependentSchemas", "dependencies"}, hold: holdDependencies, deny: denyDependencies},
}

// part is properties, patternProperties and additionalProperties of one place, or what stands for
// them.
type part struct {
	id       int
	names    map[string]literal
	order    []string
	patterns []patternPart
	rest     *literal // of names that it has not otherwise
	under    []*part  // of unevaluatedProperties: rest is of names that these do not have either
	silent   bool     // within a schema that is denied it does not count as evaluated
	lists    bool     // it lists properties and says nothing of others
}

type patternPart struct {
	names lexeme.Expr
	goal  literal
}

func (r *reader) newPart() *part {
	r.partCount++
	return &part{id: r.partCount}
}

// partOf reads the members that a place speaks of.
func (r *reader) partOf(at *value) (*part, error) {
	if known, has := r.parts[at]; has {
		return known, nil
	}
	p := r.newPart()
	if word := at.member("properties"); word != nil {
		if word.kind != object {
			return nil, wrong(word, "properties must be an object")
		}
		p.names, p.order = map[string]literal{}, word.names
		for i, name := range word.names {
			p.names[name] = literal{at: word.items[i]}
		}
	}
	if word := at.member("patternProperties"); word != nil {
		if word.kind != object {
			return nil, wrong(word, "patternProperties must be an object")
		}
		for i, pattern := range word.names {
			x, known, err := r.pattern(word.items[i], pattern)
			if err != nil {
				return nil, err
			}
			if known {
				p.patterns = append(p.patterns, patternPart{x, literal{at: word.items[i]}})
			}
		}
	}
	if word := at.member("additionalProperties"); word != nil {
		p.rest = &literal{at: word}
	}
	p.lists = len(p.order) > 0 && p.rest == nil && len(p.patterns) == 0
	r.parts[at] = p
	return p, r.step(at, len(p.order))
}

func holdProperties(r *reader, s *shape, at *value) error {
	p, err := r.partOf(at)
	if err != nil {
		return err
	}
	if s.may(object) {
		if r.evaluating > 0 && r.denying > 0 {
			silent := *p
			silent.silent = true
			p = &silent
		}
		s.members.parts = append(s.members.parts, p)
	}
	return nil
}

func denyProperties(r *reader, all []*shape, at *value) ([]*shape, error) {
	p, err := r.partOf(at)
	if err != nil {
		return nil, err
	}
	var made []*shape
	alternative := func(change func(m *members)) error {
		more := copies(all)
		for _, s := range more {
			s.only(object)
			change(&s.members)
		}
		made, err = r.settle(append(made, more...), at)
		return err
	}
	listed := make([]string, 0, len(p.order))
	for _, name := range p.order {
		listed = append(listed, name)
		denied := r.deniedMember(name, p.names[name])
		if denied == nil {
			continue
		}
		if err := alternative(func(m *members) { r.require(m, name); m.parts = append(m.parts, denied) }); err != nil {
			return nil, err
		}
	}
	others := []lexeme.Expr{lexeme.All}
	for _, of := range p.patterns {
		others = append(others, r.a.Not(of.names))
		if g := r.goal(literal{of.goal.at, true}); !g.never() {
			if err := alternative(func(m *members) { m.some = append(m.some, some{of.names, g}) }); err != nil {
				return nil, err
			}
		}
	}
	if p.rest != nil {
		if len(listed) > 0 {
			others = append(others, r.a.Not(r.words(listed)))
		}
		if g := r.goal(literal{p.rest.at, !p.rest.not}); !g.never() {
			if err := alternative(func(m *members) { m.some = append(m.some, some{r.a.And(others...), g}) }); err != nil {
				return nil, err
			}
		}
	}
	return made, nil
}

// deniedMember is a part in which a member does not fit; nil where it always does.
func (r *reader) deniedMember(name string, l literal) *part {
	if l.not = !l.not; r.goal(l).never() {
		return nil
	}
	return r.memberPart(name, l)
}

// memberPart is a part that speaks of one member. There is one for equal members, so that equal
// alternatives are one.
func (r *reader) memberPart(name string, l literal) *part {
	key := memberKey{name, l}
	if known, has := r.memberParts[key]; has {
		return known
	}
	p := r.newPart()
	p.names, p.order, p.silent = map[string]literal{name: l}, []string{name}, true
	r.memberParts[key] = p
	return p
}

type memberKey struct {
	name string
	literal
}

func holdNames(r *reader, s *shape, at *value) error {
	if g := r.goal(literal{at: at.member("propertyNames")}); len(g) > 0 && s.may(object) {
		s.members.names = append(s.members.names, g)
	}
	return nil
}

func denyNames(r *reader, s *shape, at *value) error {
	if s.only(object); s.kinds == 0 {
		return nil
	}
	names, err := r.namesOf(r.goal(literal{at.member("propertyNames"), true}))
	s.members.some = append(s.members.some, some{names: names})
	return err
}

// requiredIn reads a list of names.
func requiredIn(word *value) ([]string, error) {
	if word.kind == boolean {
		return nil, nil // draft 3 says in a property that it is required
	}
	if word.kind != list {
		return nil, wrong(word, "must be a list of names")
	}
	names := make([]string, len(word.items))
	for i, v := range word.items {
		if v.kind != text {
			return nil, wrong(v, "a name must be a string")
		}
		names[i] = v.text
	}
	return names, nil
}

func holdRequired(r *reader, s *shape, at *value) error {
	word := at.member("required")
	names, err := requiredIn(word)
	r.require(&s.members, names...)
	if err == nil {
		err = r.step(word, len(names))
	}
	return err
}

func denyRequired(r *reader, all []*shape, at *value) ([]*shape, error) {
	names, err := requiredIn(at.member("required"))
	if err != nil {
		return nil, err
	}
	return r.absent(all, at, names, nil)
}

// absent makes one of some names absent, and others present.
func (r *reader) absent(all []*shape, at *value, names, present []string) ([]*shape, error) {
	var made []*shape
	var err error
	for _, name := range names {
		more := copies(all)
		for _, s := range more {
			s.only(object)
			r.forbid(&s.members, name)
			r.require(&s.members, present...)
		}
		if made, err = r.settle(append(made, more...), at); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// dependency is what an object with a member must have or be besides.
type dependency struct {
	name   string
	names  []string
	schema *value
}

// dependencies reads dependentRequired, dependentSchemas, and the older dependencies, which is
// both.
func (r *reader) dependencies(at *value) ([]dependency, error) {
	var made []dependency
	for _, name := range []string{"dependentRequired", "dependentSchemas", "dependencies"} {
		word := at.member(name)
		if word == nil {
			continue
		}
		if word.kind != object {
			return nil, wrong(word, "%s must be an object", name)
		}
		for i, member := range word.names {
			d, v := dependency{name: member}, word.items[i]
			switch {
			case name == "dependentSchemas" || v.kind == object || v.kind == boolean:
				d.schema = v
			case v.kind == text: // draft 3
				d.names = []string{v.text}
			default:
				names, err := requiredIn(v)
				if err != nil {
					return nil, err
				}
				d.names = names
				r.spend(v.weight/bytesPerStep + len(names)/itemsPerStep)
			}
			made = append(made, d)
		}
	}
	return made, nil
}

func holdDependencies(r *reader, all []*shape, at *value) ([]*shape, error) {
	of, err := r.dependencies(at)
	if err != nil {
		return nil, err
	}
	for _, d := range of {
		var made []*shape // without the member, if it is an object at all
		for _, s := range all {
			if !s.may(object) || !among(s.members.required, d.name) {
				c := s.copy()
				r.forbid(&c.members, d.name)
				made = append(made, c)
			}
		}
		with, err := r.with(copies(all), d, false)
		if err != nil {
			return nil, err
		}
		if all, err = r.settle(append(made, with...), at); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// with makes a member present, and what depends on it hold or not.
func (r *reader) with(all []*shape, d dependency, deny bool) ([]*shape, error) {
	for _, s := range all {
		s.only(object)
		r.require(&s.members, d.name)
		if !deny {
			r.require(&s.members, d.names...)
		}
	}
	kept := r.possible(all)
	if d.schema == nil {
		return kept, nil
	}
	return r.assert(kept, literal{d.schema, deny})
}

func denyDependencies(r *reader, all []*shape, at *value) ([]*shape, error) {
	of, err := r.dependencies(at)
	if err != nil {
		return nil, err
	}
	var made []*shape
	for _, d := range of {
		var more []*shape
		if d.schema != nil {
			more, err = r.with(copies(all), d, true)
		} else {
			more, err = r.absent(all, at, d.names, []string{d.name})
		}
		if err != nil {
			return nil, err
		}
		if made, err = r.settle(append(made, more...), at); err != nil {
			return nil, err
		}
	}
	return made, nil
}
