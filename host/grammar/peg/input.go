// SPDX-License-Identifier: MIT

package peg

import (
	"errors"
	"strings"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lark"
	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/host/grammar/pattern"
)

// InputName is the argument of a tool that takes a text.
const InputName = "input"

// MaxRegex is how many bytes an Input's Regex has at most.
const MaxRegex = pattern.MaxLength

// Input is what that text must be: one of the fields is set, or none.
type Input struct {
	Lark  string // a grammar in Lark's notation
	Regex string // in Go's syntax
}

var errTokens = errors.New("a tool's input has no tokens of its own; write their text in double quotes")

// input is the text that a tool takes, whose parts are spelled in a way that has a name.
func (w *writer) input(tool int, way string, spell func(*grammar.Builder, lexeme.Expr) grammar.Body) (grammar.Body, error) {
	made := w.tools[tool].inputs
	if is, known := made[way]; known {
		return is, nil
	}
	is, err := w.newInput(tool, spell)
	if err != nil {
		return 0, err
	}
	if made == nil {
		made = map[string]grammar.Body{}
		w.tools[tool].inputs = made
	}
	made[way] = is
	return is, nil
}

func (w *writer) newInput(tool int, spell func(*grammar.Builder, lexeme.Expr) grammar.Body) (grammar.Body, error) {
	of := &w.f.Tools[tool]
	if of.Input.Regex != "" {
		whole, err := pattern.Go(w.b.Lexemes, of.Input.Regex)
		if err != nil {
			return 0, &Error{of.Field, err}
		}
		return spell(w.b, whole), nil
	}
	rule, err := lark.Add(w.b, of.Input.Lark, lark.Options{Spell: spell, Token: func(string) (int32, error) { return 0, errTokens }})
	if err != nil {
		return 0, &Error{of.Field, err}
	}
	return w.b.Call(rule), nil
}

// quotedInput is the same as a string of JSON.
func (w *writer) quotedInput(tool int) (grammar.Body, error) {
	text, err := w.input(tool, "", func(b *grammar.Builder, is lexeme.Expr) grammar.Body { return b.Lexeme(is, lexeme.JSONString) })
	quote := w.b.Lexeme(w.b.Lexemes.Text(`"`), lexeme.UTF8)
	return w.b.Seq(quote, text, quote), err
}

// taggedInput is the same as the text of a tag. None of its parts has what ends that: a grammar
// that writes it in several parts ends the input early.
func (w *writer) taggedInput(tool int, ends []string) (grammar.Body, error) {
	within := until(w.b.Lexemes, ends, true)
	return w.input(tool, "\x00"+strings.Join(ends, "\x00"), func(b *grammar.Builder, is lexeme.Expr) grammar.Body {
		if len(ends) > 0 {
			is = b.Lexemes.And(is, within)
		}
		return b.Lexeme(is, lexeme.UTF8)
	})
}

// inputObject is all arguments of a tool that takes a text, as JSON.
func (w *writer) inputObject(tool int) (grammar.Body, error) {
	text, err := w.quotedInput(tool)
	mark := func(text string) grammar.Body { return w.b.Lexeme(w.b.Lexemes.Text(text), lexeme.UTF8) }
	return w.b.Seq(mark("{"), w.space(), mark(`"`+InputName+`"`), w.space(), mark(":"), w.space(), text, w.space(), mark("}")), err
}

// inputValue is the argument of such a tool; false: it is written as the schema has it.
func (w *writer) inputValue(id uint64, c context) (_ grammar.Body, is bool, err error) {
	of := &w.f.Tools[c.tool]
	if of.Input == (Input{}) || strings.TrimPrefix(c.path, "\x00") != InputName {
		return 0, false, nil
	}
	var body grammar.Body
	switch {
	case w.a.Parsers[id].Tag == "tool-arg-string-value":
		body, err = w.taggedInput(c.tool, w.a.ends(id))
	case w.a.python(id):
		w.tools[c.tool].free = true
		return 0, false, nil
	case c.whole:
		return w.b.Alt(), true, nil
	default:
		body, err = w.quotedInput(c.tool)
	}
	return body, true, err
}
