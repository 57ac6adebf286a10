// SPDX-License-Identifier: MIT

// Package schema reads JSON schemas into rules of grammars: what a schema allows fits the rules,
// and nothing else does.
//
// It reads draft 2020-12, and drafts 4 to 7 where they differ and $schema names them. What must
// hold at some place of a text is a goal: a set of schemas that must hold there, and of schemas
// that must fail. A goal is one rule, so recursion ends. References, allOf and words beside each
// other add to a goal; anyOf, oneOf, if and the denial of several words split it. Its alternatives,
// its disjunctive normal form, are shapes: each says all that must hold of a string, a number, an
// object or a list.
//
// Refused, or left out with Options.Loose, are:
//   - references to other documents, and dynamic ones that may lead to several parts
//   - alternatives that multiply beyond 256, among them those of a oneOf whose schemas overlap in
//     many ways
//   - that objects and lists among a list's items are unique, and unique items beside contains, or
//     where some have schemas of their own
//   - the denial of unevaluated members and items, of formats that are not known exactly, and of
//     objects and lists as values
//
// No name comes twice in an object, and no value where items are unique, among the first thousand
// that the schema does not list. A number among unique items has one spelling.
//
// # Why do members of which a schema says nothing come after those that it requires?
//
// The standard lets them come anywhere. But a model that may invent members often goes on inventing
// until max_tokens, and what the schema requires never comes: the built-in model answered
// `{"type": "object", "required": ["b"]}` with a name, a kind and an age. So the mask leaves it no
// such name while a required one is missing. Names that properties or patternProperties speak of
// still come in any order, and so do names that begin with `$`, which describe the document and
// stand at its beginning (`$schema`, `$id`). `property_order: any` lifts the rule. It forbids 0.06%
// of MaskBench's valid instances.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

// Order is the order in which an object's members may come.
type Order uint8

// The orders.
const (
	ByKind      Order = iota // as the schema lists them where no others are allowed, else any, but see splitLate
	SchemaOrder              // as the schema lists them, others after them
	AnyOrder
)

// Options say how a schema is read. The zero value is strict, as the standard is.
type Options struct {
	Order   Order
	Closed  bool // an object that lists properties and says nothing of others has no others
	Compact bool // no white space
	Loose   bool // a word that cannot be enforced, or is malformed, is dropped and listed instead of being an error; types may be in capitals
}

// Relaxed is a part of a schema that is not enforced.
type Relaxed struct {
	Pointer string // a JSON pointer, as #/properties/name; steps and all of it are cut where they are long
	Why     string
	More    int // if not 0, it stands for so many further parts, and has no pointer
}

// MaxRelaxed bounds the parts that are reported as not enforced. One more entry stands for the
// rest.
const MaxRelaxed = 16

// maxSteps bounds the work of reading a schema. A step is a visit of some place, or what takes as
// long. All of them take some 20 ms, and making the grammar of what was read about as long at most.
const maxSteps = 60_000

// maxAllSteps bounds the work of reading all schemas into one Builder, such as those of a request's
// tools.
const maxAllSteps = 10 * maxSteps

// What takes as long as a step: bytes copied or compared, bytes of a key, characters matched
// against an expression, and values or names of a list visited.
const (
	bytesPerStep      = 512
	keyBytesPerStep   = 128
	charactersPerStep = 16
	itemsPerStep      = 64
)

// reader reads one schema.
type reader struct {
	b        *grammar.Builder
	a        *lexeme.Arena
	o        Options
	document *document
	spaces   spaces
	queue    []task // the rules that are declared and not defined yet
	here     *value // the schema whose rule is being made, for errors
	steps    int
	looked   int // how many parts of objects were asked about a name

	// What is known already.
	rules       map[string]grammar.Rule // by goal
	shapes      map[string][]*shape     // by goal
	voids       map[string]found        // by goal
	beside      map[pair]besides
	said        map[*value][]said // by schema
	parts       map[*value]*part
	memberParts map[memberKey]*part
	lists       map[*value]*listPart
	partCount   int
	references  map[*value]*value
	exclusive   map[exclusion][][]literal
	patterns    map[string]lexeme.Expr
	formats     map[string]lexeme.Expr // lexeme.Nothing: it asserts nothing
	otherwise   map[*value]lexeme.Expr // by word: the texts that are none of its values
	names       map[string]grammar.Body

	// The place in the schema that is being read.
	active     map[literal]bool // being expanded: one that leads to itself means nothing
	expanding  map[string]bool  // goals that are being expanded
	denying    int              // how deep within denied schemas, in which nothing counts as evaluated
	evaluating int              // how deep within schemas with unevaluated words, which ask which alternatives hold

	relaxed  []Relaxed
	loosened map[*value]bool // places
}

func newReader(b *grammar.Builder, d *document, o Options) *reader {
	r := &reader{
		b: b, a: b.Lexemes, o: o, document: d, here: d.root,
		rules: map[string]grammar.Rule{}, shapes: map[string][]*shape{}, voids: map[string]found{}, beside: map[pair]besides{},
		said: map[*value][]said{}, parts: map[*value]*part{}, memberParts: map[memberKey]*part{}, lists: map[*value]*listPart{},
		references: map[*value]*value{}, exclusive: map[exclusion][][]literal{}, patterns: map[string]lexeme.Expr{}, formats: map[string]lexeme.Expr{},
		otherwise: map[*value]lexeme.Expr{}, names: map[string]grammar.Body{},
		active: map[literal]bool{}, expanding: map[string]bool{}, loosened: map[*value]bool{},
	}
	r.spaces = r.makeSpaces()
	return r
}

type task struct {
	rule grammar.Rule
	goal goal
}

// Read adds the rules of a schema to a builder, and returns the one that a whole text fits.
//
// # Notes
//   - The work is bounded, and does not depend on the vocabulary.
//   - Relaxed is empty without Options.Loose.
//
// # Errors
//   - What is malformed, unknown or not enforceable, with its place as a JSON pointer.
func Read(b *grammar.Builder, schema json.RawMessage, o Options) (grammar.Rule, []Relaxed, error) {
	d, err := openDocument(schema, b.Lexemes)
	if err != nil {
		return 0, nil, err
	}
	r := newReader(b, d, o)
	root := r.goal(literal{at: d.root})
	if void, err := r.isVoid(root, 0); err != nil {
		return 0, nil, err
	} else if void {
		return 0, nil, wrong(d.root, "nothing fits the JSON schema")
	}
	whole := b.Rule()
	b.Define(whole, b.Seq(b.Call(r.ruleOf(root)), r.spaces.end))
	if err := r.makeRules(); err != nil {
		return 0, nil, err
	}
	return whole, r.allRelaxed(), nil
}

// makeRules defines the rules that are declared.
func (r *reader) makeRules() error {
	for len(r.queue) > 0 {
		next := r.queue[len(r.queue)-1]
		r.queue = r.queue[:len(r.queue)-1]
		if len(next.goal) > 0 {
			r.here = next.goal[0].at
		}
		body, err := r.makeBody(next.goal)
		if err != nil {
			if err = r.relaxError(err); err == nil {
				body, err = r.makeBody(nil)
			}
		}
		if err != nil {
			return err
		}
		r.b.Define(next.rule, body)
	}
	if err := r.a.Err(); err != nil {
		return wrong(r.document.root, "%v", err)
	}
	return nil
}

// step counts work, and returns an error where it must not go on.
func (r *reader) step(at *value, n int) error {
	r.spend(n)
	switch {
	case r.steps > maxSteps:
		return tooMuch(at, "the JSON schema takes too much work to read")
	case r.b.Steps > maxAllSteps:
		return tooMuch(at, "the JSON schemas of the request together take too much work to read")
	}
	if err := r.a.Ask(8 * n); err != nil {
		return err
	}
	if err := r.a.Err(); err != nil {
		return tooMuch(r.document.root, "%v", err)
	}
	return nil
}

func tooMuch(at *value, why string, args ...any) error {
	e := newError(at, why, args)
	e.bound = true
	return e
}

// spend counts work that the next call of step will check.
func (r *reader) spend(n int) { r.steps, r.b.Steps = r.steps+n, r.b.Steps+n }

// Of returns the JSON schema of a Go value's type, as encoding/json writes it. A json.RawMessage is
// taken for a schema, and returned as it is.
func Of(v any) (json.RawMessage, error) {
	if raw, is := v.(json.RawMessage); is {
		return raw, nil
	}
	if v == nil {
		return nil, errors.New("nil has no JSON schema")
	}
	schema, err := jsonschema.ForType(reflect.TypeOf(v), &jsonschema.ForOptions{})
	if err != nil {
		return nil, fmt.Errorf("the JSON schema of a %T: %w", v, err)
	}
	return json.Marshal(schema)
}

// Error says what is wrong with a schema, and where.
type Error struct {
	Pointer string // a JSON pointer, as #/properties/name; steps and all of it are cut where they are long
	Why     string

	// Unenforceable says that the schema is valid, but that a grammar cannot enforce it.
	Unenforceable bool

	at    *value
	bound bool // it is about the work of reading, not about a word
}

func (e *Error) Error() string { return e.Pointer + ": " + e.Why }

// Bounds of an error's text, in bytes: what it quotes of the schema, and the whole reason.
const (
	maxQuoted = 100
	maxWhy    = 500
)

// wrong returns an error about a place.
func wrong(at *value, why string, args ...any) error { return newError(at, why, args) }

// tooHard returns an error about a part of a schema that cannot be enforced.
func tooHard(at *value, why string, args ...any) *Error {
	e := newError(at, why, args)
	e.Unenforceable = true
	return e
}

func newError(at *value, why string, args []any) *Error {
	for i, arg := range args {
		if s, is := arg.(string); is {
			args[i] = excerpt.Of(s, maxQuoted)
		}
	}
	return &Error{Pointer: at.pointer(), Why: excerpt.Of(fmt.Sprintf(why, args...), maxWhy), at: at}
}

// relaxOrRefuse reports that a part of the schema cannot be enforced: it returns an error, or nil
// where Options.Loose drops the part.
func (r *reader) relaxOrRefuse(at *value, why string, args ...any) error {
	err := tooHard(at, why, args...)
	if r.o.Loose {
		r.relax(err)
		return nil
	}
	return err
}

// relaxError turns an error into a dropped word, where Options.Loose allows that. The word then
// says nothing.
func (r *reader) relaxError(err error) error {
	var bad *Error
	if !r.o.Loose || !errors.As(err, &bad) || bad.bound {
		return err
	}
	r.relax(bad)
	return nil
}

// relax lists a dropped word.
func (r *reader) relax(e *Error) {
	if r.loosened[e.at] {
		return
	}
	if r.loosened[e.at] = true; len(r.relaxed) < MaxRelaxed {
		r.relaxed = append(r.relaxed, Relaxed{Pointer: e.Pointer, Why: e.Why})
	}
}

// allRelaxed returns what was dropped.
func (r *reader) allRelaxed() []Relaxed { return More(r.relaxed, len(r.loosened)-len(r.relaxed)) }

// More appends to a list of parts that are not enforced how many more there are.
func More(told []Relaxed, more int) []Relaxed {
	if more == 0 {
		return told
	}
	return append(told, Relaxed{Why: fmt.Sprintf("%d more places are not enforced", more), More: more})
}
