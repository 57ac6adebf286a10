// SPDX-License-Identifier: MIT

// Package grammar tells which texts, and so which tokens, an answer may be: rules over lexemes, followed byte by byte.
package grammar

import "github.com/penstock/penstock/host/grammar/lexeme"

// Rule is a rule of a Builder, which may name itself in its body, also at its beginning.
type Rule int32

// Body is what a rule, or a part of one, may be.
type Body int32

// Builder makes a Grammar. Its methods do not run concurrently; what is beyond its bounds is the error of Build.
type Builder struct {
	Lexemes *lexeme.Arena
	// TODO(core): helper B
}

// NewBuilder returns an empty one.
func NewBuilder() *Builder { return &Builder{} }

// Rule declares a rule. Each wants one Define.
func (b *Builder) Rule() Rule { return 0 }

// Define says what a rule is.
func (b *Builder) Define(r Rule, is Body) {}

// Call is the texts of a rule.
func (b *Builder) Call(r Rule) Body { return 0 }

// Lexeme is the texts of an expression, spelled for a decoder.
func (b *Builder) Lexeme(x lexeme.Expr, d lexeme.Decoder) Body { return 0 }

// Token is one token by its number, whatever its text, or with not any other token of the vocabulary.
func (b *Builder) Token(token int32, not bool) Body { return 0 }

// Seq is one after the other; without parts, the empty text.
func (b *Builder) Seq(parts ...Body) Body { return 0 }

// Alt is one of them; without parts, nothing fits.
func (b *Builder) Alt(parts ...Body) Body { return 0 }

// Repeat is a body some times. Counts may be in the millions: they are counted, not copied. maximum may be lexeme.Unbounded.
func (b *Builder) Repeat(x Body, minimum, maximum int) Body { return 0 }

// Loop is items in any order, which remembers what came: the members of an object, the items of an array.
type Loop struct {
	Items     []Item
	Separator Body        // between two items
	Ends      []Condition // the loop may end where one of them holds; none: anywhere
}

// Item is what may come in a Loop.
type Item struct {
	Is    Body
	Bit   int  // it is remembered that the item came; -1: it is not
	Once  bool // the item may not come where its bit is remembered already
	Count int  // what it adds to the loop's count, 0 or 1
}

// Condition is where a Loop may end. An item may come only where some condition can still be reached after it.
type Condition struct {
	Must, MustNot []int // bits
	Min, Max      int   // of the count; Max may be lexeme.Unbounded
}

// Loop is the texts of a loop.
func (b *Builder) Loop(l Loop) Body { return 0 }

// Grammar is what Build made. Any number of texts may be followed in it at once.
type Grammar struct{}

// Build ends a Builder. root is the rule that a whole text fits.
func (b *Builder) Build(root Rule) (*Grammar, error) { return nil, nil }
