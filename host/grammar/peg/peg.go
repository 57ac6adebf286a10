// SPDX-License-Identifier: MIT

package peg

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/schema"
)

// Format is how a model answers a conversation, and what a grammar is made from.
type Format struct {
	Parser  string // llama.cpp's, of the answer, as JSON
	Tools   []Tool
	Answer  Schema // of the answer, where the format has it
	Lazy    bool   // the grammar begins with the first call
	OneCall bool   // there is at most one call
}

// Tool is a tool and the schema of its arguments.
type Tool struct {
	Name string
	Schema
}

// Schema is a JSON schema of a request, and how it is read.
type Schema struct {
	JSON    json.RawMessage
	Field   string // of the request
	Options schema.Options
}

// Relaxed is a part of a field's schema that is not enforced.
type Relaxed struct {
	Field string
	schema.Relaxed
}

// Error is what is wrong with a field's schema.
type Error struct {
	Field string
	Err   error
}

func (e *Error) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// Key is a text that is equal for formats with equal grammars.
func (f *Format) Key() string {
	text, _ := json.Marshal(f) // of which nothing can fail
	return string(text)
}

// Size is how many bytes there are to read.
func (f *Format) Size() int {
	n := len(f.Parser) + len(f.Answer.JSON)
	for _, t := range f.Tools {
		n += len(t.JSON)
	}
	return n
}

// Add adds the rules of a format to a builder, and returns the one that a whole answer fits.
//
// # Errors
//   - *Error: a schema cannot be enforced, or no arguments that fit it can be written in the
//     format.
//   - What is beyond a bound, as a sentence.
func Add(b *grammar.Builder, f *Format) (grammar.Rule, []Relaxed, error) {
	w := &writer{b: b, f: f, named: map[string]int{}, rules: map[place]grammar.Rule{}, bodies: map[place]grammar.Body{}}
	for i, t := range f.Tools {
		w.named[t.Name] = i // as in llama.cpp's parser, of two with one name the last counts
	}
	w.tools = make([]arguments, len(f.Tools))
	root, err := w.root()
	if err != nil {
		return 0, nil, err
	}
	for i, t := range f.Tools {
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
	for _, rest := range schema.More(nil, w.more) {
		w.relaxed = append(w.relaxed, Relaxed{Relaxed: rest})
	}
	return whole, w.relaxed, nil
}

// writer writes a grammar.
type writer struct {
	b       *grammar.Builder
	f       *Format
	a       *arena
	named   map[string]int // tools
	tools   []arguments
	answer  grammar.Body
	relaxed []Relaxed
	more    int // places besides that are not enforced

	rules  map[place]grammar.Rule
	bodies map[place]grammar.Body
}

func (w *writer) relax(field string, all []schema.Relaxed) {
	for _, r := range all {
		if r.More > 0 || len(w.relaxed) == schema.MaxRelaxed {
			w.more += max(1, r.More)
			continue
		}
		w.relaxed = append(w.relaxed, Relaxed{field, r})
	}
}

// root is a whole answer.
func (w *writer) root() (grammar.Body, error) {
	var err error
	if w.a, err = open(w.f.Parser); err != nil {
		return 0, err
	}
	begin := []uint64{w.a.Root}
	if w.f.Lazy {
		if begin = w.triggers(); len(begin) == 0 {
			return 0, errors.New("llama.cpp's parser has nothing that begins a call")
		}
	}
	how := []calls{anyCalls}
	if w.f.OneCall {
		how = []calls{noCall, oneCall}
	}
	var parts []grammar.Body
	for _, id := range begin {
		w.a.learn(id, w.named)
		for _, c := range how {
			body, err := w.write(id, context{tool: nobody, alternative: -1, calls: c})
			if err != nil {
				return 0, err
			}
			parts = append(parts, body)
		}
	}
	return w.b.Alt(parts...), nil
}

// triggers are the rules that may begin a lazy grammar.
func (w *writer) triggers() []uint64 {
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

// answered is an answer that fits its schema.
func (w *writer) answered() (grammar.Body, error) {
	if w.answer == 0 {
		of := &w.f.Answer
		if len(of.JSON) == 0 {
			return 0, errors.New("llama.cpp's parser has a schema, and the request has none")
		}
		rule, relaxed, err := schema.Read(w.b, of.JSON, of.Options)
		if err != nil {
			return 0, &Error{of.Field, err}
		}
		w.answer = w.b.Call(rule)
		w.relax(of.Field, relaxed)
	}
	return w.answer, nil
}
