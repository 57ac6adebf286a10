// SPDX-License-Identifier: MIT

package schema

import (
	"github.com/penstock/penstock/host/grammar/format"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

// pattern is the texts in which a pattern is found, and whether it is enforced. at is where it stands.
func (r *reader) pattern(at, pattern *value) (lexeme.Expr, bool, error) {
	if pattern.kind != text {
		return lexeme.Nothing, false, wrong(at, "a pattern must be a string")
	}
	return lexeme.All, true, nil
}

// format is the texts of a format, and whether it asserts anything.
func (r *reader) format(word *value) (lexeme.Expr, bool, error) {
	if word.kind != text {
		return lexeme.Nothing, false, wrong(word, "format must be a string")
	}
	if known, has := r.formats[word.text]; has {
		return known, known != lexeme.Nothing, nil
	}
	x, known := format.Expr(r.a, word.text)
	r.formats[word.text] = x
	return x, known, nil
}
