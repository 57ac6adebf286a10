// SPDX-License-Identifier: MIT

package pattern

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

// Go is the texts that a regular expression matches as a whole. It has Go's syntax, which is
// RE2's: Perl's without look-around and references to groups.
//
// # Errors
//   - An *Error for an invalid regular expression.
//   - lexeme.ErrTooMuch, see ECMA.
func Go(a *lexeme.Arena, source string) (lexeme.Expr, error) {
	if len(source) > MaxLength {
		return lexeme.Nothing, &Error{-1, fmt.Sprintf("it has %d bytes; at most %d are taken", len(source), MaxLength)}
	}
	work := MaxParsing
	tree, err := Parse(source, &work)
	if err != nil {
		return lexeme.Nothing, misparsed(source, err)
	}
	if !a.Spend((MaxParsing - work) / parsingPerStep) { // a grammar may have many
		return lexeme.Nothing, a.Err()
	}
	n, err := ofSyntax(tree)
	if err != nil {
		return lexeme.Nothing, err
	}
	return bounded(a, func() (lexeme.Expr, error) { return newCompiler(a, one('\n')).whole(n) })
}

// misparsed says where Go's parser has found its error.
func misparsed(source string, err error) error {
	var parsed *syntax.Error
	if !errors.As(err, &parsed) {
		return &Error{-1, err.Error()}
	}
	why := fmt.Sprintf("%v: `%s`", parsed.Code, excerpt.Of(parsed.Expr, 100))
	if parsed.Expr == "" || strings.Count(source, parsed.Expr) != 1 {
		return &Error{-1, why}
	}
	return &Error{strings.Index(source, parsed.Expr), why}
}

// simple are the nodes that have neither characters nor parts.
var simple = map[syntax.Op]op{
	syntax.OpBeginText: opBegin, syntax.OpEndText: opEnd, syntax.OpBeginLine: opLineBegin, syntax.OpEndLine: opLineEnd,
	syntax.OpWordBoundary: opWordEdge, syntax.OpNoWordBoundary: opNoEdge, syntax.OpEmptyMatch: opSequence,
}

func ofSyntax(re *syntax.Regexp) (*node, error) {
	if op, ok := simple[re.Op]; ok {
		return newNode(op, -1), nil
	}
	parts := make([]*node, len(re.Sub))
	for i, sub := range re.Sub {
		var err error
		if parts[i], err = ofSyntax(sub); err != nil {
			return nil, err
		}
	}
	switch re.Op {
	case syntax.OpNoMatch:
		return classNode(-1, nil), nil
	case syntax.OpLiteral:
		return ofLiteral(re), nil
	case syntax.OpCharClass:
		ranges := make([]lexeme.Range, 0, len(re.Rune)/2)
		for i := 0; i+1 < len(re.Rune); i += 2 {
			ranges = append(ranges, lexeme.Range{Low: re.Rune[i], High: re.Rune[i+1]})
		}
		return classNode(-1, ranges), nil
	case syntax.OpAnyCharNotNL:
		return classNode(-1, lexeme.Complement(one('\n'))), nil
	case syntax.OpAnyChar:
		return classNode(-1, lexeme.Complement(nil)), nil
	case syntax.OpCapture:
		return parts[0], nil
	case syntax.OpStar:
		return repeated(parts[0], 0, lexeme.Unbounded), nil
	case syntax.OpPlus:
		return repeated(parts[0], 1, lexeme.Unbounded), nil
	case syntax.OpQuest:
		return repeated(parts[0], 0, 1), nil
	case syntax.OpRepeat:
		return repeated(parts[0], re.Min, re.Max), nil
	case syntax.OpConcat:
		return newNode(opSequence, -1, parts...), nil
	case syntax.OpAlternate:
		return newNode(opChoice, -1, parts...), nil
	}
	return nil, &Error{-1, fmt.Sprintf("%v is not supported", re)}
}

func repeated(part *node, low, high int) *node {
	n := newNode(opRepeat, -1, part)
	n.low, n.high = low, high
	return n
}

func ofLiteral(re *syntax.Regexp) *node {
	parts := make([]*node, len(re.Rune))
	for i, r := range re.Rune {
		ranges := one(r)
		if re.Flags&syntax.FoldCase != 0 {
			ranges, _ = foldCase(ranges)
		}
		parts[i] = classNode(-1, ranges)
	}
	return newNode(opSequence, -1, parts...)
}
