// SPDX-License-Identifier: MIT

package schema

import (
	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

// spaces is JSON's punctuation with the white space around it, where llama.cpp's converter has it:
// behind all of it, and before colons and what closes. Elsewhere a greedy answer would not be what
// it is with llama.cpp.
type spaces struct {
	white                                        lexeme.Expr
	openObject, closeObject, openList, closeList grammar.Body
	comma, end                                   grammar.Body
}

// makeSpaces allows a space, or one or two line ends and at most 20 spaces and tabs: a model cannot
// go on with white space.
func (r *reader) makeSpaces() spaces {
	white := lexeme.Empty
	if !r.o.Compact {
		indent := r.a.Repeat(r.a.Class(lexeme.Range{Low: ' ', High: ' '}, lexeme.Range{Low: '\t', High: '\t'}), 0, 20)
		white = r.a.Or(lexeme.Empty, r.a.Text(" "), r.a.Then(r.a.Repeat(r.a.Text("\n"), 1, 2), indent))
	}
	mark := func(before lexeme.Expr, text string, after lexeme.Expr) grammar.Body {
		return r.b.Lexeme(r.a.Then(before, r.a.Text(text), after), lexeme.UTF8)
	}
	s := spaces{
		white:      white,
		openObject: mark(lexeme.Empty, "{", white), closeObject: mark(white, "}", lexeme.Empty),
		openList: mark(lexeme.Empty, "[", white), closeList: mark(white, "]", lexeme.Empty),
		comma: mark(lexeme.Empty, ",", white), end: r.b.Seq(),
	}
	return s
}

// name is a member's name and colon. It is one lexeme with one spelling where JSON has only one
// usual one.
func (r *reader) name(name string) grammar.Body {
	made, has := r.names[name]
	if !has {
		made = r.makeName(name)
		r.names[name] = made
	}
	return made
}

func (r *reader) makeName(name string) grammar.Body {
	colon := r.a.Then(r.spaces.white, r.a.Text(":"), r.spaces.white)
	if spelled, one := spell(name); one {
		return r.b.Lexeme(r.a.Then(r.a.Text(spelled), colon), lexeme.UTF8)
	}
	return r.b.Seq(r.b.Lexeme(r.a.Text(`"`), lexeme.UTF8), r.b.Lexeme(r.a.Text(name), lexeme.JSONString), r.afterName())
}

// afterName is the end of a name, and the colon.
func (r *reader) afterName() grammar.Body {
	return r.b.Lexeme(r.a.Then(r.a.Text(`"`), r.spaces.white, r.a.Text(":"), r.spaces.white), lexeme.UTF8)
}
