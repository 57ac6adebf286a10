// SPDX-License-Identifier: MIT

package schema

import (
	"slices"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

// maxUnnamed bounds an object's unnamed members.
const maxUnnamed = 3

// objectBodies returns the bodies of the alternatives that are objects. Alternatives with the same
// members are one body, whichever of these they require.
func (r *reader) objectBodies(all []*shape) ([]grammar.Body, error) {
	var open []*shape
	for _, s := range all {
		if s.listsValues || !s.may(object) {
			continue
		}
		for _, v := range s.excluded {
			if v.kind == object {
				if err := r.relaxOrRefuse(v, "that a value is not this object cannot be enforced"); err != nil {
					return nil, err
				}
			}
		}
		open = append(open, s)
	}
	alike, err := r.groupByStructure(open)
	if err != nil {
		return nil, err
	}
	var made []grammar.Body
	for _, of := range alike {
		bodies, err := r.objectBodiesOf(of)
		if err != nil {
			return nil, err
		}
		made = append(made, bodies...)
	}
	return made, nil
}

// groupByStructure groups objects that may have the same members.
func (r *reader) groupByStructure(objects []*shape) (all [][]*members, err error) {
	at := map[string]int{}
	for _, s := range objects {
		variants, err := r.placeUnnamed(&s.members)
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

// placeUnnamed makes alternatives of each unnamed member: one for each listed name that it may
// have, and one for any other name.
func (r *reader) placeUnnamed(m *members) ([]*members, error) {
	if len(m.unnamed) > maxUnnamed {
		if err := r.relaxOrRefuse(r.here, "more than %d members that do not fit cannot be looked for in an object", maxUnnamed); err != nil {
			return nil, err
		}
		loose := *m
		loose.unnamed = nil
		return []*members{&loose}, nil
	}
	made := []*members{m}
	names := listedNames([]*members{m})
	for i, o := range m.unnamed {
		var more []*members
		for _, from := range made {
			more = append(more, from)
			for _, name := range names {
				named, err := r.match(o.names, name)
				if err != nil {
					return nil, err
				}
				if !named || hasName(from.absent, name) {
					continue
				}
				to := (&shape{members: *from}).copy().members
				to.unnamed = slices.Clone(to.unnamed)
				to.unnamed[i].goal, to.unnamed[i].names = nil, lexeme.Nothing
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
		to.unnamed = slices.DeleteFunc(slices.Clone(to.unnamed), func(o unnamed) bool { return o.names == lexeme.Nothing })
	}
	return made, nil
}

// listedNames returns the names that alternatives speak of, in the schema's order.
func listedNames(all []*members) []string {
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

// member is a listed name, with the body of the whole member.
type member struct {
	name string
	is   grammar.Body
}

// objectBodiesOf returns the bodies of alternatives with the same members.
func (r *reader) objectBodiesOf(all []*members) ([]grammar.Body, error) {
	names := listedNames(all)
	base := (&shape{members: *all[0]}).copy().members
	base.absent = nil
	groups, err := r.groupOthers(&base, names)
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
		if slices.ContainsFunc(all, func(m *members) bool { return hasName(m.required, name) }) {
			base.required = []string{name}
		}
		g, fits, err := r.memberGoal(&base, name)
		if err != nil {
			return nil, err
		}
		if void, err := r.isVoidMember(g, fits); err != nil {
			return nil, err
		} else if void {
			continue
		}
		possible[name] = true
		listedMembers = append(listedMembers, member{name, r.b.Seq(r.nameBody(name), r.b.Call(r.ruleOf(g)))})
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
		body, err := r.anyOrderBody(kept, listedMembers, groups)
		return []grammar.Body{body}, err
	}
	for _, m := range kept {
		c := r.newChain(m, listedMembers, groups)
		if err := r.step(r.here, 4*c.links()); err != nil {
			return nil, err
		}
		made = append(made, c.objectBody())
	}
	return made, nil
}

// maxMembers bounds the members of an object whose members come in any order.
const maxMembers = 4_000

func (r *reader) isVoidMember(g goal, fits bool) (bool, error) {
	if !fits {
		return true, nil
	}
	return r.isVoid(g, maxVoidDepth-1)
}

// anyOrderBody is an object whose members come in any order.
func (r *reader) anyOrderBody(all []*members, listed []member, groups []group) (grammar.Body, error) {
	requires := func(m *members) bool { return len(m.required) > 0 }
	if r.o.Order == ByKind && slices.ContainsFunc(all, requires) { // else a weak model goes on inventing members, and what is required never comes
		var err error
		if groups, err = r.splitLate(groups); err != nil {
			return 0, err
		}
	}
	loop := grammar.Loop{Separator: r.spaces.comma}
	bits := map[string]int{}
	for i, of := range listed {
		bits[of.name] = i
		loop.Items = append(loop.Items, grammar.Item{Is: of.is, Bit: i, Once: true, Count: 1})
	}
	next := len(listed) + 1<<len(all[0].unnamed) - 1
	for _, g := range groups {
		if g.unnamed > 0 {
			g.unnamed += len(listed)
		}
		items := r.groupItems(g, next)
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
		for _, cover := range coverings(len(m.unnamed)) {
			by := end
			by.Must = slices.Clone(end.Must)
			for _, some := range cover {
				by.Must = append(by.Must, len(listed)+some-1)
			}
			loop.Ends = append(loop.Ends, by)
		}
	}
	if !hasCounts(loop.Ends) {
		for i := range loop.Items {
			loop.Items[i].Count = 0
		}
	}
	return r.b.Seq(r.spaces.openObject, r.b.Loop(loop), r.spaces.closeObject), nil
}

// coverings returns the ways in which members can together be all of n unnamed ones: each is a list
// of sets, as bits, that cover all.
func coverings(n int) [][]int {
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

// hasCounts reports whether a loop's count matters.
func hasCounts(ends []grammar.Condition) bool {
	return slices.ContainsFunc(ends, func(c grammar.Condition) bool { return c.Min > 0 || c.Max != lexeme.Unbounded })
}

// chain is an object whose members come in the schema's order, others after them.
type chain struct {
	r       *reader
	m       *members
	listed  []member
	others  []grammar.Item // members that are not listed
	counted bool
	rules   map[link]grammar.Rule
}

// link is a place in a chain: count members came, and the listed ones from at on may follow.
type link struct{ at, count int }

func (r *reader) newChain(m *members, listed []member, groups []group) *chain {
	c := &chain{r: r, m: m, rules: map[link]grammar.Rule{}}
	for _, of := range listed {
		if !hasName(m.absent, of.name) {
			c.listed = append(c.listed, of)
		}
	}
	next := 1<<len(m.unnamed) - 1
	for _, g := range groups {
		items := r.groupItems(g, next)
		c.others = append(c.others, items...)
		next += len(items)
	}
	c.counted = m.least > len(m.required) || m.most != lexeme.Unbounded && (len(groups) > 0 || m.most < len(c.listed))
	return c
}

// links bounds the number of places.
func (c *chain) links() int {
	if !c.counted {
		return 2 * len(c.listed)
	}
	return len(c.listed) * (min(len(c.listed), max(c.m.least, c.m.most)+1) + 1)
}

func (c *chain) objectBody() grammar.Body {
	return c.r.b.Seq(c.r.spaces.openObject, c.from(link{}), c.r.spaces.closeObject)
}

// from is the members from a link on, as a call of its rule.
func (c *chain) from(l link) grammar.Body {
	if rule, has := c.rules[l]; has {
		return c.r.b.Call(rule)
	}
	rule := c.r.b.Rule()
	c.rules[l] = rule
	c.r.b.Define(rule, c.body(l))
	return c.r.b.Call(rule)
}

func (c *chain) body(l link) grammar.Body {
	if l.at == len(c.listed) {
		return c.otherMembers(l)
	}
	of := c.listed[l.at]
	var parts []grammar.Body
	if !c.counted || !exceeds(l.count+1, c.m.most) {
		next := link{l.at + 1, 1}
		if c.counted {
			next.count = min(l.count+1, max(c.m.least, c.m.most)+1)
		}
		parts = append(parts, c.r.b.Seq(c.separated(l, of.is), c.from(next)))
	}
	if !hasName(c.m.required, of.name) {
		parts = append(parts, c.from(link{l.at + 1, l.count}))
	}
	return c.r.b.Alt(parts...)
}

// separated puts a comma before all members except the first.
func (c *chain) separated(l link, is grammar.Body) grammar.Body {
	if l.count == 0 {
		return is
	}
	return c.r.b.Seq(c.r.spaces.comma, is)
}

// otherMembers is the members that are not listed, at the end.
func (c *chain) otherMembers(l link) grammar.Body {
	end := grammar.Condition{Max: lexeme.Unbounded}
	if c.counted {
		end.Min = max(0, c.m.least-l.count)
		if c.m.most != lexeme.Unbounded {
			end.Max = max(0, c.m.most-l.count)
		}
	}
	var parts []grammar.Body
	if end.Min == 0 && len(c.m.unnamed) == 0 {
		parts = append(parts, c.r.b.Seq())
	}
	if len(c.others) > 0 && end.Max != 0 {
		end.Min = max(1, end.Min)
		loop := grammar.Loop{Separator: c.r.spaces.comma, Items: c.others}
		for _, cover := range coverings(len(c.m.unnamed)) {
			by := end
			for _, some := range cover {
				by.Must = append(by.Must, some-1)
			}
			loop.Ends = append(loop.Ends, by)
		}
		parts = append(parts, c.separated(l, c.r.b.Loop(loop)))
	}
	return c.r.b.Alt(parts...)
}

// maxGroups bounds the groups into which patterns divide names.
const maxGroups = 64

// addLiterals adds what a part says of a name, and reports whether it says anything.
func (r *reader) addLiterals(p *part, name string, matches func(lexeme.Expr) (bool, error), to *[]literal) (bool, error) {
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
		if said, err := r.addLiterals(other, name, matches, &unused); err != nil || said {
			return false, err
		}
	}
	*to = append(*to, *p.rest)
	return true, nil
}

// memberGoal returns what must hold of a member, and whether it may be there at all.
func (r *reader) memberGoal(m *members, name string) (goal, bool, error) {
	if hasName(m.absent, name) {
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
		if _, err := r.addLiterals(p, name, matches, &literals); err != nil {
			return nil, false, err
		}
	}
	if r.o.Closed && m.isClosed() && !m.listsName(name) {
		return nil, false, nil
	}
	g := r.goal(literals...)
	return g, !g.impossible(), nil
}

// isClosed reports whether Options.Closed forbids other members: some are listed, and nothing is
// said of others.
func (m *members) isClosed() bool {
	lists := false
	for _, p := range m.parts {
		if p.rest != nil || len(p.patterns) > 0 {
			return false
		}
		lists = lists || p.lists
	}
	return lists
}

func (m *members) listsName(name string) bool {
	for _, p := range m.parts {
		if _, has := p.names[name]; has {
			return true
		}
	}
	return hasName(m.required, name)
}

// namesFitting is the strings that fit a goal.
func (r *reader) namesFitting(g goal) (lexeme.Expr, error) {
	all, err := r.expand(g)
	if err != nil {
		return lexeme.Nothing, err
	}
	var any []lexeme.Expr
	for _, s := range all {
		if !s.may(text) {
			continue
		}
		x := r.stringExpr(s)
		if s.listsValues {
			var words []string
			for _, v := range s.values {
				if v.kind == text {
					words = append(words, v.text)
				}
			}
			x = r.a.And(x, r.anyText(words))
		}
		any = append(any, x)
	}
	return r.a.Or(any...), nil
}

// group is unlisted names of which the same is said.
type group struct {
	names   lexeme.Expr
	goal    goal
	unnamed int  // which of members.unnamed it stands for, a bit for each
	named   bool // patternProperties speaks of them
	late    bool // they come after the required members
}

// groupOthers divides the unlisted names by what is said of them, and leaves out those whose member
// no value fits. It refines a partition by one pattern after the other.
func (r *reader) groupOthers(m *members, listed []string) ([]group, error) {
	if r.o.Closed && m.isClosed() {
		return nil, nil
	}
	type piece struct {
		names lexeme.Expr
		in    map[lexeme.Expr]bool
	}
	base := []lexeme.Expr{lexeme.All}
	if len(listed) > 0 {
		base = append(base, r.a.Not(r.anyText(listed)))
	}
	for _, g := range m.names {
		x, err := r.namesFitting(g)
		if err != nil {
			return nil, err
		}
		base = append(base, x)
	}
	pieces := []piece{{r.a.And(base...), map[lexeme.Expr]bool{}}}
	for _, pattern := range m.dividers() {
		var finer []piece
		for _, p := range pieces {
			for _, half := range []piece{{r.a.And(p.names, pattern), withPattern(p.in, pattern)}, {r.a.And(p.names, r.a.Not(pattern)), p.in}} {
				void, err := r.isVoidText(half.names)
				if err != nil {
					return nil, err
				}
				if !void {
					finer = append(finer, half)
				}
			}
		}
		if pieces = finer; len(pieces) > maxGroups {
			return []group{{names: r.a.And(base...), unnamed: 1<<len(m.unnamed) - 1}},
				r.relaxOrRefuse(r.here, "the patterns of an object's members divide names into more than %d groups", maxGroups)
		}
	}
	var made []group
	for _, p := range pieces {
		matches := func(x lexeme.Expr) (bool, error) { return p.in[x], nil }
		var literals []literal
		named := false
		for _, of := range m.parts {
			named = named || slices.ContainsFunc(of.patterns, func(n patternPart) bool { return p.in[n.names] })
			if _, err := r.addLiterals(of, unlisted, matches, &literals); err != nil {
				return nil, err
			}
		}
		for some := range 1 << len(m.unnamed) {
			all, may := slices.Clone(literals), true
			for i, o := range m.unnamed {
				if some>>i&1 == 1 {
					may = may && p.in[o.names]
					all = append(all, o.goal...)
				}
			}
			if g := r.goal(all...); may && !g.impossible() {
				made = append(made, group{names: p.names, goal: g, unnamed: some, named: named})
			}
		}
	}
	return r.mergeGroups(made), nil
}

// splitLate makes names late that the schema says nothing of, except those that begin with "$":
// they describe the document, and stand at its beginning.
func (r *reader) splitLate(groups []group) ([]group, error) {
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
			void, err := r.isVoidNames(half.names, []string{"$schema", "x"}[i])
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

// isVoidNames is isVoidText, which costs less where a likely name is among them.
func (r *reader) isVoidNames(names lexeme.Expr, likely string) (bool, error) {
	if is, err := r.match(names, likely); err != nil || is {
		return false, err
	}
	return r.isVoidText(names)
}

// groupItems returns the members of a group as items of a loop: one for each name where there are
// few, with bits from next on. No name comes twice.
func (r *reader) groupItems(g group, next int) []grammar.Item {
	value := r.b.Call(r.ruleOf(g.goal))
	if names, few, err := r.a.Texts(g.names, grammar.MaxUnique); few && err == nil {
		var made []grammar.Item
		for i, name := range names {
			item := grammar.Item{Is: r.b.Seq(r.nameBody(name), value), Bit: next + i, Once: true, Count: 1, Late: g.late}
			if g.unnamed > 0 { // the bit says that such a member has come
				item.Bit, item.Once = g.unnamed-1, false
			}
			made = append(made, item)
		}
		return made
	}
	quote := r.b.Lexeme(r.a.Text(`"`), lexeme.UTF8)
	return []grammar.Item{{
		Is: r.b.Seq(r.endOfName(), value), Bit: g.unnamed - 1, Count: 1, Late: g.late,
		Unique: &grammar.Unique{Before: quote, Text: g.names, Decoder: lexeme.JSONString},
	}}
}

// unlisted stands for a name that no part lists: it is not UTF-8, which every name is.
const unlisted = "\xff"

func withPattern(in map[lexeme.Expr]bool, x lexeme.Expr) map[lexeme.Expr]bool {
	more := map[lexeme.Expr]bool{x: true}
	for other := range in {
		more[other] = true
	}
	return more
}

// dividers are the patterns that decide what is said of a name.
func (m *members) dividers() []lexeme.Expr {
	var all []lexeme.Expr
	for _, p := range m.parts {
		for _, of := range p.patterns {
			all = append(all, of.names)
		}
	}
	for _, o := range m.unnamed {
		all = append(all, o.names)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// mergeGroups joins groups with the same goal.
func (r *reader) mergeGroups(of []group) []group {
	var made []group
	for _, g := range of {
		at := slices.IndexFunc(made, func(o group) bool {
			return o.unnamed == g.unnamed && o.named == g.named && slices.Equal(o.goal, g.goal)
		})
		if at < 0 {
			made = append(made, g)
			continue
		}
		made[at].names = r.a.Or(made[at].names, g.names)
	}
	return made
}
