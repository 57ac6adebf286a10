// SPDX-License-Identifier: MIT

package schema

import (
	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

// Python is the texts of the value at a path where it may be written as Python does: JSON, or True,
// False and None, or a string between single quotes that needs no escapes. Within lists and objects
// it is JSON.
func (a *Arguments) Python(alternative int, path []string) (grammar.Body, error) {
	is, err := a.Value(alternative, path, AllKinds)
	if err != nil {
		return 0, err
	}
	goals, err := a.goals(alternative, path)
	if err != nil {
		return 0, err
	}
	scalars, err := a.shapes(goals, Nulls|Booleans)
	if err != nil {
		return 0, err
	}
	texts, err := a.shapes(goals, Strings)
	if err != nil {
		return 0, err
	}
	r := a.r
	control := r.a.Class(lexeme.Range{Low: 0, High: ' ' - 1}, lexeme.Range{Low: '\'', High: '\''}, lexeme.Range{Low: '\\', High: '\\'})
	plain, err := r.bodyOf(texts, r.a.Not(r.a.Then(lexeme.All, control, lexeme.All)))
	if err != nil {
		return 0, err
	}
	quote := r.b.Lexeme(r.a.Text("'"), lexeme.UTF8)
	return r.b.Alt(is, r.b.Seq(quote, plain, quote), r.b.Lexeme(r.words(pythonWords(scalars)), lexeme.UTF8)), nil
}

// pythonWords are the words for null, true and false, as far as shapes allow them.
func pythonWords(all []*shape) (words []string) {
	for _, s := range all {
		allowed := func(k kind, word string) bool {
			for _, v := range s.values {
				if v.kind == k && (k == null || v.text == word) {
					return true
				}
			}
			return !s.among
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
