// SPDX-License-Identifier: MIT

// Package schema reads JSON schemas into rules of a grammar: what a rule allows is JSON that fits
// the schema, and nothing else is.
//
// It reads draft 2020-12, and drafts 4 to 7 where they differ and $schema names them. What is to
// hold at some place of a text is a goal: a set of places of the schema that must hold there, and
// of places that must not. A goal is one rule, so recursion ends. References, allOf and words
// beside each other add places to a goal; anyOf, oneOf, if and the denial of several words make
// alternatives, each of which is a shape: what holds for a string, a number, an object or a list,
// all of it at once.
//
// Refused, or left out with Options.Loose, are:
//   - references to other documents, and dynamic ones that may lead to several parts
//   - alternatives that multiply beyond 256, oneOf among them whose schemas overlap in many ways
//   - that objects and lists among a list's items are unique, and unique items beside contains, or
//     where some have schemas of their own
//   - the denial of unevaluated members and items, of formats that are not known exactly, and of
//     objects and lists as values
//
// No name comes twice in an object, and where items are unique no value does, of the first thousand
// that the schema does not list. A number among unique items has one spelling.
//
// # Why do members of which a schema says nothing come after those that it requires?
//
// The standard lets them come anywhere. But a model that may invent members often goes on
// inventing until max_tokens, and what the schema requires never comes: the built-in model
// answered `{"type": "object", "required": ["b"]}` with a name, a kind and an age. So the mask
// leaves it no such name while a required one is missing. Those that properties or
// patternProperties speak of still come in any order, and so do names that begin with `$`, which
// tell of the document and stand at its beginning (`$schema`, `$id`). `property_order: any` lifts
// the rule. Of MaskBench's valid instances it forbids 0.06%.
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

// Order is how an object's members may be ordered.
type Order uint8

// The orders.
const (
	ByKind      Order = iota // as the schema lists them where no others are allowed, else any, but see inTime
	SchemaOrder              // as the schema lists them, others after them
	AnyOrder
)

// Options say how a schema is read. The zero value is what the standard says, strictly.
type Options struct {
	Order   Order
	Closed  bool // objects that list their properties and say nothing of others have no others
	Compact bool // no white space
	Loose   bool // a word that cannot be enforced, or is not written as it should be, is dropped and listed instead of being an error; types may be in capitals
}

// Relaxed is a part of a schema that is not enforced.
type Relaxed struct {
	Pointer string // a JSON pointer, as #/properties/name; steps and all of it are cut where they are long
	Why     string
	More    int // this is no part, but stands for so many, and has no pointer; 0: it is one
}

// MaxRelaxed is how many parts are told that are not enforced. One more stands for the rest.
const MaxRelaxed = 16

// maxSteps bounds the work of reading a schema. A step is a visit of a place, in whatever way, or
// what takes as long. All of them take some 20 ms, and to make the grammar of what was read takes
// about as long at most.
const maxSteps = 60_000

// maxAllSteps bounds the work of reading all schemas into one Builder, such as those of tools.
const maxAllSteps = 10 * maxSteps

// What takes as long as a step: bytes that are copied or compared, bytes of a key that is made,
// characters that an expression is held against, and values or names of a list that are looked at.
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
	queue    []task // the rules that are named and not made yet
	here     *value // the schema whose rule is made, for errors
	steps    int
	looked   int // parts of objects that were asked for a name

	// What is made already.
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
	otherwise   map[*value]lexeme.Expr // the texts that the values of an enum are not
	names       map[string]grammar.Body

	// The place in the schema that is read.
	active     map[literal]bool // that are being spread: one that leads to itself means nothing
	spreading  map[string]bool  // goals that are
	denying    int              // how deep within schemas that are denied: nothing counts as evaluated
	evaluating int              // how deep within schemas that ask which alternatives hold

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
		active: map[literal]bool{}, spreading: map[string]bool{}, loosened: map[*value]bool{},
	}
	r.spaces = r.makeSpaces()
	return r
}

type task struct {
	rule grammar.Rule
	goal goal
}

// Read adds the rules of a schema to a builder and returns the one that a whole text fits.
//
// # Notes
//   - The work is bounded, and does not depend on the vocabulary.
//   - Relaxed is empty without Options.Loose.
//
// # Errors
//   - What is wrong, unknown or not enforceable, with its place as a JSON pointer.
func Read(b *grammar.Builder, schema json.RawMessage, o Options) (grammar.Rule, []Relaxed, error) {
	d, err := open(schema, b.Lexemes)
	if err != nil {
		return 0, nil, err
	}
	r := newReader(b, d, o)
	root := r.goal(literal{at: d.root})
	if void, err := r.void(root, 0); err != nil {
		return 0, nil, err
	} else if void {
		return 0, nil, wrong(d.root, "nothing fits the JSON schema")
	}
	whole := b.Rule()
	b.Define(whole, b.Seq(b.Call(r.rule(root)), r.spaces.end))
	if err := r.finish(); err != nil {
		return 0, nil, err
	}
	return whole, r.left(), nil
}

// finish makes the rules that are named and not made yet.
func (r *reader) finish() error {
	for len(r.queue) > 0 {
		next := r.queue[len(r.queue)-1]
		r.queue = r.queue[:len(r.queue)-1]
		if len(next.goal) > 0 {
			r.here = next.goal[0].at
		}
		body, err := r.body(next.goal)
		if err != nil {
			if err = r.drop(err); err == nil {
				body, err = r.body(nil)
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

// step counts work, and tells whether it may go on.
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

// spend counts work where the next step will tell whether it may go on.
func (r *reader) spend(n int) { r.steps, r.b.Steps = r.steps+n, r.b.Steps+n }

// Of is the JSON schema of a Go value's type, as encoding/json writes it. What is a schema already,
// a json.RawMessage, stays as it is.
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

	// Unenforceable tells that the schema means something, which a grammar cannot hold.
	Unenforceable bool

	at    *value
	bound bool // it is about the work of reading, not about a word
}

func (e *Error) Error() string { return e.Pointer + ": " + e.Why }

// The bounds of what an error quotes, in bytes: a text of the schema, and all of the reason.
const (
	maxQuoted = 100
	maxWhy    = 500
)

// wrong is an error at a place.
func wrong(at *value, why string, args ...any) error { return newError(at, why, args) }

// tooHard is an error for a part of a schema that cannot be enforced.
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

// cannot tells that a part of the schema is not enforceable: an error, or nil where it may be
// dropped.
func (r *reader) cannot(at *value, why string, args ...any) error {
	err := tooHard(at, why, args...)
	if r.o.Loose {
		r.relax(err)
		return nil
	}
	return err
}

// drop has an error be about a word that is dropped, where that may be. The word then says nothing.
func (r *reader) drop(err error) error {
	var bad *Error
	if !r.o.Loose || !errors.As(err, &bad) || bad.bound {
		return err
	}
	r.relax(bad)
	return nil
}

// relax lists what is dropped.
func (r *reader) relax(e *Error) {
	if r.loosened[e.at] {
		return
	}
	if r.loosened[e.at] = true; len(r.relaxed) < MaxRelaxed {
		r.relaxed = append(r.relaxed, Relaxed{Pointer: e.Pointer, Why: e.Why})
	}
}

// left is what was dropped.
func (r *reader) left() []Relaxed { return More(r.relaxed, len(r.loosened)-len(r.relaxed)) }

// More adds to parts that are not enforced how many there are besides.
func More(told []Relaxed, more int) []Relaxed {
	if more == 0 {
		return told
	}
	return append(told, Relaxed{Why: fmt.Sprintf("%d more places are not enforced", more), More: more})
}
