// SPDX-License-Identifier: MIT

package schema

import (
	"slices"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// shape is what holds of a value in one alternative, all of it at once.
type shape struct {
	kinds     uint8 // bit k for kind k
	booleans  uint8 // bit 0: false, bit 1: true
	values    []*value
	among     bool // it must be one of values
	excluded  []*value
	text      lexeme.Expr
	length    limits // characters of a string
	numbers   numbers
	members   members
	sequences sequences
}

// members is what holds of an object.
type members struct {
	parts    []*part
	names    []goal   // propertyNames
	required []string // sorted
	absent   []string // sorted
	some     []some
	limits
}

// some is a member that must be there, whatever its name among names.
type some struct {
	names lexeme.Expr
	goal  goal
}

// sequences is what holds of a list.
type sequences struct {
	parts    []*listPart
	contains []contain
	unique   *value // the word that says so
	limits
}

// contain is items that must be there, from some index on.
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

// copy returns a shape that may be changed alone.
func (s *shape) copy() *shape {
	c := *s
	c.values, c.excluded = slices.Clip(s.values), slices.Clip(s.excluded)
	c.numbers = s.numbers.copy()
	m, q := &c.members, &c.sequences
	m.parts, m.names, m.some = slices.Clip(m.parts), slices.Clip(m.names), slices.Clip(m.some)
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

// settle takes out kinds that plainly cannot hold any more.
func (s *shape) settle() {
	if s.booleans == 0 {
		s.without(boolean)
	}
	if s.length.never() || s.text == lexeme.Nothing {
		s.without(text)
	}
	if s.numbers.never() {
		s.without(number)
	}
	if m := &s.members; above(max(m.least, len(m.required)), m.most) {
		s.without(object)
	} else {
		for _, name := range m.absent {
			if among(m.required, name) {
				s.without(object)
			}
		}
	}
	if s.sequences.never() {
		s.without(list)
	}
	if s.among {
		s.values = slices.DeleteFunc(slices.Clone(s.values), func(v *value) bool { return !s.may(v.kind) })
		held := uint8(0)
		for _, v := range s.values {
			held |= 1 << v.kind
		}
		s.kinds &= held
	}
}

// above reports whether a count is above a bound, which may be lexeme.Unbounded.
func above(n, most int) bool { return most != lexeme.Unbounded && n > most }

// lower returns the lower of two bounds.
func lower(a, b int) int {
	if a == lexeme.Unbounded || b != lexeme.Unbounded && b < a {
		return b
	}
	return a
}

func (m *members) require(names ...string) {
	if len(names) == 1 {
		m.required = with(m.required, names[0])
		return
	}
	m.required = slices.Concat(m.required, names)
	slices.Sort(m.required)
	m.required = slices.Compact(m.required)
}

func (m *members) forbid(name string) { m.absent = with(m.absent, name) }

// with adds a name to sorted ones, which it does not change.
func with(names []string, name string) []string {
	at, has := slices.BinarySearch(names, name)
	if has {
		return names
	}
	return slices.Insert(slices.Clip(names), at, name)
}

// among reports whether a name is one of sorted ones.
func among(names []string, name string) bool {
	_, has := slices.BinarySearch(names, name)
	return has
}
