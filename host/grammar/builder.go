// SPDX-License-Identifier: MIT

package grammar

import (
	"fmt"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// Rule is a rule of a Builder. Its body may call the rule itself, at its beginning too.
type Rule int32

// Body is a rule's body, or a part of one. No text fits the zero Body.
type Body int32

// Builder collects rules for a Grammar. Its methods must not run concurrently. What exceeds its
// bounds becomes an error of Build.
type Builder struct {
	Lexemes *lexeme.Arena

	bodies     []body
	rules      []Body // by Rule; undefined before Define
	lexemes    []word
	loops      []Loop
	uniques    []unique // of the loops, once it is built
	mostUnique int
	parts      int // of all bodies together
	known      map[word]Body
	err        error

	// Steps counts the work of reading schemas into the Builder: a request may have many schemas.
	Steps int
	spent int // by the arenas that Reset replaced
}

// The bounds of a Builder, which keep a hostile grammar small. A schema of 256 KiB stays within
// them.
const (
	maxRules       = 1 << 18
	maxParts       = 1 << 20
	maxDepth       = 10_000
	maxItems       = 4096 // of a loop
	maxConditions  = 1024 // of a loop
	maxBit         = 1 << 14
	maxExpressions = 300_000
)

const undefined Body = -1

// word is a lexeme as bytes spell it.
type word struct {
	is    lexeme.Expr
	spelt lexeme.Decoder
}

type bodyKind uint8

const (
	isNothing bodyKind = iota
	isCall             // calls rule arg
	isLexeme           // arg
	isToken            // arg
	isOther            // any token but arg
	isSeq
	isAlt
	isStar // repeats its part any number of times
	isPlus // repeats its part once or more
	isLoop // arg
)

// body is a node of the rules. They form a directed graph, whose only cycles lead through calls.
type body struct {
	kind  bodyKind
	arg   int32
	depth int32
	parts []Body
}

// NewBuilder returns a Builder without rules.
func NewBuilder() *Builder {
	return &Builder{Lexemes: lexeme.NewArena(maxExpressions), bodies: []body{{}, {kind: isSeq}}, known: map[word]Body{}, mostUnique: MaxUnique}
}

// Reset removes all rules. The work so far still counts.
func (b *Builder) Reset() {
	steps, spent, stop := b.Steps, b.Spent(), b.Lexemes.Stop
	*b = *NewBuilder()
	b.Steps, b.spent, b.Lexemes.Stop = steps, spent, stop
}

// Spent is the work of the arena, and of those that Reset replaced.
func (b *Builder) Spent() int { return b.spent + b.Lexemes.Spent() }

func (b *Builder) fail(format string, args ...any) Body {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
	return 0
}

// Rule declares a rule, which one call of Define has to define.
func (b *Builder) Rule() Rule {
	if len(b.rules) >= maxRules {
		b.fail("the grammar has more than %d rules", maxRules)
		return 0
	}
	b.rules = append(b.rules, undefined)
	return Rule(len(b.rules) - 1)
}

// Define sets a rule's body.
func (b *Builder) Define(r Rule, is Body) {
	if r >= 0 && int(r) < len(b.rules) {
		b.rules[r] = is
	}
}

func (b *Builder) add(kind bodyKind, arg int32, parts ...Body) Body {
	if b.parts += 1 + len(parts); b.parts > maxParts {
		return b.fail("the grammar has more than %d parts", maxParts)
	}
	n := body{kind: kind, arg: arg, parts: parts}
	for _, p := range parts {
		n.depth = max(n.depth, b.bodies[p].depth+1)
	}
	if n.depth > maxDepth {
		return b.fail("the grammar is nested more than %d deep", maxDepth)
	}
	b.bodies = append(b.bodies, n)
	return Body(len(b.bodies) - 1)
}

// Call returns a body of the texts of a rule.
func (b *Builder) Call(r Rule) Body {
	if r < 0 || int(r) >= len(b.rules) {
		return b.fail("the grammar calls rule %d, which is not declared", r)
	}
	return b.add(isCall, int32(r))
}

// Lexeme returns a body of the texts of an expression, as a decoder reads them.
func (b *Builder) Lexeme(x lexeme.Expr, d lexeme.Decoder) Body {
	w := word{x, d}
	switch is, ok := b.known[w]; {
	case ok:
		return is
	case x == lexeme.Nothing:
		return b.Alt()
	case x == lexeme.Empty:
		return b.Seq()
	}
	b.lexemes = append(b.lexemes, w)
	is := b.add(isLexeme, int32(len(b.lexemes)-1))
	b.known[w] = is
	return is
}

// Token returns a body of one token, named by its number whatever its text; with not, of any other
// token of the vocabulary.
func (b *Builder) Token(token int32, not bool) Body {
	if not {
		return b.add(isOther, token)
	}
	return b.add(isToken, token)
}

// Seq returns a body of its parts, one after the other; without parts, of the empty text.
func (b *Builder) Seq(parts ...Body) Body {
	switch len(parts) {
	case 0:
		return 1
	case 1:
		return parts[0]
	}
	return b.add(isSeq, 0, append([]Body(nil), parts...)...)
}

// Alt returns a body of any of its parts; without parts, nothing fits it.
func (b *Builder) Alt(parts ...Body) Body {
	switch len(parts) {
	case 0:
		return 0
	case 1:
		return parts[0]
	}
	return b.add(isAlt, 0, append([]Body(nil), parts...)...)
}

// Repeat returns a body of x, repeated. Counts may be in the millions, since they are counted and
// not unrolled. maximum may be lexeme.Unbounded.
func (b *Builder) Repeat(x Body, minimum, maximum int) Body {
	switch {
	case minimum < 0 || maximum != lexeme.Unbounded && maximum < minimum:
		return b.fail("a repetition of at least %d and at most %d", minimum, maximum)
	case maximum == 0:
		return b.Seq()
	case minimum == 1 && maximum == 1:
		return x
	case minimum == 0 && maximum == 1:
		return b.Alt(b.Seq(), x)
	case minimum == 0 && maximum == lexeme.Unbounded:
		return b.add(isStar, 0, x)
	case minimum == 1 && maximum == lexeme.Unbounded:
		return b.add(isPlus, 0, x)
	}
	return b.Loop(Loop{Items: []Item{{Is: x, Bit: -1, Count: 1}}, Ends: []Condition{{Min: minimum, Max: maximum}}})
}

// Loop is items in any order, and remembers which ones came: the members of an object, the items of
// an array.
type Loop struct {
	Items     []Item
	Separator Body        // stands between two items; the zero Body: nothing does
	Ends      []Condition // the loop may end where any of them holds; empty: anywhere
}

// Item is an item of a Loop.
type Item struct {
	Is    Body
	Bit   int  // is set when the item comes; -1: none is
	Once  bool // the item may not come where its bit is set already
	Count int  // what it adds to the loop's count, 0 or 1
	Late  bool // the item comes after all bits that every condition wants, except those that late items set

	Unique *Unique // a text that comes before Is, at most once in the loop; nil: none
}

// Condition says where a Loop may end. An item may come only where some condition can still be met
// after it.
type Condition struct {
	Must, MustNot []int // bits
	Min, Max      int   // of the count; Max may be lexeme.Unbounded
}

// Loop returns a body of the texts of a loop.
func (b *Builder) Loop(l Loop) Body {
	if len(l.Items) > maxItems || len(l.Ends) > maxConditions {
		return b.fail("a loop has more than %d items or %d conditions", maxItems, maxConditions)
	}
	if len(l.Ends) == 0 {
		l.Ends = []Condition{{Max: lexeme.Unbounded}}
	}
	if l.Separator == 0 {
		l.Separator = b.Seq()
	}
	parts := []Body{l.Separator}
	for _, item := range l.Items {
		if item.Bit < -1 || item.Bit >= maxBit || item.Count < 0 || item.Count > 1 {
			return b.fail("an item of a loop has bit %d and counts %d", item.Bit, item.Count)
		}
		parts = append(parts, item.Is)
	}
	for _, item := range l.Items {
		before := b.Seq()
		if u := item.Unique; u != nil {
			if before = u.Before; before == 0 {
				before = b.Seq()
			}
			if u.Text == lexeme.Nothing || u.Text == lexeme.Empty {
				return b.fail("an item of a loop has a unique text, of which there is one at most")
			}
			b.Lexeme(u.Text, u.Decoder) // so that compileUnique finds its number
		}
		parts = append(parts, before)
	}
	for _, c := range l.Ends {
		for _, bits := range [][]int{c.Must, c.MustNot} {
			for _, bit := range bits {
				if bit < 0 || bit >= maxBit {
					return b.fail("a condition of a loop names bit %d", bit)
				}
			}
		}
	}
	b.loops = append(b.loops, l)
	return b.add(isLoop, int32(len(b.loops)-1), parts...)
}
