// SPDX-License-Identifier: MIT

package schema

import "slices"

// maxAlternatives bounds the alternatives of a goal, which multiply.
const maxAlternatives = 256

// assert adds a literal to each alternative, which may make more of them. It may change those that
// it is given.
func (r *reader) assert(all []*shape, l literal) ([]*shape, error) {
	if len(all) == 0 {
		return nil, nil
	}
	if err := r.step(l.at, 1+len(all)); err != nil {
		return nil, err
	}
	switch {
	case l.at.kind == boolean:
		if l.at.yes() == l.not {
			return nil, nil
		}
		return all, nil
	case l.at.kind != object:
		return all, r.drop(wrong(l.at, "a schema must be an object, true or false, and is %v", l.at.kind))
	}
	if r.active[l] {
		return nil, wrong(l.at, "the schema leads to itself before any value is read")
	}
	r.active[l] = true
	defer delete(r.active, l)
	var err error
	if l.not {
		all, err = r.choose(all, l.at, r.deny)
	} else {
		all, err = r.hold(all, l.at)
	}
	if err != nil {
		return nil, err
	}
	return r.possible(all), nil
}

// possible drops alternatives that plainly cannot hold.
func (r *reader) possible(all []*shape) []*shape {
	kept := all[:0]
	for _, s := range all {
		r.spend(s.settle() / itemsPerStep)
		if s.kinds != 0 {
			kept = append(kept, s)
		}
	}
	return kept
}

// settle drops alternatives that cannot hold, and those that are there already.
func (r *reader) settle(all []*shape, at *value) ([]*shape, error) {
	kept := r.possible(all)
	if len(kept) > 1 {
		seen, distinct := map[string]bool{}, kept[:0]
		var of key
		for _, s := range kept {
			of = of[:0]
			of.shape(s)
			r.spend(len(of) / keyBytesPerStep)
			if !seen[string(of)] {
				seen[string(of)] = true
				distinct = append(distinct, s)
			}
		}
		kept = distinct
	}
	if len(kept) > maxAlternatives/4 {
		if err := r.prune(&kept); err != nil {
			return nil, err
		}
	}
	if len(kept) > maxAlternatives {
		return nil, tooHard(at, "the schema has more than %d alternatives here, as they multiply", maxAlternatives)
	}
	return kept, r.step(at, len(kept))
}

// choose makes alternatives of each alternative by itself. Where one of them is what it was, it
// holds already: the others add nothing.
func (r *reader) choose(all []*shape, at *value, make func([]*shape, *value) ([]*shape, error)) ([]*shape, error) {
	var made []*shape
	for _, s := range all {
		more, err := make([]*shape{s.copy()}, at)
		if err != nil {
			return nil, err
		}
		if r.evaluating == 0 && slices.ContainsFunc(more, func(m *shape) bool { return r.equal(s, m) }) {
			more = []*shape{s}
		}
		if made = append(made, more...); len(made) > maxAlternatives {
			if made, err = r.settle(made, at); err != nil {
				return nil, err
			}
		}
	}
	if len(all) == 1 {
		return made, nil
	}
	return r.settle(made, at)
}

// prune drops alternatives that nothing fits, where that takes a closer look.
func (r *reader) prune(all *[]*shape) error {
	kept := (*all)[:0]
	for _, s := range *all {
		void, err := r.voidShape(s, 1)
		if err != nil {
			return err
		}
		if !void {
			kept = append(kept, s)
		}
	}
	*all = kept
	return nil
}

// word is a keyword of a schema, or several that are one assertion. Words that are not in the table
// assert nothing.
type word struct {
	names []string
	// hold makes it hold in each alternative, deny makes it fail. Both may change what they are
	// given.
	hold, deny func(r *reader, all []*shape, at *value) ([]*shape, error)
	since      int  // the draft that has it first
	plain      bool // it lists no members and makes no alternatives
}

// said is a word of a schema, with the steps that it takes to read what it says once more.
type said struct {
	*word
	weight int
}

// weigh is few steps but for words that say much.
func (w *word) weigh(at *value) int {
	steps := 0
	for _, name := range w.names {
		if v := at.member(name); v != nil {
			steps += v.weight/bytesPerStep + len(v.items)/itemsPerStep
		}
	}
	return steps
}

func (w *word) in(at *value) bool {
	for _, name := range w.names {
		if at.member(name) != nil {
			return true
		}
	}
	return false
}

// words is the table. Plain words come first: what they exclude need not be multiplied.
var words []word

func init() {
	for _, some := range [][]word{valueWords, stringWords, numberWords, objectWords, listWords} {
		for _, w := range some {
			w.plain = w.names[0] != "properties" && w.names[0] != "dependentRequired"
			words = append(words, w)
		}
	}
	words = append(words, combinations...)
	words = append(words, conditionals...)
}

// hides reports whether a reference hides the words beside it, as it did before draft 2019-09.
func (r *reader) hides(at *value) bool {
	return r.document.named && r.document.draft <= 7 && at.member("$ref") != nil
}

// hold makes all that a schema says hold.
func (r *reader) hold(all []*shape, at *value) ([]*shape, error) {
	if at.member("unevaluatedProperties") != nil || at.member("unevaluatedItems") != nil {
		return r.holdUnevaluated(all, at)
	}
	return r.holdWords(all, at)
}

func (r *reader) holdWords(all []*shape, at *value) ([]*shape, error) {
	for _, w := range r.present(at) {
		if len(all) == 0 {
			return nil, nil
		}
		if err := r.step(at, w.weight*len(all)); err != nil {
			return nil, err
		}
		before := all
		if r.o.Loose {
			before = copies(all)
		}
		made, err := w.hold(r, all, at)
		if err != nil {
			if err = r.drop(err); err != nil {
				return nil, err
			}
			made = before
		}
		all = r.possible(made)
	}
	return all, nil
}

// present is the words of a schema: plain ones first, then those that list members, as they stand,
// so that members keep their order.
func (r *reader) present(at *value) []said {
	if known, has := r.said[at]; has {
		return known
	}
	var all []said
	for i := range words {
		if w := &words[i]; w.in(at) && (!r.hides(at) || w.names[0] == "$ref") && !(r.document.named && r.document.draft < w.since) {
			all = append(all, said{w, w.weigh(at)})
		}
	}
	slices.SortStableFunc(all, func(a, b said) int { return a.position(at) - b.position(at) })
	r.said[at] = all
	return all
}

// position is where a word stands among those that list members; -1 for others.
func (w *word) position(at *value) int {
	if w.plain {
		return -1
	}
	first := len(at.names)
	for _, name := range w.names {
		if i, has := at.index[name]; has {
			first = min(first, i)
		}
	}
	return first
}

// deny makes something fail that a schema says: an alternative for each word that can.
func (r *reader) deny(all []*shape, at *value) ([]*shape, error) {
	for _, name := range []string{"unevaluatedProperties", "unevaluatedItems"} {
		if at.member(name) != nil {
			return all, r.cannot(at, "that this does not hold cannot be enforced, as it has %s", name)
		}
	}
	r.denying++
	defer func() { r.denying-- }()
	var made []*shape
	for _, w := range r.present(at) {
		if err := r.step(at, w.weight*len(all)); err != nil {
			return nil, err
		}
		more, err := w.deny(r, copies(all), at)
		if err != nil {
			return all, r.drop(err)
		}
		if made, err = r.settle(append(made, more...), at); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// each changes each alternative by itself.
func each(change func(r *reader, s *shape, at *value) error) func(*reader, []*shape, *value) ([]*shape, error) {
	return func(r *reader, all []*shape, at *value) ([]*shape, error) {
		for _, s := range all {
			if err := change(r, s, at); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
}
