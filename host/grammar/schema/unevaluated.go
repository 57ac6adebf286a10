// SPDX-License-Identifier: MIT

package schema

// holdUnevaluated makes hold what a place says of members and items that nothing else in it speaks
// of.
func (r *reader) holdUnevaluated(all []*shape, at *value) ([]*shape, error) {
	r.evaluating++
	defer func() { r.evaluating-- }()
	var made []*shape
	for _, s := range all {
		members, items := len(s.members.parts), len(s.sequences.parts)
		contains := len(s.sequences.contains)
		more, err := r.holdWords([]*shape{s}, at)
		if err != nil {
			return nil, err
		}
		for _, m := range more {
			if word := at.member("unevaluatedProperties"); word != nil && m.may(object) {
				p := r.newPart()
				p.rest, p.under = &literal{at: word}, m.members.parts[members:]
				m.members.parts = append(m.members.parts, p)
			}
			if word := at.member("unevaluatedItems"); word != nil && m.may(list) {
				if len(m.sequences.contains) > contains && !trivial(word) {
					if err := r.cannot(word, "unevaluatedItems beside contains cannot be enforced"); err != nil {
						return nil, err
					}
					continue
				}
				r.unevaluatedItems(m, items, word)
			}
		}
		if made, err = r.settle(append(made, more...), at); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// unevaluatedItems adds a part for the items that none of a list's parts from one on speaks of.
func (r *reader) unevaluatedItems(s *shape, first int, word *value) {
	r.partCount++
	p := &listPart{id: r.partCount, rest: &literal{at: word}}
	for _, of := range s.sequences.parts[first:] {
		if of.silent {
			continue
		}
		if of.rest != nil {
			return
		}
		p.from = max(p.from, len(of.prefix))
	}
	s.sequences.parts = append(s.sequences.parts, p)
}
