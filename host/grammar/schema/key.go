// SPDX-License-Identifier: MIT

package schema

import "encoding/binary"

// key is a text that is equal for equal things.
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

// structure adds what is equal for objects that may have the same members, whichever of them must
// be there.
func (k *key) structure(m *members) {
	k.number(len(m.parts))
	for _, p := range m.parts {
		k.number(p.id)
	}
	k.number(len(m.names))
	for _, g := range m.names {
		k.goal(g)
	}
	k.number(len(m.some))
	for _, o := range m.some {
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
	k.flag(n.whole)
	k.flag(n.broken)
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
	k.flag(s.among)
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
