// SPDX-License-Identifier: MIT

package schema

import (
	"github.com/penstock/penstock/host/grammar/format"
	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/host/grammar/pattern"
)

// pattern is the texts in which a pattern is found, and whether it is enforced. at is where it
// stands.
func (r *reader) pattern(at *value, source string) (lexeme.Expr, bool, error) {
	if known, has := r.patterns[source]; has {
		return known, true, nil
	}
	x, err := pattern.ECMA(r.a, source)
	if err != nil {
		if r.a.Err() != nil {
			return lexeme.Nothing, false, wrong(at, "%v", err)
		}
		return lexeme.Nothing, false, r.cannot(at, "%v", err)
	}
	r.patterns[source] = x
	return x, true, nil
}

// patternIn is the pattern of a schema.
func (r *reader) patternIn(at *value) (lexeme.Expr, bool, error) {
	word := at.member("pattern")
	if word.kind != text {
		return lexeme.Nothing, false, wrong(word, "a pattern must be a string")
	}
	return r.pattern(word, word.text)
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
