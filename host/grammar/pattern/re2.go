// SPDX-License-Identifier: MIT

package pattern

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/grammar/lexeme"
)

// Go is the texts that a regular expression matches as a whole. Its syntax is Go's, which is RE2's:
// Perl's without look-around and references to groups.
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
		return lexeme.Nothing, locateError(source, err)
	}
	if !a.Spend((MaxParsing - work) / parsingPerStep) { // a grammar may have many
		return lexeme.Nothing, a.Err()
	}
	n, err := convertSyntax(tree)
	if err != nil {
		return lexeme.Nothing, err
	}
	return withinWork(a, func() (lexeme.Expr, error) { return newCompiler(a, oneCharacter('\n')).matchWhole(n) })
}

// locateError finds the place of an error of Go's parser.
func locateError(source string, err error) error {
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

// simple are the operators without characters and parts.
var simple = map[syntax.Op]op{
	syntax.OpBeginText: opBegin, syntax.OpEndText: opEnd, syntax.OpBeginLine: opLineBegin, syntax.OpEndLine: opLineEnd,
	syntax.OpWordBoundary: opWordEdge, syntax.OpNoWordBoundary: opNoEdge, syntax.OpEmptyMatch: opSequence,
}

func convertSyntax(re *syntax.Regexp) (*node, error) {
	if op, ok := simple[re.Op]; ok {
		return newNode(op, -1), nil
	}
	parts := make([]*node, len(re.Sub))
	for i, sub := range re.Sub {
		var err error
		if parts[i], err = convertSyntax(sub); err != nil {
			return nil, err
		}
	}
	switch re.Op {
	case syntax.OpNoMatch:
		return classNode(-1, nil), nil
	case syntax.OpLiteral:
		return convertLiteral(re), nil
	case syntax.OpCharClass:
		ranges := make([]lexeme.Range, 0, len(re.Rune)/2)
		for i := 0; i+1 < len(re.Rune); i += 2 {
			ranges = append(ranges, lexeme.Range{Low: re.Rune[i], High: re.Rune[i+1]})
		}
		return classNode(-1, ranges), nil
	case syntax.OpAnyCharNotNL:
		return classNode(-1, lexeme.Complement(oneCharacter('\n'))), nil
	case syntax.OpAnyChar:
		return classNode(-1, lexeme.Complement(nil)), nil
	case syntax.OpCapture:
		return parts[0], nil
	case syntax.OpStar:
		return newRepeat(parts[0], 0, lexeme.Unbounded), nil
	case syntax.OpPlus:
		return newRepeat(parts[0], 1, lexeme.Unbounded), nil
	case syntax.OpQuest:
		return newRepeat(parts[0], 0, 1), nil
	case syntax.OpRepeat:
		return newRepeat(parts[0], re.Min, re.Max), nil
	case syntax.OpConcat:
		return newNode(opSequence, -1, parts...), nil
	case syntax.OpAlternate:
		return newNode(opChoice, -1, parts...), nil
	}
	return nil, &Error{-1, fmt.Sprintf("%v is not supported", re)}
}

func newRepeat(part *node, low, high int) *node {
	n := newNode(opRepeat, -1, part)
	n.low, n.high = low, high
	return n
}

func convertLiteral(re *syntax.Regexp) *node {
	parts := make([]*node, len(re.Rune))
	for i, r := range re.Rune {
		ranges := oneCharacter(r)
		if re.Flags&syntax.FoldCase != 0 {
			ranges, _ = foldCase(ranges)
		}
		parts[i] = classNode(-1, ranges)
	}
	return newNode(opSequence, -1, parts...)
}

// MaxParsing is the work of Parse that a request may cause: some 50 ms.
const MaxParsing = 1 << 20

// parsingPerStep is how much of it counts as a step of an arena: four patterns may take all.
const parsingPerStep = 4

// The work of Go's parser for parts of a pattern, in units of finding the other case of one
// character, some 50 ns.
const (
	perByte     = 4
	perProperty = 2500 // for \p{…}, of which it copies all ranges and sorts them
)

// The characters that have another case lie between these.
const minFold, maxFold = 'A', 0x1E943

// Parse is syntax.Parse for a client's pattern: it refuses one whose parsing would take more than
// what is left of work, and takes its work from that. Go's parser bounds what a pattern becomes,
// but not its own time: (?i)[A-\x{1E943}…] of 16 KB would take 13 seconds.
//
// # Errors
//   - An *Error where there is not enough work left.
//   - A *syntax.Error for an invalid pattern.
func Parse(source string, work *int) (*syntax.Regexp, error) {
	if *work -= parsingWork(source); *work < 0 {
		return nil, &Error{-1, `it takes too much work to read: it is long, or has many properties such as \p{L}, or wide ranges under (?i)`}
	}
	return syntax.Parse(source, syntax.Perl)
}

// parsingWork estimates the work of parsing a pattern. It may be more than the parser takes.
func parsingWork(source string) int {
	work := perByte * len(source)
	folds := mayFold(source)
	var before, is rune // characters that could be the ends of a range
	for rest := source; rest != ""; {
		if properties := strings.HasPrefix(rest, `\p`) || strings.HasPrefix(rest, `\P`); properties {
			work += perProperty
		}
		dash := rest[0] == '-'
		before = is
		is, rest = readCharacter(rest)
		if dash && folds && rest != "" {
			last, _ := readCharacter(rest)
			work += max(0, int(min(last, maxFold)-max(before, minFold)))
		}
	}
	return work
}

// readCharacter reads a character of a class, by its number if need be.
func readCharacter(text string) (rune, string) {
	number, digits := "", 0
	switch {
	case strings.HasPrefix(text, `\x{`):
		if end := strings.IndexByte(text[:min(len(text), 16)], '}'); end > 0 {
			number, digits = text[3:end], end+1
		}
	case strings.HasPrefix(text, `\x`) && len(text) >= 4:
		number, digits = text[2:4], 4
	}
	if n, err := strconv.ParseInt(number, 16, 32); err == nil {
		return rune(n), text[digits:]
	}
	if len(text) > 1 && text[0] == '\\' {
		text = text[1:]
	}
	r, size := utf8.DecodeRuneInString(text)
	return r, text[size:]
}

// mayFold reports whether a group may have the flag i.
func mayFold(source string) bool {
	for at := strings.Index(source, "(?"); at >= 0; {
		source = source[at+2:]
		if end := strings.IndexAny(source, ":)<"); strings.Contains(source[:max(end, 0)], "i") {
			return true
		}
		at = strings.Index(source, "(?")
	}
	return false
}
