// SPDX-License-Identifier: MIT

package schema

import (
	"encoding/binary"
	"slices"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

// literal is a place of the schema that must hold, or with not must fail.
type literal struct {
	at  *value
	not bool
}

// goal is a conjunction of literals, sorted and without duplicates.
type goal []literal

// goal makes a goal of literals. It leaves out those that always hold.
func (r *reader) goal(literals ...literal) goal {
	g := make(goal, 0, len(literals))
	for _, l := range literals {
		if allowsAnything(l.at) && !l.not || l.at.kind == boolean && !l.at.isTrue() && l.not {
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

// allowsAnything reports whether a schema plainly allows anything, as true and {} do.
func allowsAnything(at *value) bool {
	return at.isTrue() || at.kind == object && len(at.items) == 0
}

// impossible reports whether a goal plainly cannot hold.
func (g goal) impossible() bool {
	for i, l := range g {
		if !l.not && l.at.kind == boolean && !l.at.isTrue() || l.not && allowsAnything(l.at) {
			return true
		}
		if i > 0 && g[i-1].at == l.at { // both it and its denial
			return true
		}
	}
	return false
}

// ruleOf returns the rule of the texts that a goal allows. There is one for equal goals, so
// recursion ends.
func (r *reader) ruleOf(g goal) grammar.Rule {
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

// expand returns the alternatives of a goal: its disjunctive normal form.
func (r *reader) expand(g goal) ([]*shape, error) {
	if g.impossible() {
		return nil, nil
	}
	var of key
	of.goal(g)
	name := string(of)
	if known, has := r.shapes[name]; has {
		return known, nil
	}
	r.expanding[name] = true
	active, evaluating, denying := r.active, r.evaluating, r.denying
	r.active, r.evaluating, r.denying = map[literal]bool{}, 0, 0
	defer func() {
		r.active, r.evaluating, r.denying = active, evaluating, denying
		delete(r.expanding, name)
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

// shape is one alternative of a goal: all that must hold of a value, by its kind.
type shape struct {
	kinds       uint8 // that the value may be: bit k for kind k
	booleans    uint8 // bit 0: false, bit 1: true
	values      []*value
	listsValues bool  // the value must be one of values
	held        uint8 // the kinds of values, if listsValues
	excluded    []*value
	text        lexeme.Expr
	length      limits // characters of a string
	numbers     numbers
	members     members
	sequences   sequences
}

// members is what must hold of an object.
type members struct {
	parts      []*part
	names      []goal   // propertyNames
	required   []string // sorted
	absent     []string // sorted
	impossible bool     // a name is both required and absent
	unnamed    []unnamed
	limits
}

// unnamed is a member that must be there under any of some names.
type unnamed struct {
	names lexeme.Expr
	goal  goal
}

// sequences is what must hold of a list.
type sequences struct {
	parts    []*listPart
	contains []contain
	unique   *value // the word that makes items unique; nil: none does
	limits
}

// contain is a number of items that must fit a schema, from some index on.
type contain struct {
	at          *value
	goal        literal
	from        int
	least, most int
}

const every = 1<<kinds - 1

func anything() *shape {
	return &shape{
		kinds: every, booleans: 3, text: lexeme.All, length: limitless,
		members: members{limits: limitless}, sequences: sequences{limits: limitless},
	}
}

// copy returns a shape that may be changed without changing s.
func (s *shape) copy() *shape {
	c := *s
	c.values, c.excluded = slices.Clip(s.values), slices.Clip(s.excluded)
	c.numbers = s.numbers.copy()
	m, q := &c.members, &c.sequences
	m.parts, m.names, m.unnamed = slices.Clip(m.parts), slices.Clip(m.names), slices.Clip(m.unnamed)
	m.required, m.absent = slices.Clip(m.required), slices.Clip(m.absent)
	q.parts, q.contains = slices.Clip(q.parts), slices.Clip(q.contains)
	return &c
}

func copies(all []*shape) []*shape {
	made := make([]*shape, len(all))
	for i, s := range all {
		made[i] = s.copy()
	}
	return made
}

func (s *shape) may(k kind) bool { return s.kinds&(1<<k) != 0 }

func (s *shape) without(k kind) { s.kinds &^= 1 << k }

// only leaves one kind.
func (s *shape) only(k kind) { s.kinds &= 1 << k }

// narrowKinds takes out kinds that plainly cannot hold any more. It returns how many values it
// visited.
func (s *shape) narrowKinds() (looked int) {
	if s.booleans == 0 {
		s.without(boolean)
	}
	if s.length.impossible() || s.text == lexeme.Nothing {
		s.without(text)
	}
	if s.numbers.impossible() {
		s.without(number)
	}
	if m := &s.members; m.impossible || exceeds(max(m.least, len(m.required)), m.most) {
		s.without(object)
	}
	if s.sequences.impossible() {
		s.without(list)
	}
	if s.listsValues && s.held&^s.kinds != 0 { // some values are of kinds that are ruled out
		looked = len(s.values)
		s.setValues(slices.DeleteFunc(slices.Clone(s.values), func(v *value) bool { return !s.may(v.kind) }))
	}
	if s.listsValues {
		s.kinds &= s.held
	}
	return looked
}

// setValues makes s allow only some values.
func (s *shape) setValues(values []*value) {
	s.values, s.listsValues, s.held = values, true, 0
	for _, v := range values {
		s.held |= 1 << v.kind
	}
}

// equal reports whether two shapes have the same key.
func (r *reader) equal(s, o *shape) bool {
	r.spend((len(s.values) + len(s.excluded) + len(s.members.required) + len(s.members.absent)) / itemsPerStep)
	numbers := func(n, p *numbers) bool {
		return n.integer == p.integer && n.notInteger == p.notInteger && equalSlices(n.low, p.low) && equalSlices(n.high, p.high) &&
			equalSlices(n.multiples, p.multiples) && equalSlices(n.otherMultiples, p.otherMultiples) && equalSlices(n.without, p.without)
	}
	members := func(m, p *members) bool {
		return m.limits == p.limits && equalSlices(m.parts, p.parts) && slices.EqualFunc(m.names, p.names, equalSlices) &&
			slices.EqualFunc(m.unnamed, p.unnamed, func(a, b unnamed) bool { return a.names == b.names && equalSlices(a.goal, b.goal) }) &&
			equalSlices(m.required, p.required) && equalSlices(m.absent, p.absent)
	}
	sequences := func(q, p *sequences) bool {
		return q.limits == p.limits && (q.unique == nil) == (p.unique == nil) && equalSlices(q.parts, p.parts) &&
			slices.EqualFunc(q.contains, p.contains, func(a, b contain) bool {
				return a.goal == b.goal && a.from == b.from && a.least == b.least && a.most == b.most
			})
	}
	return s.kinds == o.kinds && s.booleans == o.booleans && s.text == o.text && s.length == o.length && s.listsValues == o.listsValues &&
		equalSlices(s.values, o.values) && equalSlices(s.excluded, o.excluded) &&
		(!s.may(number) || numbers(&s.numbers, &o.numbers)) &&
		(!s.may(object) || members(&s.members, &o.members)) &&
		(!s.may(list) || sequences(&s.sequences, &o.sequences))
}

// equalSlices is slices.Equal, which costs nothing where both are the same slice.
func equalSlices[S ~[]T, T comparable](a, b S) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// exceeds reports whether a count is above a bound, which may be lexeme.Unbounded.
func exceeds(n, most int) bool { return most != lexeme.Unbounded && n > most }

// lowerOf returns the lower of two bounds.
func lowerOf(a, b int) int {
	if a == lexeme.Unbounded || b != lexeme.Unbounded && b < a {
		return b
	}
	return a
}

// require adds names that members must have.
func (r *reader) require(m *members, names ...string) { r.addNames(m, &m.required, m.absent, names) }

// forbid adds a name that members must not have.
func (r *reader) forbid(m *members, name string) {
	r.addNames(m, &m.absent, m.required, []string{name})
}

// addNames adds names to a sorted list, whose array it does not change. m becomes impossible if one
// of them is denied.
func (r *reader) addNames(m *members, to *[]string, denied, names []string) {
	var added []string
	for _, name := range names {
		r.spend(len(name) / bytesPerStep)
		if !hasName(*to, name) {
			added = append(added, name)
			m.impossible = m.impossible || hasName(denied, name)
		}
	}
	r.spend(len(names) / itemsPerStep)
	if len(added) == 0 {
		return
	}
	r.spend((len(*to) + len(added)) / itemsPerStep)
	slices.Sort(added)
	old := *to
	all := make([]string, 0, len(old)+len(added))
	for _, name := range slices.Compact(added) {
		at, _ := slices.BinarySearch(old, name)
		all = append(append(all, old[:at]...), name)
		old = old[at:]
	}
	*to = append(all, old...)
}

// hasName reports whether sorted names contain one.
func hasName(names []string, name string) bool {
	_, has := slices.BinarySearch(names, name)
	return has
}

// key is a string that is equal for equal things.
type key []byte

func (k *key) number(n int)  { *k = binary.AppendVarint(*k, int64(n)) }
func (k *key) text(s string) { k.number(len(s)); *k = append(*k, s...) }

func (k *key) flag(b bool) {
	if b {
		k.number(1)
	} else {
		k.number(0)
	}
}

func (k *key) texts(all []string) {
	k.number(len(all))
	for _, s := range all {
		k.text(s)
	}
}

func (k *key) goal(g goal) {
	k.number(len(g))
	for _, l := range g {
		k.number(l.at.id)
		k.flag(l.not)
	}
}

func (k *key) values(all []*value) {
	k.number(len(all))
	for _, v := range all {
		k.number(v.id)
	}
}

// structure adds what is equal for objects that may have the same members, whichever of these they
// require.
func (k *key) structure(m *members) {
	k.number(len(m.parts))
	for _, p := range m.parts {
		k.number(p.id)
	}
	k.number(len(m.names))
	for _, g := range m.names {
		k.goal(g)
	}
	k.number(len(m.unnamed))
	for _, o := range m.unnamed {
		k.number(int(o.names))
		k.goal(o.goal)
	}
}

func (k *key) members(m *members) {
	k.structure(m)
	k.texts(m.required)
	k.texts(m.absent)
	k.number(m.least)
	k.number(m.most)
}

func (k *key) sequences(q *sequences) {
	k.number(len(q.parts))
	for _, p := range q.parts {
		k.number(p.id)
	}
	k.number(len(q.contains))
	for _, c := range q.contains {
		k.goal(goal{c.goal})
		k.number(c.from)
		k.number(c.least)
		k.number(c.most)
	}
	k.number(q.least)
	k.number(q.most)
	k.flag(q.unique != nil)
}

func (k *key) numbers(n *numbers) {
	k.flag(n.integer)
	k.flag(n.notInteger)
	for _, bounds := range [][]bound{n.low, n.high} {
		k.number(len(bounds))
		for _, b := range bounds {
			k.text(b.Value)
			k.flag(b.Exclusive)
		}
	}
	k.texts(n.multiples)
	k.texts(n.otherMultiples)
	k.texts(n.without)
}

func (k *key) shape(s *shape) {
	for _, n := range []int{int(s.kinds), int(s.booleans), int(s.text), s.length.least, s.length.most} {
		k.number(n)
	}
	k.flag(s.listsValues)
	k.values(s.values)
	k.values(s.excluded)
	if s.may(number) {
		k.numbers(&s.numbers)
	}
	if s.may(object) {
		k.members(&s.members)
	}
	if s.may(list) {
		k.sequences(&s.sequences)
	}
}
