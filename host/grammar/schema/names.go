// SPDX-License-Identifier: MIT

package schema

import (
	"slices"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

// maxGroups bounds the groups of names that patterns divide names into.
const maxGroups = 64

// goalsOf adds what a part says of a name, and reports whether it says anything.
func (r *reader) goalsOf(p *part, name string, matches func(lexeme.Expr) (bool, error), to *[]literal) (bool, error) {
	said := false
	if r.looked++; r.looked%itemsPerStep == 0 {
		r.spend(4)
	}
	r.spend(len(name) / bytesPerStep)
	if l, has := p.names[name]; has {
		*to = append(*to, l)
		said = true
	}
	for _, of := range p.patterns {
		matched, err := matches(of.names)
		if err != nil {
			return false, err
		}
		if matched {
			*to = append(*to, of.goal)
			said = true
		}
	}
	if said || p.rest == nil {
		return said, nil
	}
	for _, other := range p.under {
		if other.silent {
			continue
		}
		var unused []literal
		if said, err := r.goalsOf(other, name, matches, &unused); err != nil || said {
			return false, err
		}
	}
	*to = append(*to, *p.rest)
	return true, nil
}

// memberGoal is what must hold of a member, and whether it may be there at all.
func (r *reader) memberGoal(m *members, name string) (goal, bool, error) {
	if among(m.absent, name) {
		return nil, false, nil
	}
	key := &value{kind: text, text: name}
	for _, g := range m.names {
		if fits, err := r.fits(key, g); err != nil || !fits {
			return nil, false, err
		}
	}
	matches := func(x lexeme.Expr) (bool, error) { return r.match(x, name) }
	var literals []literal
	for _, p := range m.parts {
		if _, err := r.goalsOf(p, name, matches, &literals); err != nil {
			return nil, false, err
		}
	}
	if r.o.Closed && m.closes() && !m.lists(name) {
		return nil, false, nil
	}
	g := r.goal(literals...)
	return g, !g.never(), nil
}

// closes reports whether Options.Closed forbids other members: some are listed, and nothing is said
// of others.
func (m *members) closes() bool {
	lists := false
	for _, p := range m.parts {
		if p.rest != nil || len(p.patterns) > 0 {
			return false
		}
		lists = lists || p.lists
	}
	return lists
}

func (m *members) lists(name string) bool {
	for _, p := range m.parts {
		if _, has := p.names[name]; has {
			return true
		}
	}
	return among(m.required, name)
}

// namesOf is the strings that fit a goal.
func (r *reader) namesOf(g goal) (lexeme.Expr, error) {
	all, err := r.spread(g)
	if err != nil {
		return lexeme.Nothing, err
	}
	var any []lexeme.Expr
	for _, s := range all {
		if !s.may(text) {
			continue
		}
		x := r.textOf(s)
		if s.among {
			var words []string
			for _, v := range s.values {
				if v.kind == text {
					words = append(words, v.text)
				}
			}
			x = r.a.And(x, r.words(words))
		}
		any = append(any, x)
	}
	return r.a.Or(any...), nil
}

// group is names that are not listed, of which the same is said.
type group struct {
	names lexeme.Expr
	goal  goal
	some  int  // which of members.some it is, a bit for each
	named bool // patternProperties says something of them
	late  bool // they come after the members that are required
}

// others divides the names that are not listed by what is said of them. Those that no value fits
// are left out.
func (r *reader) others(m *members, listed []string) ([]group, error) {
	if r.o.Closed && m.closes() {
		return nil, nil
	}
	type piece struct {
		names lexeme.Expr
		in    map[lexeme.Expr]bool
	}
	base := []lexeme.Expr{lexeme.All}
	if len(listed) > 0 {
		base = append(base, r.a.Not(r.words(listed)))
	}
	for _, g := range m.names {
		x, err := r.namesOf(g)
		if err != nil {
			return nil, err
		}
		base = append(base, x)
	}
	pieces := []piece{{r.a.And(base...), map[lexeme.Expr]bool{}}}
	for _, pattern := range m.dividers() {
		var finer []piece
		for _, p := range pieces {
			for _, half := range []piece{{r.a.And(p.names, pattern), inside(p.in, pattern)}, {r.a.And(p.names, r.a.Not(pattern)), p.in}} {
				void, err := r.voidText(half.names)
				if err != nil {
					return nil, err
				}
				if !void {
					finer = append(finer, half)
				}
			}
		}
		if pieces = finer; len(pieces) > maxGroups {
			return []group{{names: r.a.And(base...), some: 1<<len(m.some) - 1}},
				r.cannot(r.here, "the patterns of an object's members divide names into more than %d groups", maxGroups)
		}
	}
	var made []group
	for _, p := range pieces {
		matches := func(x lexeme.Expr) (bool, error) { return p.in[x], nil }
		var literals []literal
		named := false
		for _, of := range m.parts {
			named = named || slices.ContainsFunc(of.patterns, func(n patternPart) bool { return p.in[n.names] })
			if _, err := r.goalsOf(of, unlisted, matches, &literals); err != nil {
				return nil, err
			}
		}
		for some := range 1 << len(m.some) {
			all, may := slices.Clone(literals), true
			for i, o := range m.some {
				if some>>i&1 == 1 {
					may = may && p.in[o.names]
					all = append(all, o.goal...)
				}
			}
			if g := r.goal(all...); may && !g.never() {
				made = append(made, group{names: p.names, goal: g, some: some, named: named})
			}
		}
	}
	return r.merged(made), nil
}

// inTime has names that the schema says nothing of come late, but for those that begin with "$":
// they tell of the document, and stand at its beginning.
func (r *reader) inTime(groups []group) ([]group, error) {
	of := r.a.Then(r.a.Text("$"), lexeme.All)
	var made []group
	for _, g := range groups {
		if g.named {
			made = append(made, g)
			continue
		}
		early, late := g, g
		early.names, late.names, late.late = r.a.And(g.names, of), r.a.And(g.names, r.a.Not(of)), true
		for i, half := range []group{early, late} {
			void, err := r.voidNames(half.names, []string{"$schema", "x"}[i])
			if err != nil {
				return nil, err
			}
			if !void {
				made = append(made, half)
			}
		}
	}
	return made, nil
}

// voidNames is voidText, which takes less where a name is among them that is likely to be.
func (r *reader) voidNames(names lexeme.Expr, likely string) (bool, error) {
	if is, err := r.match(names, likely); err != nil || is {
		return false, err
	}
	return r.voidText(names)
}

// items is the members of a group, as items of a loop: one for each name where there are few, which
// sets one of the bits from next on. No name comes twice.
func (r *reader) items(g group, next int) []grammar.Item {
	value := r.b.Call(r.rule(g.goal))
	if names, few, err := r.a.Texts(g.names, grammar.MaxUnique); few && err == nil {
		var made []grammar.Item
		for i, name := range names {
			item := grammar.Item{Is: r.b.Seq(r.name(name), value), Bit: next + i, Once: true, Count: 1, Late: g.late}
			if g.some > 0 { // whose bit it is that says whether such a member has come
				item.Bit, item.Once = g.some-1, false
			}
			made = append(made, item)
		}
		return made
	}
	quote := r.b.Lexeme(r.a.Text(`"`), lexeme.UTF8)
	return []grammar.Item{{
		Is: r.b.Seq(r.afterName(), value), Bit: g.some - 1, Count: 1, Late: g.late,
		Unique: &grammar.Unique{Before: quote, Text: g.names, Decoder: lexeme.JSONString},
	}}
}

// unlisted is the name of no member: it is no UTF-8, which a name always is.
const unlisted = "\xff"

func inside(in map[lexeme.Expr]bool, x lexeme.Expr) map[lexeme.Expr]bool {
	more := map[lexeme.Expr]bool{x: true}
	for other := range in {
		more[other] = true
	}
	return more
}

// dividers are the patterns on which it depends what is said of a name.
func (m *members) dividers() []lexeme.Expr {
	var all []lexeme.Expr
	for _, p := range m.parts {
		for _, of := range p.patterns {
			all = append(all, of.names)
		}
	}
	for _, o := range m.some {
		all = append(all, o.names)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// merged makes one of groups with the same goal.
func (r *reader) merged(of []group) []group {
	var made []group
	for _, g := range of {
		at := slices.IndexFunc(made, func(o group) bool { return o.some == g.some && o.named == g.named && slices.Equal(o.goal, g.goal) })
		if at < 0 {
			made = append(made, g)
			continue
		}
		made[at].names = r.a.Or(made[at].names, g.names)
	}
	return made
}
