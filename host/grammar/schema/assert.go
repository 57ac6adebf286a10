// SPDX-License-Identifier: MIT

package schema

import (
	"errors"
	"slices"
)

// maxAlternatives bounds the alternatives of a goal, which multiply.
const maxAlternatives = 256

// assert adds a literal to each alternative, which may make more of them. It may change its
// arguments.
func (r *reader) assert(all []*shape, l literal) ([]*shape, error) {
	if len(all) == 0 {
		return nil, nil
	}
	if err := r.step(l.at, 1+len(all)); err != nil {
		return nil, err
	}
	switch {
	case l.at.kind == boolean:
		if l.at.isTrue() == l.not {
			return nil, nil
		}
		return all, nil
	case l.at.kind != object:
		return all, r.relaxError(wrong(l.at, "a schema must be an object, true or false, and is %v", l.at.kind))
	}
	if r.active[l] {
		return nil, wrong(l.at, "the schema leads to itself before any value is read")
	}
	r.active[l] = true
	defer delete(r.active, l)
	var err error
	if l.not {
		all, err = r.splitEach(all, l.at, r.deny)
	} else {
		all, err = r.hold(all, l.at)
	}
	if err != nil {
		return nil, err
	}
	return r.dropImpossible(all), nil
}

// dropImpossible drops alternatives that plainly cannot hold.
func (r *reader) dropImpossible(all []*shape) []*shape {
	kept := all[:0]
	for _, s := range all {
		r.spend(s.narrowKinds() / itemsPerStep)
		if s.kinds != 0 {
			kept = append(kept, s)
		}
	}
	return kept
}

// simplify drops alternatives that cannot hold, and duplicates.
func (r *reader) simplify(all []*shape, at *value) ([]*shape, error) {
	kept := r.dropImpossible(all)
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
		if err := r.dropVoid(&kept); err != nil {
			return nil, err
		}
	}
	if len(kept) > maxAlternatives {
		return nil, tooHard(at, "the schema has more than %d alternatives here, as they multiply", maxAlternatives)
	}
	return kept, r.step(at, len(kept))
}

// splitEach splits each alternative by itself. Where one of the parts equals the whole, the
// condition holds there already, and the other parts add nothing.
func (r *reader) splitEach(all []*shape, at *value, make func([]*shape, *value) ([]*shape, error)) ([]*shape, error) {
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
			if made, err = r.simplify(made, at); err != nil {
				return nil, err
			}
		}
	}
	if len(all) == 1 {
		return made, nil
	}
	return r.simplify(made, at)
}

// dropVoid drops alternatives that nothing fits, with a closer look.
func (r *reader) dropVoid(all *[]*shape) error {
	kept := (*all)[:0]
	for _, s := range *all {
		void, err := r.isVoidShape(s, 1)
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

// word is a keyword of a schema, or several that are one assertion. Keywords that are in no table
// assert nothing.
type word struct {
	names []string
	// hold makes the word hold in each alternative, deny makes it fail. Both may change their
	// arguments.
	hold, deny func(r *reader, all []*shape, at *value) ([]*shape, error)
	since      int  // the first draft that has it
	plain      bool // it lists no members and makes no alternatives
}

// said is a word of a schema, with the steps that reading its value once more takes.
type said struct {
	*word
	weight int
}

// weigh returns those steps: few, except for words with large values.
func (w *word) weigh(at *value) int {
	steps := 0
	for _, name := range w.names {
		if v := at.member(name); v != nil {
			steps += v.weight/bytesPerStep + len(v.items)/itemsPerStep
		}
	}
	return steps
}

func (w *word) isIn(at *value) bool {
	for _, name := range w.names {
		if at.member(name) != nil {
			return true
		}
	}
	return false
}

// words is the table of all keywords. Plain ones come first: what they exclude need not be
// multiplied.
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

// hidesOthers reports whether a $ref hides the words beside it, as it did before draft 2019-09.
func (r *reader) hidesOthers(at *value) bool {
	return r.document.named && r.document.draft <= 7 && at.member("$ref") != nil
}

// hold makes all hold that a schema says.
func (r *reader) hold(all []*shape, at *value) ([]*shape, error) {
	if at.member("unevaluatedProperties") != nil || at.member("unevaluatedItems") != nil {
		return r.holdUnevaluated(all, at)
	}
	return r.holdWords(all, at)
}

func (r *reader) holdWords(all []*shape, at *value) ([]*shape, error) {
	for _, w := range r.wordsOf(at) {
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
			if err = r.relaxError(err); err != nil {
				return nil, err
			}
			made = before
		}
		all = r.dropImpossible(made)
	}
	return all, nil
}

// wordsOf returns the words of a schema: plain ones first, then, in the order of the schema, those
// that list members, so that members keep their order.
func (r *reader) wordsOf(at *value) []said {
	if known, has := r.said[at]; has {
		return known
	}
	var all []said
	for i := range words {
		if w := &words[i]; w.isIn(at) && (!r.hidesOthers(at) || w.names[0] == "$ref") && !(r.document.named && r.document.draft < w.since) {
			all = append(all, said{w, w.weigh(at)})
		}
	}
	slices.SortStableFunc(all, func(a, b said) int { return a.position(at) - b.position(at) })
	r.said[at] = all
	return all
}

// position is where a word stands among those that list members; -1 for plain ones.
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

// deny makes a schema fail: an alternative for each word that can.
func (r *reader) deny(all []*shape, at *value) ([]*shape, error) {
	for _, name := range []string{"unevaluatedProperties", "unevaluatedItems"} {
		if at.member(name) != nil {
			return all, r.relaxOrRefuse(at, "that this does not hold cannot be enforced, as it has %s", name)
		}
	}
	r.denying++
	defer func() { r.denying-- }()
	var made []*shape
	for _, w := range r.wordsOf(at) {
		if err := r.step(at, w.weight*len(all)); err != nil {
			return nil, err
		}
		more, err := w.deny(r, copies(all), at)
		if err != nil {
			return all, r.relaxError(err)
		}
		if made, err = r.simplify(append(made, more...), at); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// eachAlone makes a word's function of one that changes a single alternative.
func eachAlone(change func(r *reader, s *shape, at *value) error) func(*reader, []*shape, *value) ([]*shape, error) {
	return func(r *reader, all []*shape, at *value) ([]*shape, error) {
		for _, s := range all {
			if err := change(r, s, at); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
}

var combinations = []word{
	reference("$ref", (*reader).resolve),
	reference("$dynamicRef", (*reader).resolveDynamic),
	reference("$recursiveRef", (*reader).resolveDynamic),
	{names: []string{"allOf"}, hold: holdAll, deny: denyAll},
	{names: []string{"anyOf"}, hold: holdAny, deny: denyAny},
	{names: []string{"oneOf"}, hold: holdOne, deny: denyOne},
	{names: []string{"not"}, hold: not(true), deny: not(false)},
}

var conditionals = []word{{names: []string{"if"}, hold: holdIf, deny: denyIf, since: 7}}

// follower is resolve or resolveDynamic.
type follower func(r *reader, ref *value) (*value, error)

func reference(name string, follow follower) word {
	return word{names: []string{name}, hold: refer(name, follow, false), deny: refer(name, follow, true)}
}

func refer(name string, follow follower, deny bool) func(*reader, []*shape, *value) ([]*shape, error) {
	return func(r *reader, all []*shape, at *value) ([]*shape, error) {
		ref := at.member(name)
		to, err := follow(r, ref)
		if err != nil {
			return nil, err
		}
		return r.assert(all, literal{to, deny})
	}
}

// listedSchemas returns the schemas that a word lists.
func listedSchemas(at *value, name string) ([]*value, error) {
	v := at.member(name)
	if v.kind != list {
		return nil, wrong(v, "%s must be a list of schemas", name)
	}
	return v.items, nil
}

func holdAll(r *reader, all []*shape, at *value) ([]*shape, error) {
	of, err := listedSchemas(at, "allOf")
	for i := 0; err == nil && i < len(of); i++ {
		all, err = r.assert(all, literal{at: of[i]})
	}
	return all, err
}

func denyAll(r *reader, all []*shape, at *value) ([]*shape, error) {
	of, err := listedSchemas(at, "allOf")
	if err != nil {
		return nil, err
	}
	fails := make([][]literal, len(of))
	for i, v := range of {
		fails[i] = []literal{{v, true}}
	}
	return r.either(all, at, fails...)
}

// either makes one of several conjunctions hold.
func (r *reader) either(all []*shape, at *value, of ...[]literal) ([]*shape, error) {
	return r.eitherOr(all, at, nil, of...)
}

// eitherOr makes one of several conjunctions hold, or the value one of some.
func (r *reader) eitherOr(all []*shape, at *value, values []*value, of ...[]literal) ([]*shape, error) {
	return r.splitEach(all, at, func(all []*shape, at *value) ([]*shape, error) {
		var made []*shape
		if len(values) > 0 {
			made = copies(all)
			for _, s := range made {
				r.intersectValues(s, values)
			}
		}
		for _, conjunction := range of {
			more, err := r.assertAll(copies(all), conjunction...)
			if err != nil {
				return nil, err
			}
			if made = append(made, more...); len(made) > maxAlternatives {
				if made, err = r.simplify(made, at); err != nil {
					return nil, err
				}
			}
		}
		return r.simplify(made, at)
	})
}

// assertAll makes all of some literals hold.
func (r *reader) assertAll(all []*shape, of ...literal) ([]*shape, error) {
	var err error
	for i := 0; err == nil && i < len(of); i++ {
		all, err = r.assert(all, of[i])
	}
	return all, err
}

func holdAny(r *reader, all []*shape, at *value) ([]*shape, error) {
	of, err := listedSchemas(at, "anyOf")
	if err != nil {
		return nil, err
	}
	if r.evaluating > 0 {
		return r.holdSubsets(all, at, of)
	}
	var choices [][]literal
	var values []*value
	for _, v := range of {
		if allowsAnything(v) {
			return all, nil
		}
		if some, only := r.listedValues(v); only {
			values = append(values, some...)
			continue
		}
		choices = append(choices, []literal{{at: v}})
	}
	return r.eitherOr(all, at, values, choices...)
}

// listedValues returns the values that a schema lists, where it says nothing else.
func (r *reader) listedValues(at *value) (values []*value, only bool) {
	if at.kind != object {
		return nil, false
	}
	kinds := uint8(every)
	for _, w := range r.wordsOf(at) {
		switch name := w.names[0]; {
		case name == "const":
			values, only = []*value{at.member(name)}, !only
		case name == "enum" && at.member(name).kind == list:
			values, only = at.member(name).items, !only
		case name == "type":
			named, integers, err := r.readType(at)
			if kinds = named; integers || err != nil {
				return nil, false
			}
		default:
			return nil, false
		}
	}
	r.spend(len(values) / itemsPerStep)
	return values, only && !slices.ContainsFunc(values, func(v *value) bool { return kinds&(1<<v.kind) == 0 })
}

// valuesListedOnce returns the values that just one of some schemas lists, where each only lists
// values.
func (r *reader) valuesListedOnce(of []*value) (values []*value, only bool) {
	times := map[string]int{}
	for _, v := range of {
		some, only := r.listedValues(v)
		if !only {
			return nil, false
		}
		within := map[string]bool{}
		for _, each := range some {
			if same := each.canonicalKey(); !within[same] {
				within[same] = true
				times[same]++
			}
		}
		values = append(values, some...)
	}
	r.spend(len(values) / itemsPerStep)
	return slices.DeleteFunc(values, func(v *value) bool { return times[v.canonicalKey()] > 1 }), len(of) > 0
}

// holdSubsets makes any of some schemas hold, with an alternative for each set of them:
// unevaluatedProperties depends on which ones do.
func (r *reader) holdSubsets(all []*shape, at *value, of []*value) ([]*shape, error) {
	if len(of) > 6 {
		return nil, tooHard(at.member("anyOf"), "more than 6 alternatives beside unevaluated members or items take too many combinations")
	}
	var choices [][]literal
	for set := 1; set < 1<<len(of); set++ {
		var choice []literal
		for i, v := range of {
			if set&(1<<i) != 0 {
				choice = append(choice, literal{at: v})
			}
		}
		choices = append(choices, choice)
	}
	return r.either(all, at, choices...)
}

func denyAny(r *reader, all []*shape, at *value) ([]*shape, error) {
	of, err := listedSchemas(at, "anyOf")
	for i := 0; err == nil && i < len(of); i++ {
		all, err = r.assert(all, literal{of[i], true})
	}
	return all, err
}

// holdOne makes exactly one schema hold: each in turn, without those that could hold beside it.
func holdOne(r *reader, all []*shape, at *value) ([]*shape, error) {
	of, err := listedSchemas(at, "oneOf")
	if err != nil {
		return nil, err
	}
	if values, only := r.valuesListedOnce(of); only {
		if len(values) == 0 {
			return nil, nil
		}
		return r.eitherOr(all, at, values)
	}
	choices, err := r.exclusiveChoices(all, at, of)
	if err != nil {
		return nil, err
	}
	made, err := r.either(copies(all), at, choices...)
	var hard *Error
	if errors.As(err, &hard) && hard.Unenforceable {
		if err := r.relaxOrRefuse(at.member("oneOf"), "its alternatives cannot be told apart: %v", err); err != nil {
			return nil, err
		}
		anyOf := make([][]literal, len(of))
		for i, v := range of {
			anyOf[i] = []literal{{at: v}}
		}
		return r.either(all, at, anyOf...)
	}
	return made, err
}

// exclusion is a oneOf, and what holds beside it.
type exclusion struct {
	at     *value
	beside string
}

// exclusiveChoices returns each schema of a oneOf, with the denial of those that could hold beside
// it.
func (r *reader) exclusiveChoices(all []*shape, at *value, of []*value) ([][]literal, error) {
	what := exclusion{at, r.contextKey(all)}
	if known, has := r.exclusive[what]; has {
		return known, nil
	}
	choices := make([][]literal, len(of))
	for i, v := range of {
		choices[i] = []literal{{at: v}}
		for j, other := range of {
			if i == j {
				continue
			}
			apart, err := r.areDisjoint(all, what.beside, v, other)
			if err != nil {
				return nil, err
			}
			if !apart {
				choices[i] = append(choices[i], literal{other, true})
			}
		}
	}
	r.exclusive[what] = choices
	return choices, nil
}

// contextKey is a key of some alternatives, beside which others are to hold; "" where there are too
// many.
func (r *reader) contextKey(all []*shape) string {
	if len(all) > maxBeside {
		return ""
	}
	var of key
	for _, s := range all {
		of.shape(s)
	}
	r.spend(len(of) / keyBytesPerStep)
	return string(of)
}

// maxBeside bounds the alternatives beside which areDisjoint looks at two schemas.
const maxBeside = 8

// areDisjoint reports whether nothing fits two schemas at once beside some alternatives, as far as
// a look at them shows.
func (r *reader) areDisjoint(beside []*shape, context string, a, b *value) (bool, error) {
	void, err := r.isVoid(r.goal(literal{at: a}, literal{at: b}), 0)
	if err != nil || void || len(beside) > maxBeside {
		return void, err
	}
	pair := pair{min(a.id, b.id), max(a.id, b.id)}
	if known, has := r.beside[pair]; has && known.context == context {
		return known.apart, nil
	}
	both, err := r.assertAll(copies(beside), literal{at: a}, literal{at: b})
	if err != nil {
		return false, nil //nolint:nilerr // an error in one of them is reported where it is read
	}
	err = r.dropVoid(&both)
	r.beside[pair] = besides{context, len(both) == 0}
	return len(both) == 0, err
}

type pair struct{ low, high int }

// besides is what areDisjoint found.
type besides struct {
	context string
	apart   bool
}

// denyOne makes none of the schemas hold, or two.
func denyOne(r *reader, all []*shape, at *value) ([]*shape, error) {
	of, err := listedSchemas(at, "oneOf")
	if err != nil {
		return nil, err
	}
	var none []literal
	for _, v := range of {
		none = append(none, literal{v, true})
	}
	choices := [][]literal{none}
	context := r.contextKey(all)
	for i, v := range of {
		r.spend(i / itemsPerStep)
		for _, other := range of[:i] {
			apart, err := r.areDisjoint(all, context, v, other)
			if err != nil {
				return nil, err
			}
			if !apart {
				choices = append(choices, []literal{{at: v}, {at: other}})
			}
		}
	}
	return r.either(all, at, choices...)
}

func not(deny bool) func(*reader, []*shape, *value) ([]*shape, error) {
	return func(r *reader, all []*shape, at *value) ([]*shape, error) {
		return r.assert(all, literal{at.member("not"), deny})
	}
}

func holdIf(r *reader, all []*shape, at *value) ([]*shape, error) {
	condition := at.member("if")
	holds, fails := []literal{{at: condition}}, []literal{{condition, true}}
	if then := at.member("then"); then != nil {
		holds = append(holds, literal{at: then})
	}
	if other := at.member("else"); other != nil {
		fails = append(fails, literal{at: other})
	}
	if len(holds) == 1 && len(fails) == 1 && r.evaluating == 0 {
		return all, nil
	}
	return r.either(all, at, holds, fails)
}

func denyIf(r *reader, all []*shape, at *value) ([]*shape, error) {
	condition := at.member("if")
	var choices [][]literal
	if then := at.member("then"); then != nil {
		choices = append(choices, []literal{{at: condition}, {then, true}})
	}
	if other := at.member("else"); other != nil {
		choices = append(choices, []literal{{condition, true}, {other, true}})
	}
	return r.either(all, at, choices...)
}

// holdUnevaluated makes hold what a schema says of members and items that nothing else in it
// evaluates.
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
				if len(m.sequences.contains) > contains && !allowsAnything(word) {
					if err := r.relaxOrRefuse(word, "unevaluatedItems beside contains cannot be enforced"); err != nil {
						return nil, err
					}
					continue
				}
				r.unevaluatedItems(m, items, word)
			}
		}
		if made, err = r.simplify(append(made, more...), at); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// unevaluatedItems adds a part for the items that no part of a list evaluates, from part first on.
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
