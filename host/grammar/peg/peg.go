// SPDX-License-Identifier: MIT

// Package peg makes grammars of the formats in which chat templates have models answer. llama.cpp
// knows a format as a parser of answers (common/peg-parser.h), which it writes as JSON: a tree of
// sequences, choices and repetitions, whose tags say what is a call, an argument or a value.
//
// The grammar is what the parser reads, except for its look-aheads. Values of arguments, and
// answers that must fit a schema, follow the schema: as JSON or, where the format writes a string
// as the text between two tags, as that text. An argument comes once.
//
// Beside calls, the text of an answer may have a format of its own. llama.cpp's parsers cannot say
// that: a parser that reads a format reads no calls. So two parsers are joined: one of answers that
// must call, without the text that it takes before a call, and one of answers in text, without
// calls, in which the format stands in place of the content.
//
// A custom tool takes a text. It is a function with one argument, which a grammar or a regular
// expression may say: that stands in the place of the argument's value.
//
// # Why is the grammar of tools' calls not made by llama.cpp?
//
// llama.cpp makes it with its converter of JSON schemas, which drops words that it does not know,
// refuses others, and takes any text for a string between tags. But it writes its parser of
// answers as JSON, with tags that say what is a call, an argument or a value. host/grammar/peg
// makes the grammar from that, and puts the rules of the schema in where a value stands. So
// native/llama.cpp/schema.cpp takes the place of the converter: of a schema it reads only which
// kinds of values an argument takes, which the parsers ask for.
//
// # Why does an answer that may have one call end with it?
//
// What could follow is white space, and each token of that is a forward pass. A plugin that
// forces a text with two calls at once is not at fault either: what comes after the end of the
// answer is dropped, as where a stop string ends it.
package peg

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/gbnf"
	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/host/grammar/pattern"
	"github.com/penstock/penstock/host/grammar/schema"
)

// Format says how a model answers a conversation. A grammar is made from it.
type Format struct {
	Parser  string // llama.cpp's parser of the answer, as JSON; "": Texts is all
	Texts   string // llama.cpp's parser of answers in text, which must look like Answer; "": Parser is all
	Fenced  bool   // the text may stand in a fence, if it is JSON
	Tools   []Tool
	Answer  Answer
	Lazy    bool // the grammar begins with the first call
	OneCall bool // there is at most one call
	Calls   bool // Parser's answers are calls without text before them
}

// Answer says what the text of an answer must look like. At most one of its fields is set.
type Answer struct {
	Schema         // JSON that fits a schema
	Grammar string // in GBNF
	Regex   string // in Go's syntax
}

// Size is the number of bytes to read.
func (a *Answer) Size() int { return len(a.JSON) + len(a.Grammar) + len(a.Regex) }

// Tool is a tool, with the schema of its arguments.
type Tool struct {
	Name string
	Schema
	Input Input // which the argument InputName has to fit as well
}

// Schema is a JSON schema of a request, and how it is read.
type Schema struct {
	JSON    json.RawMessage
	Field   string // of the request that it stands in
	Options schema.Options
}

// Relaxed is a part of a field's schema that is not enforced.
type Relaxed struct {
	Field string
	schema.Relaxed
}

// Error is an error in a field's schema.
type Error struct {
	Field string
	Err   error
}

func (e *Error) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap returns the error of the schema.
func (e *Error) Unwrap() error { return e.Err }

// Key is equal for formats with equal grammars.
func (f *Format) Key() string {
	text, _ := json.Marshal(f) // cannot fail
	return string(text)
}

// Size is the number of bytes to read.
func (f *Format) Size() int {
	n := len(f.Parser) + len(f.Texts) + f.Answer.Size()
	for _, t := range f.Tools {
		n += len(t.JSON) + len(t.Input.Lark) + len(t.Input.Regex)
	}
	return n
}

// Whole reports whether an incomplete answer is of no use, so that it should be complete within its
// limit of tokens: it is calls, or follows a grammar, after its reasoning.
func (f *Format) Whole() bool {
	return f != nil && (f.Calls && f.Texts == "" || f.Answer.Grammar != "" || f.Answer.Regex != "")
}

// anyArguments is the schema of a tool whose own cannot be enforced at all.
var anyArguments = json.RawMessage(`{"type":"object"}`)

// loosen drops what the arguments must fit: the input if there is one, else the schema.
func (t *Tool) loosen() {
	if t.Input == (Input{}) {
		t.JSON = anyArguments
	}
	t.Input = Input{}
}

// Loosen returns the format without the schema that an error is about, if that is the schema of a
// tool that is not strict; else false.
func (f *Format) Loosen(bad *Error) (*Format, bool) {
	i := slices.IndexFunc(f.Tools, func(t Tool) bool { return t.Field == bad.Field && t.Options.Loose })
	if i < 0 || string(f.Tools[i].JSON) == string(anyArguments) {
		return nil, false
	}
	looser := *f
	looser.Tools = slices.Clone(f.Tools)
	looser.Tools[i].loosen()
	return &looser, true
}

// LoosenAll returns the format without the schemas of all tools that are not strict, and the fields
// of those schemas.
func (f *Format) LoosenAll() (looser *Format, fields []string) {
	all := *f
	all.Tools = slices.Clone(f.Tools)
	for i := range all.Tools {
		if t := &all.Tools[i]; t.Options.Loose && string(t.JSON) != string(anyArguments) {
			t.loosen()
			fields = append(fields, t.Field)
		}
	}
	return &all, fields
}

// Add adds the rules of a format to a builder, and returns the one that a whole answer fits. A
// grammar of the answer may name tokens.
//
// # Errors
//   - *Error: a schema cannot be enforced, or no arguments that fit it can be written in the
//     format.
//   - A sentence about the bound that was exceeded.
func Add(b *grammar.Builder, f *Format, tokens gbnf.Tokens) (grammar.Rule, []Relaxed, error) {
	w := &writer{b: b, f: f, tokens: tokens, named: map[string]int{}}
	for i, t := range f.Tools {
		w.named[t.Name] = i // as in llama.cpp's parser, of two with one name the last counts
	}
	w.tools = make([]arguments, len(f.Tools))
	root, err := w.writeRoot()
	if err != nil {
		return 0, nil, err
	}
	for i, t := range f.Tools {
		if is := &w.tools[i]; t.Input != (Input{}) && (is.free || len(is.inputs) == 0) {
			w.relax(t.Field, []schema.Relaxed{{Pointer: "#", Why: "the chat template has texts in a notation of its own"}})
		}
		if w.tools[i].Arguments == nil {
			continue
		}
		relaxed, err := w.tools[i].Finish()
		if err != nil {
			return 0, nil, &Error{t.Field, err}
		}
		w.relax(t.Field, relaxed)
	}
	whole := b.Rule()
	b.Define(whole, root)
	return whole, Told(w.relaxed), nil
}

// Told returns what a client is told about parts that are not enforced: no more than of one schema.
func Told(all []Relaxed) []Relaxed {
	var told []Relaxed
	more := 0
	for _, r := range all {
		if r.More > 0 || len(told) == schema.MaxRelaxed {
			more += max(1, r.More)
			continue
		}
		told = append(told, r)
	}
	for _, rest := range schema.More(nil, more) {
		told = append(told, Relaxed{Relaxed: rest})
	}
	return told
}

// writer makes a grammar of a format.
type writer struct {
	b       *grammar.Builder
	f       *Format
	tokens  gbnf.Tokens
	named   map[string]int // tools
	tools   []arguments
	answer  grammar.Body
	relaxed []Relaxed

	a      *arena
	texts  bool // answers are in text: the text counts in place of calls, of which there are none
	rules  map[place]grammar.Rule
	bodies map[place]grammar.Body
}

func (w *writer) relax(field string, all []schema.Relaxed) {
	for _, r := range all {
		w.relaxed = append(w.relaxed, Relaxed{field, r})
	}
}

// writeRoot is a whole answer.
func (w *writer) writeRoot() (grammar.Body, error) {
	var parts []grammar.Body
	if w.f.Parser != "" {
		calls, err := w.writeCalls()
		if err != nil {
			return 0, err
		}
		parts = append(parts, calls...)
	}
	if w.f.Texts != "" {
		if err := w.open(w.f.Texts, true); err != nil {
			return 0, err
		}
		text, err := w.write(w.a.Root, context{tool: nobody, alternative: -1, counts: once})
		if err != nil {
			return 0, err
		}
		parts = append(parts, text)
	}
	return w.b.Alt(parts...), nil
}

// open begins to write what another of llama.cpp's parsers reads.
func (w *writer) open(parser string, texts bool) (err error) {
	w.a, err = openArena(parser)
	w.texts, w.rules, w.bodies = texts, map[place]grammar.Rule{}, map[place]grammar.Body{}
	return err
}

// writeCalls is the answers that Parser reads.
func (w *writer) writeCalls() ([]grammar.Body, error) {
	if err := w.open(w.f.Parser, false); err != nil {
		return nil, err
	}
	begin := []uint64{w.a.Root}
	if w.f.Lazy {
		if begin = w.findTriggers(); len(begin) == 0 {
			return nil, errors.New("llama.cpp's parser has nothing that begins a call")
		}
	}
	how := []counts{anyTimes}
	switch {
	case w.f.OneCall && w.f.Calls:
		how = []counts{once}
	case w.f.OneCall:
		how = []counts{never, once}
	}
	var parts []grammar.Body
	for _, id := range begin {
		w.a.findFacts(id, w.named)
		for _, c := range how {
			body, err := w.write(id, context{tool: nobody, alternative: -1, counts: c})
			if err != nil {
				return nil, err
			}
			parts = append(parts, body)
		}
	}
	return parts, nil
}

// findTriggers returns the rules that may begin a lazy grammar.
func (w *writer) findTriggers() []uint64 {
	var names []string
	for name, id := range w.a.Rules {
		if w.a.Parsers[id].Trigger {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var ids []uint64
	for _, name := range names {
		ids = append(ids, w.a.Rules[name])
	}
	return ids
}

// Fence begins what may stand around an answer in JSON.
const Fence = "```json"

// wrapJSON is an answer in JSON, with what llama.cpp's parsers of such answers accept around it.
func (w *writer) wrapJSON(is grammar.Body) grammar.Body {
	plain := w.b.Seq(w.space(), is)
	if !w.f.Fenced {
		return plain
	}
	mark := func(text string) grammar.Body { return w.b.Lexeme(w.b.Lexemes.Text(text), lexeme.UTF8) }
	return w.b.Alt(plain, w.b.Seq(w.space(), mark(Fence), w.space(), is, w.space(), mark("```")))
}

// writeAnswer is the text of an answer.
func (w *writer) writeAnswer() (grammar.Body, error) {
	if w.answer != 0 {
		return w.answer, nil
	}
	of := &w.f.Answer
	switch {
	case of.Grammar != "":
		rule, err := gbnf.Add(w.b, of.Grammar, "", w.tokens)
		if err != nil {
			return 0, &Error{of.Field, err}
		}
		w.answer = w.b.Call(rule)
	case of.Regex != "":
		whole, err := pattern.Go(w.b.Lexemes, of.Regex)
		if err != nil {
			return 0, &Error{of.Field, err}
		}
		w.answer = w.b.Lexeme(whole, lexeme.UTF8)
	case len(of.JSON) > 0:
		rule, relaxed, err := schema.Read(w.b, of.JSON, of.Options)
		if err != nil {
			return 0, &Error{of.Field, err}
		}
		if w.answer = w.b.Call(rule); w.texts {
			w.answer = w.wrapJSON(w.answer)
		}
		w.relax(of.Field, relaxed)
	default:
		return 0, errors.New("llama.cpp's parser has a schema, and the request has none")
	}
	return w.answer, nil
}
