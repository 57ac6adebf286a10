// SPDX-License-Identifier: MIT

package schema

import (
	"encoding/json"
	"slices"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
	numeric "github.com/penstock/penstock/host/grammar/number"
)

// Arguments are those of a tool whose chat template writes them one by one, each with its name:
// some as JSON, some as the text of a tag.
//
// A schema may have alternatives, each of which allows other arguments together. They are numbered:
// what one says of an argument need not hold beside what another says of the next.
type Arguments struct {
	r            *reader
	root         goal
	alternatives [][]*members
}

// Ending says which arguments may come together: all of Must, none of MustNot, and between Min and
// Max of them. Max may be lexeme.Unbounded.
type Ending struct {
	Must, MustNot []string
	Min, Max      int
}

// Item is the step of a path from a list to any of its items.
const Item = "\xff"

// Kinds are kinds of values, as bits.
type Kinds uint8

// The kinds.
const (
	Nulls    Kinds = 1 << null
	Booleans Kinds = 1 << boolean
	Strings  Kinds = 1 << text
	Numbers  Kinds = 1 << number
	Lists    Kinds = 1 << list
	Objects  Kinds = 1 << object
	AllKinds Kinds = every
)

// Tag says how a string is written as the text of a tag: as it is, without quotes and escapes.
type Tag struct {
	Ends []string // what ends the tag: none of them occurs in the text
	Not  string   // what the text must not begin with; "": nothing
	JSON Kinds    // kinds that are read as JSON: no string that looks like one of them may come, unless any value may
}

// ReadArguments adds a schema's rules to a builder, as they are asked for. Finish has to be called
// at the end.
//
// # Errors
//   - Those of Read, among them a value or a tool that no arguments fit.
func ReadArguments(b *grammar.Builder, schema json.RawMessage, o Options) (*Arguments, error) {
	d, err := openDocument(schema, b.Lexemes)
	if err != nil {
		return nil, err
	}
	r := newReader(b, d, o)
	a := &Arguments{r: r, root: r.goal(literal{at: d.root})}
	if void, err := r.isVoid(a.root, 0); err != nil {
		return nil, err
	} else if void {
		return nil, wrong(d.root, "nothing fits the JSON schema")
	}
	return a, nil
}

// JSON is all arguments as one object.
func (a *Arguments) JSON() grammar.Body { return a.r.b.Call(a.r.ruleOf(a.root)) }

// Finish makes the rules that were asked for. Relaxed is empty without Options.Loose.
func (a *Arguments) Finish() ([]Relaxed, error) {
	err := a.r.makeRules()
	return a.r.allRelaxed(), err
}

// Alternatives finds the alternatives, and returns for each which arguments may come together.
//
// # Errors
//   - What of the schema cannot hold for arguments one by one.
func (a *Arguments) Alternatives() ([][]Ending, error) {
	r := a.r
	all, err := r.expand(a.root)
	if err != nil {
		return nil, err
	}
	var objects []*shape
	for _, s := range all {
		switch {
		case !s.may(object):
			continue
		case s.listsValues || len(s.excluded) > 0:
			if err := r.relaxOrRefuse(r.document.root, "arguments that are one of some objects, or none of some, cannot be written one by one"); err != nil {
				return nil, err
			}
		}
		objects = append(objects, s)
	}
	if a.alternatives, err = r.groupByStructure(objects); err != nil {
		return nil, err
	}
	var endings [][]Ending
	for _, of := range a.alternatives {
		var ends []Ending
		for _, m := range of {
			if len(m.unnamed) == 0 { // an unnamed member is not an argument
				ends = append(ends, Ending{m.required, m.absent, m.least, m.most})
			}
		}
		endings = append(endings, ends)
	}
	return endings, nil
}

// Value is the JSON texts of the value at a path, an argument's name and what follows within it, of
// some kinds. It must fit in an alternative; in any of them if that is negative.
func (a *Arguments) Value(alternative int, path []string, kinds Kinds) (grammar.Body, error) {
	goals, err := a.goalsAt(alternative, path)
	if err != nil {
		return 0, err
	}
	if kinds == AllKinds {
		var bodies []grammar.Body
		for _, g := range goals {
			bodies = append(bodies, a.r.b.Call(a.r.ruleOf(g)))
		}
		return a.r.b.Alt(bodies...), nil
	}
	all, err := a.shapesOfKinds(goals, kinds)
	if err != nil {
		return 0, err
	}
	return a.r.makeBodyOf(all, lexeme.Nothing)
}

// Text is Value for a string as the text of a tag. Where no string fits, it is the JSON texts of
// the other kinds, which cannot be written otherwise.
func (a *Arguments) Text(alternative int, path []string, t Tag) (grammar.Body, error) {
	goals, err := a.goalsAt(alternative, path)
	if err != nil {
		return 0, err
	}
	all, err := a.shapesOfKinds(goals, Strings)
	if err != nil {
		return 0, err
	}
	if len(all) == 0 && t.JSON == 0 {
		return a.Value(alternative, path, AllKinds&^Strings)
	}
	if slices.ContainsFunc(goals, func(g goal) bool { return len(g) == 0 }) {
		t.JSON = 0
	}
	return a.r.makeBodyOf(all, a.r.tagText(t))
}

// goalsAt returns the goals at a path, one of which has to hold.
func (a *Arguments) goalsAt(alternative int, path []string) ([]goal, error) {
	r := a.r
	from := a.alternatives
	if alternative >= 0 {
		from = from[alternative : alternative+1]
	}
	var made []goal
	for _, of := range from {
		required := slices.ContainsFunc(of, func(m *members) bool { return hasName(m.required, path[0]) })
		more, err := r.addMemberGoal(of[0], path[0], required, made)
		if err != nil {
			return nil, err
		}
		made = more
	}
	for _, step := range path[1:] {
		var within []goal
		for _, g := range made {
			all, err := r.expand(g)
			if err != nil {
				return nil, err
			}
			for _, s := range all {
				if step == Item && s.may(list) {
					within = r.addItemGoals(s, within)
				} else if step != Item && s.may(object) {
					if within, err = r.addMemberGoal(&s.members, step, hasName(s.members.required, step), within); err != nil {
						return nil, err
					}
				}
			}
		}
		made = within
	}
	return made, nil
}

// addMemberGoal adds what must hold of a member, if it may be there.
func (r *reader) addMemberGoal(m *members, name string, required bool, to []goal) ([]goal, error) {
	if err := r.step(r.here, 8+len(m.parts)/8); err != nil {
		return nil, err
	}
	alone := (&shape{members: *m}).copy().members
	alone.absent, alone.required = nil, nil
	if required {
		alone.required = []string{name}
	}
	g, fits, err := r.memberGoal(&alone, name)
	if err != nil {
		return nil, err
	}
	if void, err := r.isVoidMember(g, fits); err != nil || void {
		return to, err
	}
	return appendGoal(to, g), nil
}

// addItemGoals adds what may have to hold of an item.
func (r *reader) addItemGoals(s *shape, to []goal) []goal {
	for i := range prefixLength(&s.sequences) + 1 {
		if g := r.itemGoal(&s.sequences, i); !g.impossible() {
			to = appendGoal(to, g)
		}
	}
	return to
}

func appendGoal(to []goal, g goal) []goal {
	if slices.ContainsFunc(to, func(o goal) bool { return slices.Equal(o, g) }) {
		return to
	}
	return append(to, g)
}

// shapesOfKinds returns the alternatives of goals, reduced to some kinds.
func (a *Arguments) shapesOfKinds(goals []goal, kinds Kinds) ([]*shape, error) {
	var made []*shape
	for _, g := range goals {
		all, err := a.r.expand(g)
		if err != nil {
			return nil, err
		}
		for _, s := range copies(all) {
			s.kinds &= uint8(kinds)
			if s.narrowKinds(); s.kinds != 0 {
				made = append(made, s)
			}
		}
	}
	return made, nil
}

// tagText is the texts that a tag may have.
func (r *reader) tagText(t Tag) lexeme.Expr {
	var not []lexeme.Expr
	if t.Not != "" {
		not = append(not, r.a.Then(r.a.Text(t.Not), lexeme.All))
	}
	for _, end := range t.Ends {
		not = append(not, r.a.Then(lexeme.All, r.a.Text(end), lexeme.All))
		for n := 1; n < len(end); n++ { // nor may the end of the text and the beginning of what ends it be that
			if end[n:] == end[:len(end)-n] {
				not = append(not, r.a.Then(lexeme.All, r.a.Text(end[:n])))
			}
		}
	}
	between := func(open, closing string) {
		not = append(not, r.a.Then(r.a.Text(open), lexeme.All, r.a.Text(closing)))
	}
	if t.JSON&Nulls != 0 {
		not = append(not, r.a.Text("null"))
	}
	if t.JSON&Booleans != 0 {
		not = append(not, r.a.Text("true"), r.a.Text("false"))
	}
	if t.JSON&Numbers != 0 {
		not = append(not, r.anyNumber())
	}
	if t.JSON&Strings != 0 {
		between(`"`, `"`)
	}
	if t.JSON&Lists != 0 {
		between("[", "]")
	}
	if t.JSON&Objects != 0 {
		between("{", "}")
	}
	return r.a.Not(r.a.Or(not...))
}

// anyNumber is JSON's numbers, however large.
func (r *reader) anyNumber() lexeme.Expr {
	oneOf := func(chars string) lexeme.Expr {
		var ranges []lexeme.Range
		for _, c := range chars {
			ranges = append(ranges, lexeme.Range{Low: c, High: c})
		}
		return r.a.Class(ranges...)
	}
	exponent := r.a.Then(oneOf("eE"), r.a.Repeat(oneOf("+-"), 0, 1), r.a.Repeat(oneOf("0123456789"), 1, lexeme.Unbounded))
	return r.a.Then(numeric.Plain(r.a), r.a.Repeat(exponent, 0, 1))
}

// Python is the texts of the value at a path where it may be written as in Python: JSON, or True,
// False and None, or a string between single quotes that needs no escapes. Within lists and objects
// it is JSON.
func (a *Arguments) Python(alternative int, path []string) (grammar.Body, error) {
	is, err := a.Value(alternative, path, AllKinds)
	if err != nil {
		return 0, err
	}
	goals, err := a.goalsAt(alternative, path)
	if err != nil {
		return 0, err
	}
	scalars, err := a.shapesOfKinds(goals, Nulls|Booleans)
	if err != nil {
		return 0, err
	}
	texts, err := a.shapesOfKinds(goals, Strings)
	if err != nil {
		return 0, err
	}
	r := a.r
	control := r.a.Class(lexeme.Range{Low: 0, High: ' ' - 1}, lexeme.Range{Low: '\'', High: '\''}, lexeme.Range{Low: '\\', High: '\\'})
	plain, err := r.makeBodyOf(texts, r.a.Not(r.a.Then(lexeme.All, control, lexeme.All)))
	if err != nil {
		return 0, err
	}
	quote := r.b.Lexeme(r.a.Text("'"), lexeme.UTF8)
	return r.b.Alt(is, r.b.Seq(quote, plain, quote), r.b.Lexeme(r.anyText(pythonWords(scalars)), lexeme.UTF8)), nil
}

// pythonWords returns Python's words for null, true and false, as far as shapes allow them.
func pythonWords(all []*shape) (words []string) {
	for _, s := range all {
		allowed := func(k kind, word string) bool {
			for _, v := range s.values {
				if v.kind == k && (k == null || v.text == word) {
					return true
				}
			}
			return !s.listsValues
		}
		if s.may(null) && allowed(null, "") {
			words = append(words, "None")
		}
		if s.may(boolean) && s.booleans&2 != 0 && allowed(boolean, "true") {
			words = append(words, "True")
		}
		if s.may(boolean) && s.booleans&1 != 0 && allowed(boolean, "false") {
			words = append(words, "False")
		}
	}
	return words
}
