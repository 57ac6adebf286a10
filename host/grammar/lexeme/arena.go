// SPDX-License-Identifier: MIT

// Package lexeme has the words of a grammar: expressions over characters with intersection and complement, which become automata over
// bytes as texts reach their states.
package lexeme

// Expr is an expression of an Arena: a set of texts. Equal sets that are written alike are one number.
type Expr int32

// Expressions of every arena.
const (
	Nothing Expr = iota // no text
	Empty               // the empty text
	Char                // any one character
	All                 // any text
)

// Range is characters from Low to High, both among them.
type Range struct{ Low, High rune }

// Unbounded is a Repeat without an upper bound.
const Unbounded = -1

// Arena makes expressions. Its methods do not run concurrently. What is beyond its bounds becomes an error, which Err returns: its
// constructors return Nothing from then on.
type Arena struct {
	// TODO(lexeme): helper A
}

// NewArena returns one that makes at most so many expressions.
func NewArena(bound int) *Arena { return &Arena{} }

// Err is what was too much.
func (a *Arena) Err() error { return nil }

// Class is one character that lies in a range.
func (a *Arena) Class(ranges ...Range) Expr { return Nothing }

// Text is one text, in UTF-8. Bytes that are none are U+FFFD.
func (a *Arena) Text(s string) Expr { return Nothing }

// Then is texts of each, one after the other.
func (a *Arena) Then(parts ...Expr) Expr { return Nothing }

// Or is the union.
func (a *Arena) Or(parts ...Expr) Expr { return Nothing }

// And is the intersection.
func (a *Arena) And(parts ...Expr) Expr { return Nothing }

// Not is all texts but x's.
func (a *Arena) Not(x Expr) Expr { return Nothing }

// Repeat is x at least min times and at most max times. Counts may be in the millions: they are counted, not copied.
func (a *Arena) Repeat(x Expr, minimum, maximum int) Expr { return Nothing }

// Match reports whether text is one of x's.
func (a *Arena) Match(x Expr, text string) (bool, error) { return false, nil }

// IsVoid reports whether x has no text. It explores at most work states: an error says that it took more.
func (a *Arena) IsVoid(x Expr, work int) (bool, error) { return false, nil }

// Decoder is how bytes spell the characters of an expression.
type Decoder uint8

// The decoders.
const (
	UTF8       Decoder = iota // as they are
	JSONString                // within a JSON string's quotes: escapes are the characters that they mean, control characters must be escaped; the quotes are not part of it
)
