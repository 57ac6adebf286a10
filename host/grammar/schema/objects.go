// SPDX-License-Identifier: MIT

package schema

import (
	"slices"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

// maxSome bounds the members without a listed name that must be there.
const maxSome = 3

// objectBodies is the alternatives that are objects. Those with the same members are one body,
// whichever of them must be there.
func (r *reader) objectBodies(all []*shape) ([]grammar.Body, error) {
	var open []*shape
	for _, s := range all {
		if s.among || !s.may(object) {
			continue
		}
		for _, v := range s.excluded {
			if v.kind == object {
				if err := r.cannot(v, "that a value is not this object cannot be enforced"); err != nil {
					return nil, err
				}
			}
		}
		open = append(open, s)
	}
	alike, err := r.alike(open)
	if err != nil {
		return nil, err
	}
	var made []grammar.Body
	for _, of := range alike {
		bodies, err := r.objects(of)
		if err != nil {
			return nil, err
		}
		made = append(made, bodies...)
	}
	return made, nil
}

// alike sorts what objects are by their structures.
func (r *reader) alike(objects []*shape) (all [][]*members, err error) {
	at := map[string]int{}
	for _, s := range objects {
		variants, err := r.placeSome(&s.members)
		if err != nil {
			return nil, err
		}
		for _, m := range variants {
			var of key
			of.structure(m)
			r.spend(len(of) / keyBytesPerStep)
			i, known := at[string(of)]
			if !known {
				i = len(all)
				at[string(of)] = i
				all = append(all, nil)
			}
			all[i] = append(all[i], m)
		}
	}
	return all, nil
}

// placeSome makes alternatives of each member that must be there under some name: any listed name
// that it may have, or another.
func (r *reader) placeSome(m *members) ([]*members, error) {
	if len(m.some) > maxSome {
		if err := r.cannot(r.here, "more than %d members that do not fit cannot be looked for in an object", maxSome); err != nil {
			return nil, err
		}
		loose := *m
		loose.some = nil
		return []*members{&loose}, nil
	}
	made := []*members{m}
	names := listed([]*members{m})
	for i, o := range m.some {
		var more []*members
		for _, from := range made {
			more = append(more, from)
			for _, name := range names {
				named, err := r.match(o.names, name)
				if err != nil {
					return nil, err
				}
				if !named || among(from.absent, name) {
					continue
				}
				to := (&shape{members: *from}).copy().members
				to.some = slices.Clone(to.some)
				to.some[i].goal, to.some[i].names = nil, lexeme.Nothing
				r.require(&to, name)
				for _, l := range o.goal {
					to.parts = append(to.parts, r.memberPart(name, l))
				}
				more = append(more, &to)
			}
		}
		if made = more; len(made) > maxAlternatives {
			return nil, tooHard(r.here, "an object has more than %d alternatives, as they multiply", maxAlternatives)
		}
	}
	for _, to := range made {
		to.some = slices.DeleteFunc(slices.Clone(to.some), func(o some) bool { return o.names == lexeme.Nothing })
	}
	return made, nil
}

// listed is the names that alternatives speak of, in the schema's order.
func listed(all []*members) []string {
	var names []string
	seen := map[string]bool{}
	add := func(more []string) {
		for _, name := range more {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	for _, m := range all {
		for _, p := range m.parts {
			add(p.order)
		}
	}
	for _, m := range all {
		add(m.required)
		add(m.absent)
	}
	return names
}

// member is a listed name and what its value must be.
type member struct {
	name string
	is   grammar.Body
}

// objects is the bodies of alternatives with the same members.
func (r *reader) objects(all []*members) ([]grammar.Body, error) {
	names := listed(all)
	base := (&shape{members: *all[0]}).copy().members
	base.absent = nil
	groups, err := r.others(&base, names)
	if err != nil {
		return nil, err
	}
	var listedMembers []member
	possible := map[string]bool{}
	for _, name := range names {
		if err := r.step(r.here, 8+len(base.parts)/8+len(all)/itemsPerStep); err != nil {
			return nil, err
		}
		base.required = nil
		if slices.ContainsFunc(all, func(m *members) bool { return among(m.required, name) }) {
			base.required = []string{name}
		}
		g, fits, err := r.memberGoal(&base, name)
		if err != nil {
			return nil, err
		}
		if void, err := r.voidMember(g, fits); err != nil {
			return nil, err
		} else if void {
			continue
		}
		possible[name] = true
		listedMembers = append(listedMembers, member{name, r.b.Seq(r.name(name), r.b.Call(r.rule(g)))})
	}
	var made []grammar.Body
	kept := all[:0:0]
	seen := map[string]bool{}
	for _, m := range all {
		var of key
		of.members(m)
		r.spend(len(of) / keyBytesPerStep)
		if !seen[string(of)] && !slices.ContainsFunc(m.required, func(name string) bool { return !possible[name] }) {
			seen[string(of)] = true
			kept = append(kept, m)
		}
	}
	if len(kept) == 0 {
		return nil, nil
	}
	if r.o.Order == AnyOrder || r.o.Order == ByKind && len(groups) > 0 {
		if len(listedMembers)+len(groups) > maxMembers {
			return nil, wrong(r.here, "an object has more than %d members", maxMembers)
		}
		body, err := r.anyOrder(kept, listedMembers, groups)
		return []grammar.Body{body}, err
	}
	for _, m := range kept {
		c := r.chainOf(m, listedMembers, groups)
		if err := r.step(r.here, 4*c.links()); err != nil {
			return nil, err
		}
		made = append(made, c.whole())
	}
	return made, nil
}

// maxMembers bounds the members of an object that come in any order.
const maxMembers = 4_000

func (r *reader) voidMember(g goal, fits bool) (bool, error) {
	if !fits {
		return true, nil
	}
	return r.void(g, maxVoidDepth-1)
}

// anyOrder is an object whose members come as they like.
func (r *reader) anyOrder(all []*members, listed []member, groups []group) (grammar.Body, error) {
	requires := func(m *members) bool { return len(m.required) > 0 }
	if r.o.Order == ByKind && slices.ContainsFunc(all, requires) { // else a weak model goes on inventing members, and what is required never comes
		var err error
		if groups, err = r.inTime(groups); err != nil {
			return 0, err
		}
	}
	loop := grammar.Loop{Separator: r.spaces.comma}
	bits := map[string]int{}
	for i, of := range listed {
		bits[of.name] = i
		loop.Items = append(loop.Items, grammar.Item{Is: of.is, Bit: i, Once: true, Count: 1})
	}
	next := len(listed) + 1<<len(all[0].some) - 1
	for _, g := range groups {
		if g.some > 0 {
			g.some += len(listed)
		}
		items := r.items(g, next)
		loop.Items = append(loop.Items, items...)
		next += len(items)
	}
	for _, m := range all {
		end := grammar.Condition{Min: m.least, Max: m.most}
		for _, name := range m.required {
			end.Must = append(end.Must, bits[name])
		}
		for _, name := range m.absent {
			if bit, has := bits[name]; has {
				end.MustNot = append(end.MustNot, bit)
			}
		}
		for _, cover := range covers(len(m.some)) {
			by := end
			by.Must = slices.Clone(end.Must)
			for _, some := range cover {
				by.Must = append(by.Must, len(listed)+some-1)
			}
			loop.Ends = append(loop.Ends, by)
		}
	}
	if !counts(loop.Ends) {
		for i := range loop.Items {
			loop.Items[i].Count = 0
		}
	}
	return r.b.Seq(r.spaces.openObject, r.b.Loop(loop), r.spaces.closeObject), nil
}

// covers are the ways in which members can be all of so many that must be there: each is sets, as
// bits, that hold all together.
func covers(n int) [][]int {
	made := [][]int{nil}
	for i := range n {
		var more [][]int
		for _, cover := range made {
			if slices.ContainsFunc(cover, func(set int) bool { return set>>i&1 == 1 }) {
				more = append(more, cover)
				continue
			}
			for set := range 1 << n {
				if set>>i&1 == 1 {
					more = append(more, append(slices.Clone(cover), set))
				}
			}
		}
		made = more
	}
	return made
}

// counts reports whether a loop's count matters.
func counts(ends []grammar.Condition) bool {
	return slices.ContainsFunc(ends, func(c grammar.Condition) bool { return c.Min > 0 || c.Max != lexeme.Unbounded })
}
