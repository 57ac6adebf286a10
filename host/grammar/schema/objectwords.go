// SPDX-License-Identifier: MIT

package schema

import "github.com/penstock/penstock/host/grammar/lexeme"

var objectWords = []word{
	{names: []string{"properties", "patternProperties", "additionalProperties"}, hold: eachAlone(holdProperties), deny: denyProperties},
	{names: []string{"propertyNames"}, hold: eachAlone(holdNames), deny: eachAlone(denyNames), since: 6},
	{names: []string{"required"}, hold: eachAlone(holdRequired), deny: denyRequired},
	atLeastWord("minProperties", object, memberCount),
	atMostWord("maxProperties", object, memberCount),
	{names: []string{"dependentRequired", "dependentSchemas", "dependencies"}, hold: holdDependencies, deny: denyDependencies},
}

// part is properties, patternProperties and additionalProperties of one schema, or what stands for
// them.
type part struct {
	id       int
	names    map[string]literal
	order    []string
	patterns []patternPart
	rest     *literal // of names that nothing else in it speaks of
	under    []*part  // of unevaluatedProperties: rest is of names that these do not speak of either
	silent   bool     // it does not count as evaluated, as it is within a denied schema
	lists    bool     // it lists properties and says nothing of other names
}

type patternPart struct {
	names lexeme.Expr
	goal  literal
}

func (r *reader) newPart() *part {
	r.partCount++
	return &part{id: r.partCount}
}

// readPart reads what a schema says of members.
func (r *reader) readPart(at *value) (*part, error) {
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
			x, known, err := r.compilePattern(word.items[i], pattern)
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
	p, err := r.readPart(at)
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
	p, err := r.readPart(at)
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
		made, err = r.simplify(append(made, more...), at)
		return err
	}
	listed := make([]string, 0, len(p.order))
	for _, name := range p.order {
		listed = append(listed, name)
		fails := literal{p.names[name].at, !p.names[name].not}
		if r.goal(fails).impossible() {
			continue
		}
		denied := r.memberPart(name, fails)
		if err := alternative(func(m *members) { r.require(m, name); m.parts = append(m.parts, denied) }); err != nil {
			return nil, err
		}
	}
	others := []lexeme.Expr{lexeme.All}
	for _, of := range p.patterns {
		others = append(others, r.a.Not(of.names))
		if g := r.goal(literal{of.goal.at, true}); !g.impossible() {
			if err := alternative(func(m *members) { m.unnamed = append(m.unnamed, unnamed{of.names, g}) }); err != nil {
				return nil, err
			}
		}
	}
	if p.rest != nil {
		if len(listed) > 0 {
			others = append(others, r.a.Not(r.anyText(listed)))
		}
		if g := r.goal(literal{p.rest.at, !p.rest.not}); !g.impossible() {
			if err := alternative(func(m *members) { m.unnamed = append(m.unnamed, unnamed{r.a.And(others...), g}) }); err != nil {
				return nil, err
			}
		}
	}
	return made, nil
}

// memberPart returns a part about one member. There is one for equal members, so that equal
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
	names, err := r.namesFitting(r.goal(literal{at.member("propertyNames"), true}))
	s.members.unnamed = append(s.members.unnamed, unnamed{names: names})
	return err
}

// readNames reads a list of names.
func readNames(word *value) ([]string, error) {
	if word.kind == boolean {
		return nil, nil // in draft 3, a property says of itself that it is required
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
	names, err := readNames(word)
	r.require(&s.members, names...)
	if err == nil {
		err = r.step(word, len(names))
	}
	return err
}

func denyRequired(r *reader, all []*shape, at *value) ([]*shape, error) {
	names, err := readNames(at.member("required"))
	if err != nil {
		return nil, err
	}
	return r.eitherAbsent(all, at, names, nil)
}

// eitherAbsent makes one of some names absent, and all of others present.
func (r *reader) eitherAbsent(all []*shape, at *value, names, present []string) ([]*shape, error) {
	var made []*shape
	var err error
	for _, name := range names {
		more := copies(all)
		for _, s := range more {
			s.only(object)
			r.forbid(&s.members, name)
			r.require(&s.members, present...)
		}
		if made, err = r.simplify(append(made, more...), at); err != nil {
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

// readDependencies reads dependentRequired, dependentSchemas, and the older dependencies, which is
// both.
func (r *reader) readDependencies(at *value) ([]dependency, error) {
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
				names, err := readNames(v)
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
	of, err := r.readDependencies(at)
	if err != nil {
		return nil, err
	}
	for _, d := range of {
		var made []*shape // without the member, or not an object
		for _, s := range all {
			if !s.may(object) || !hasName(s.members.required, d.name) {
				c := s.copy()
				r.forbid(&c.members, d.name)
				made = append(made, c)
			}
		}
		with, err := r.withMember(copies(all), d, false)
		if err != nil {
			return nil, err
		}
		if all, err = r.simplify(append(made, with...), at); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// withMember makes a member present, and what depends on it hold, or fail.
func (r *reader) withMember(all []*shape, d dependency, deny bool) ([]*shape, error) {
	for _, s := range all {
		s.only(object)
		r.require(&s.members, d.name)
		if !deny {
			r.require(&s.members, d.names...)
		}
	}
	kept := r.dropImpossible(all)
	if d.schema == nil {
		return kept, nil
	}
	return r.assert(kept, literal{d.schema, deny})
}

func denyDependencies(r *reader, all []*shape, at *value) ([]*shape, error) {
	of, err := r.readDependencies(at)
	if err != nil {
		return nil, err
	}
	var made []*shape
	for _, d := range of {
		var more []*shape
		if d.schema != nil {
			more, err = r.withMember(copies(all), d, true)
		} else {
			more, err = r.eitherAbsent(all, at, d.names, []string{d.name})
		}
		if err != nil {
			return nil, err
		}
		if made, err = r.simplify(append(made, more...), at); err != nil {
			return nil, err
		}
	}
	return made, nil
}
