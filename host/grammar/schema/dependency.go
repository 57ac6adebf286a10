// SPDX-License-Identifier: MIT

package schema

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
