// SPDX-License-Identifier: MIT

package schema

import (
	"slices"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
	numeric "github.com/penstock/penstock/host/grammar/number"
)

var listWords = []word{
	{names: []string{"items", "prefixItems", "additionalItems"}, hold: eachAlone(holdItems), deny: denyItems},
	atLeastWord("minItems", list, itemCount),
	atMostWord("maxItems", list, itemCount),
	{names: []string{"contains"}, hold: eachAlone(holdContains), deny: denyContains, since: 6},
	{names: []string{"uniqueItems"}, hold: eachAlone(holdUnique), deny: denyUnique},
}

// listPart is what one schema says of a list's items: of the first ones each by itself, and of the
// rest.
type listPart struct {
	id     int
	prefix []literal
	rest   *literal
	from   int  // of unevaluatedItems: rest is of items from here on
	silent bool // as in part
}

// readList reads what a schema says of items. Before 2020-12, prefixItems was a list in items, and
// the rest additionalItems.
func (r *reader) readList(at *value) (*listPart, error) {
	if known, has := r.lists[at]; has {
		return known, nil
	}
	r.partCount++
	p := &listPart{id: r.partCount}
	first, rest := at.member("prefixItems"), at.member("items")
	if rest != nil && rest.kind == list {
		if first == nil {
			first = rest
		}
		rest = at.member("additionalItems")
	}
	if first != nil {
		if first.kind != list {
			return nil, wrong(first, "%s must be a list of schemas", first.step)
		}
		for _, v := range first.items {
			p.prefix = append(p.prefix, literal{at: v})
		}
	}
	if rest != nil {
		p.rest = &literal{at: rest}
	}
	r.lists[at] = p
	return p, nil
}

func holdItems(r *reader, s *shape, at *value) error {
	p, err := r.readList(at)
	if err == nil && s.may(list) {
		if r.evaluating > 0 && r.denying > 0 {
			silent := *p
			silent.silent = true
			p = &silent
		}
		s.sequences.parts = append(s.sequences.parts, p)
	}
	return err
}

func denyItems(r *reader, all []*shape, at *value) ([]*shape, error) {
	p, err := r.readList(at)
	if err != nil {
		return nil, err
	}
	var made []*shape
	for i, l := range p.prefix {
		denied := literal{l.at, !l.not}
		if r.goal(denied).impossible() {
			continue
		}
		if err := r.step(at, 1+len(all)+i/itemsPerStep); err != nil {
			return nil, err
		}
		of := r.itemPart(i, denied)
		of.silent = true
		for _, s := range copies(all) {
			s.only(list)
			s.sequences.parts = append(s.sequences.parts, of)
			s.sequences.least = max(s.sequences.least, i+1)
			made = append(made, s)
		}
	}
	if p.rest != nil && !r.goal(literal{p.rest.at, !p.rest.not}).impossible() {
		for _, s := range all {
			s.only(list)
			s.sequences.contains = append(s.sequences.contains, contain{
				at: p.rest.at, goal: literal{p.rest.at, !p.rest.not}, from: len(p.prefix), least: 1, most: lexeme.Unbounded,
			})
			made = append(made, s)
		}
	}
	return r.simplify(made, at)
}

// anyValue is a schema that allows anything.
var anyValue = &value{kind: boolean, text: "true", id: -1}

// readContains reads contains, minContains and maxContains.
func readContains(at *value) (contain, error) {
	word := at.member("contains")
	c := contain{at: word, goal: literal{at: word}, least: 1, most: lexeme.Unbounded}
	var err error
	if n := at.member("minContains"); n != nil {
		if c.least, err = readCount(n); err != nil {
			return c, err
		}
	}
	if n := at.member("maxContains"); n != nil {
		c.most, err = readUpperCount(n)
	}
	return c, err
}

func holdContains(_ *reader, s *shape, at *value) error {
	c, err := readContains(at)
	if exceeds(c.least, c.most) {
		s.without(list)
	}
	if s.may(list) && (c.least > 0 || c.most != lexeme.Unbounded) {
		s.sequences.contains = append(s.sequences.contains, c)
		s.sequences.least = max(s.sequences.least, c.least)
	}
	return err
}

func denyContains(_ *reader, all []*shape, at *value) ([]*shape, error) {
	c, err := readContains(at)
	var made []*shape
	add := func(least, most int) {
		for _, s := range copies(all) {
			s.only(list)
			s.sequences.contains = append(s.sequences.contains, contain{at: c.at, goal: c.goal, least: least, most: most})
			s.sequences.least = max(s.sequences.least, least)
			made = append(made, s)
		}
	}
	if c.least > 0 {
		add(0, c.least-1)
	}
	if c.most != lexeme.Unbounded {
		add(c.most+1, lexeme.Unbounded)
	}
	return made, err
}

func holdUnique(_ *reader, s *shape, at *value) error {
	if word := at.member("uniqueItems"); word.isTrue() && s.may(list) {
		s.sequences.unique = word
	}
	return nil
}

func denyUnique(r *reader, all []*shape, at *value) ([]*shape, error) {
	word := at.member("uniqueItems")
	if !word.isTrue() {
		return nil, nil
	}
	kept := all[:0]
	for _, s := range all {
		if s.only(list); s.kinds != 0 && !exceeds(2, s.sequences.most) {
			s.sequences.least = max(s.sequences.least, 2)
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		return nil, nil
	}
	return kept, r.relaxOrRefuse(word, "that items repeat cannot be enforced")
}

// maxPrefix bounds the items with schemas of their own.
const maxPrefix = 2_000

// itemGoal is what must hold of item i.
func (r *reader) itemGoal(q *sequences, i int) goal {
	var literals []literal
	r.spend(len(q.parts) / itemsPerStep)
	for _, p := range q.parts {
		switch {
		case i < len(p.prefix):
			literals = append(literals, p.prefix[i])
		case p.rest != nil && i >= p.from:
			literals = append(literals, *p.rest)
		}
	}
	return r.goal(literals...)
}

// listBodies returns the bodies of the alternatives that are lists.
func (r *reader) listBodies(all []*shape) ([]grammar.Body, error) {
	var made []grammar.Body
	seen := map[string]bool{}
	for _, s := range all {
		var of key
		of.sequences(&s.sequences)
		r.spend(len(of) / keyBytesPerStep)
		if s.listsValues || !s.may(list) || seen[string(of)] {
			continue
		}
		seen[string(of)] = true
		for _, v := range s.excluded {
			if v.kind == list {
				if err := r.relaxOrRefuse(v, "that a value is not this list cannot be enforced"); err != nil {
					return nil, err
				}
			}
		}
		variants, err := r.placeContained(&s.sequences)
		if err != nil {
			return nil, err
		}
		for _, q := range variants {
			body, err := r.listBody(q)
			if err != nil {
				return nil, err
			}
			made = append(made, body)
		}
	}
	return made, nil
}

// prefixLength is how many items have schemas of their own.
func prefixLength(q *sequences) int {
	n := 0
	for _, p := range q.parts {
		n = max(n, len(p.prefix), p.from)
	}
	return n
}

// listBody is a list, item by item.
func (r *reader) listBody(q *sequences) (grammar.Body, error) {
	prefix := prefixLength(q)
	if prefix > maxPrefix {
		return 0, wrong(r.here, "a list has more than %d items with schemas of their own", maxPrefix)
	}
	most := q.most
	var items []grammar.Body
	for i := range prefix {
		g := r.itemGoal(q, i)
		if void, err := r.isVoid(g, maxVoidDepth-1); err != nil {
			return 0, err
		} else if void {
			most = lowerOf(most, i)
			break
		}
		items = append(items, r.b.Call(r.ruleOf(g)))
	}
	if exceeds(q.least, most) {
		return r.b.Alt(), nil
	}
	rest, err := r.restItems(q, prefix, most)
	if err != nil {
		return 0, err
	}
	body := rest
	if most != lexeme.Unbounded && most <= len(items) {
		items, body = items[:most], r.b.Seq()
	}
	for i := len(items) - 1; i >= 0; i-- {
		after := body
		if i > 0 {
			body = r.b.Seq(r.spaces.comma, items[i], after)
		} else {
			body = r.b.Seq(items[i], after)
		}
		if i >= q.least {
			body = r.b.Alt(r.b.Seq(), body)
		}
		rule := r.b.Rule()
		r.b.Define(rule, body)
		body = r.b.Call(rule)
	}
	return r.b.Seq(r.spaces.openList, body, r.spaces.closeList), nil
}

// restItems is the items after those with schemas of their own, with the comma before them.
func (r *reader) restItems(q *sequences, prefix, most int) (grammar.Body, error) {
	end := grammar.Condition{Min: max(0, q.least-prefix), Max: most}
	if most != lexeme.Unbounded {
		end.Max = max(0, most-prefix)
	}
	optional := end.Min == 0
	g := r.itemGoal(q, prefix)
	void, err := r.isVoid(g, maxVoidDepth-1)
	if err != nil {
		return 0, err
	}
	if void || end.Max == 0 {
		if q.unique != nil && prefix > 1 && !exceeds(2, q.most) {
			if err := r.relaxOrRefuse(q.unique, "that items are unique is not enforced where they have schemas of their own"); err != nil {
				return 0, err
			}
		}
		if !optional || len(q.contains) > 0 && q.contains[0].least > 0 {
			return r.b.Alt(), nil
		}
		return r.b.Seq(), nil
	}
	var items grammar.Body
	switch {
	case q.unique != nil && exceeds(2, q.most): // at most one item: it is unique
		q.unique = nil
		return r.restItems(q, prefix, most)
	case q.unique != nil:
		items, err = r.uniqueItems(q, g, prefix, end)
	case len(q.contains) > 0:
		optional = optional && q.contains[0].least == 0
		items, err = r.containingItems(q, g, end)
	default:
		items = r.plainItems(g, end)
	}
	if err != nil {
		return 0, err
	}
	if prefix > 0 {
		items = r.b.Seq(r.spaces.comma, items)
	}
	if optional {
		items = r.b.Alt(r.b.Seq(), items)
	}
	return items, nil
}

// plainItems is items of one goal, at least one.
func (r *reader) plainItems(g goal, end grammar.Condition) grammar.Body {
	item := r.b.Call(r.ruleOf(g))
	least, more := max(0, end.Min-1), end.Max
	if more != lexeme.Unbounded {
		more--
	}
	return r.b.Seq(item, r.b.Repeat(r.b.Seq(r.spaces.comma, item), least, more))
}

// placeContained simplifies what a list must contain. Where items have schemas of their own, it
// makes an alternative for each item that may be the contained one.
func (r *reader) placeContained(q *sequences) ([]*sequences, error) {
	made := []*sequences{r.liftDenied(q)}
	prefix := prefixLength(q)
	for made[0] != nil {
		var more []*sequences
		placed := false
		for _, from := range made {
			at := -1
			for i, c := range from.contains {
				if prefix > c.from && c.least == 1 && c.most == lexeme.Unbounded {
					at = i
				} else if prefix > c.from {
					if err := r.relaxOrRefuse(c.at, "how many items must be so is not enforced where items have schemas of their own"); err != nil {
						return nil, err
					}
					from.contains = withoutAt(from.contains, i)
					return r.placeContained(from)
				}
			}
			if at < 0 {
				more = append(more, from)
				continue
			}
			placed = true
			c := from.contains[at]
			for i := c.from; i < prefix; i++ {
				if err := r.step(c.at, 1+i/itemsPerStep); err != nil {
					return nil, err
				}
				to := (&shape{sequences: *from}).copy().sequences
				to.contains = withoutAt(from.contains, at)
				to.parts = append(to.parts, r.itemPart(i, c.goal))
				to.least = max(to.least, i+1)
				if !to.impossible() {
					more = append(more, &to)
				}
			}
			to := (&shape{sequences: *from}).copy().sequences
			to.contains = withoutAt(from.contains, at)
			c.from = prefix
			to.contains = append(to.contains, c)
			to.least = max(to.least, prefix+1)
			if !to.impossible() {
				more = append(more, &to)
			}
		}
		if made = more; !placed {
			return made, nil
		}
		if len(made) > maxAlternatives {
			return nil, tooHard(q.contains[0].at, "a list has more than %d alternatives, as they multiply", maxAlternatives)
		}
	}
	return made, nil
}

func withoutAt(all []contain, at int) []contain {
	var kept []contain
	for i, c := range all {
		if i != at {
			kept = append(kept, c)
		}
	}
	return kept
}

// liftDenied turns what must not be contained into what all items must be.
func (r *reader) liftDenied(q *sequences) *sequences {
	to := (&shape{sequences: *q}).copy().sequences
	to.contains = nil
	for _, c := range q.contains {
		if c.most == 0 {
			denied := literal{c.goal.at, !c.goal.not}
			r.partCount++
			to.parts = append(to.parts, &listPart{id: r.partCount, rest: &denied, from: c.from})
			continue
		}
		to.contains = append(to.contains, c)
		to.least = max(to.least, c.from+c.least)
	}
	return &to
}

// itemPart is a part about one item.
func (r *reader) itemPart(i int, l literal) *listPart {
	r.partCount++
	p := &listPart{id: r.partCount, prefix: make([]literal, i+1)}
	for j := range p.prefix {
		p.prefix[j] = literal{at: anyValue}
	}
	p.prefix[i] = l
	return p
}

// containingItems is items of which some must fit contains.
func (r *reader) containingItems(q *sequences, g goal, end grammar.Condition) (grammar.Body, error) {
	of := q.contains
	item := func(more ...literal) grammar.Body {
		return r.b.Call(r.ruleOf(r.goal(append(more, g...)...)))
	}
	once := func(c contain) bool { return c.least == 1 && c.most == lexeme.Unbounded }
	loop := grammar.Loop{Separator: r.spaces.comma}
	switch {
	case len(of) == 1 && once(of[0]):
		end.Must = []int{0}
		loop.Items = []grammar.Item{{Is: item(of[0].goal), Bit: 0, Count: 1}, {Is: item(), Bit: -1, Count: 1}}
		loop.Ends = []grammar.Condition{end}
	case len(of) == 2 && once(of[0]) && once(of[1]):
		apart, both := end, end
		apart.Must, both.Must = []int{0, 1}, []int{2}
		loop.Items = []grammar.Item{
			{Is: item(of[0].goal), Bit: 0, Count: 1}, {Is: item(of[1].goal), Bit: 1, Count: 1},
			{Is: item(of[0].goal, of[1].goal), Bit: 2, Count: 1}, {Is: item(), Bit: -1, Count: 1},
		}
		loop.Ends = []grammar.Condition{apart, both}
	case len(of) == 1 && end.Min <= of[0].least && end.Max == lexeme.Unbounded:
		c := of[0]
		loop.Items = []grammar.Item{{Is: item(c.goal), Bit: -1, Count: 1}, {Is: item(literal{c.goal.at, !c.goal.not}), Bit: -1}}
		loop.Ends = []grammar.Condition{{Min: c.least, Max: c.most}}
	default:
		return r.plainItems(g, end), r.relaxOrRefuse(of[0].at, "so many items, with bounds on how many there are in all, cannot be counted")
	}
	return r.b.Loop(loop), nil
}

// distinct is a goal's values, written so that it can be told whether two are equal: listed, or in
// one spelling each.
type distinct struct {
	values         []*value // where they are few, each by itself
	texts, numbers lexeme.Expr
}

// uniqueItems is items that differ, where they are not objects and lists.
func (r *reader) uniqueItems(q *sequences, g goal, prefix int, end grammar.Condition) (grammar.Body, error) {
	d, scalar, err := r.tellApart(g)
	if err != nil {
		return 0, err
	}
	why := ""
	switch {
	case prefix > 0 || len(q.contains) > 0:
		why = "that items are unique is not enforced beside contains, or where some have schemas of their own"
	case !scalar:
		why = "that items are unique is not enforced where they may be objects or lists"
	case end.Min > grammar.MaxUnique && end.Min > len(d.values):
		why = "that more than 1,000 items are unique is not enforced"
	default:
		return r.differentItems(d, end), nil
	}
	if err := r.relaxOrRefuse(q.unique, "%s", why); err != nil {
		return 0, err
	}
	if len(q.contains) > 0 {
		return r.containingItems(q, g, end)
	}
	return r.plainItems(g, end), nil
}

// differentItems is at least one item, and no two equal ones.
func (r *reader) differentItems(d distinct, end grammar.Condition) grammar.Body {
	end.Min = max(1, end.Min)
	loop := grammar.Loop{Separator: r.spaces.comma, Ends: []grammar.Condition{end}}
	for i, v := range d.values {
		loop.Items = append(loop.Items, grammar.Item{Is: r.valueBody(v), Bit: i, Once: true, Count: 1})
	}
	if d.texts != lexeme.Nothing {
		quote := r.b.Lexeme(r.a.Text(`"`), lexeme.UTF8)
		loop.Items = append(loop.Items, grammar.Item{Is: quote, Bit: -1, Count: 1,
			Unique: &grammar.Unique{Before: quote, Text: d.texts, Decoder: lexeme.JSONString}})
	}
	if d.numbers != lexeme.Nothing {
		loop.Items = append(loop.Items, grammar.Item{Is: r.b.Seq(), Bit: -1, Count: 1,
			Unique: &grammar.Unique{Text: d.numbers, Decoder: lexeme.UTF8, Set: 1}})
	}
	return r.b.Loop(loop)
}

// tellApart makes a goal's values distinct; false where some are objects or lists that no enum
// lists.
func (r *reader) tellApart(g goal) (d distinct, scalar bool, err error) {
	all, err := r.expand(g)
	if err != nil {
		return d, false, err
	}
	if d.values, err = r.fittingValues(all); err != nil {
		return d, false, err
	}
	var texts, numbers []lexeme.Expr
	for _, s := range all {
		switch {
		case s.listsValues:
			continue
		case s.may(object) || s.may(list):
			return d, false, nil
		case s.may(text):
			texts = append(texts, r.stringExpr(s))
		}
		if s.may(number) {
			x, err := r.numberExpr(&s.numbers)
			if err != nil {
				return d, false, err
			}
			numbers = append(numbers, x)
		}
		d.addConstants(s)
	}
	if len(texts) > 0 {
		d.texts = r.keepMany(&d, text, r.a.And(r.a.Or(texts...), r.a.Not(r.anyText(d.textsOf(text)))))
	}
	if len(numbers) > 0 {
		x := r.a.And(r.a.Or(numbers...), numeric.Single(r.a))
		for _, spelled := range d.textsOf(number) {
			just := []bound{{Value: spelled}}
			equals, err := numeric.Numbers(r.a, numeric.Range{Min: just, Max: just})
			if err != nil {
				return d, false, err
			}
			x = r.a.And(x, r.a.Not(equals))
		}
		d.numbers = r.keepMany(&d, number, x)
	}
	return d, true, nil
}

// addConstants adds null, true and false, where a shape allows them.
func (d *distinct) addConstants(s *shape) {
	var made []*value
	if s.may(null) {
		made = append(made, &value{kind: null})
	}
	for bit, spelled := range []string{"false", "true"} {
		if s.may(boolean) && s.booleans>>bit&1 == 1 {
			made = append(made, &value{kind: boolean, text: spelled})
		}
	}
	for _, v := range made {
		if !slices.ContainsFunc(d.values, func(o *value) bool { return o.canonicalKey() == v.canonicalKey() }) {
			d.values = append(d.values, v)
		}
	}
}

// textsOf returns the values of a kind, as they are written.
func (d *distinct) textsOf(k kind) (texts []string) {
	for _, v := range d.values {
		if v.kind == k {
			texts = append(texts, v.text)
		}
	}
	return texts
}

// keepMany returns the texts of x where they are many. It adds few ones to d's values, and returns
// lexeme.Nothing.
func (r *reader) keepMany(d *distinct, k kind, x lexeme.Expr) lexeme.Expr {
	few, all, err := r.a.Texts(x, grammar.MaxUnique)
	if !all || err != nil {
		return x
	}
	for _, spelled := range few {
		d.values = append(d.values, &value{kind: k, text: spelled})
	}
	return lexeme.Nothing
}
