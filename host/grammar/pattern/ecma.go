// SPDX-License-Identifier: MIT

package pattern

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// ecmaLines are the characters that end a line in ECMA-262.
var ecmaLines = []lexeme.Range{{Low: '\n', High: '\n'}, {Low: '\r', High: '\r'}, {Low: 0x2028, High: 0x2029}}

// ECMA is the texts in which a pattern of ECMA-262 with flag u matches somewhere, as JSON Schema
// has them.
//
// # Notes
//   - Beyond the standard, (?i), (?s) and (?m) may stand anywhere, a name may follow (?P, and
//     braces and - may stand for themselves where they cannot be anything else.
//   - Look-ahead within a repetition is taken where it stands before one character and one length
//     follows, as in ^((?!x).)*$.
//
// # Errors
//   - An *Error for an invalid pattern, and for look-behind and references to groups, which cannot
//     become an expression.
//   - lexeme.ErrTooMuch for what takes too much work. Only if the arena is full is it the arena's,
//     too.
func ECMA(a *lexeme.Arena, source string) (lexeme.Expr, error) {
	if len(source) > MaxLength {
		return lexeme.Nothing, &Error{-1, fmt.Sprintf("it has %d bytes; at most %d are taken", len(source), MaxLength)}
	}
	if !utf8.ValidString(source) {
		return lexeme.Nothing, &Error{-1, "it is not UTF-8"}
	}
	return withinWork(a, func() (lexeme.Expr, error) {
		p := parser{source: source, a: a}
		tree, err := p.choice()
		if err == nil && p.at < len(source) {
			err = p.fail("a ) closes nothing")
		}
		if err != nil {
			return lexeme.Nothing, err
		}
		return newCompiler(a, ecmaLines).matchAnywhere(tree)
	})
}

// maxWork is how many steps of an arena a pattern may take, some 20 ms.
const maxWork = 300_000

// withinWork leaves the arena as it was where a pattern takes too much.
func withinWork(a *lexeme.Arena, make func() (lexeme.Expr, error)) (lexeme.Expr, error) {
	x, err := lexeme.Nothing, error(nil)
	if tooMuch := a.Bounded(maxWork, func() { x, err = make() }); tooMuch != nil {
		return lexeme.Nothing, tooMuch
	}
	return x, err
}

// parser reads a pattern of ECMA-262.
type parser struct {
	source string
	a      *lexeme.Arena // pays for the ranges of classes
	at     int
	depth  int
	ranges int // of all classes so far
	flags  flags
}

// flags are those of modifiers.
type flags struct{ fold, dotAll, lines bool }

func (p *parser) fail(why string, args ...any) *Error { return &Error{p.at, fmt.Sprintf(why, args...)} }

func (p *parser) more() bool { return p.at < len(p.source) }

// peek reports whether a text comes next.
func (p *parser) peek(text string) bool { return strings.HasPrefix(p.source[p.at:], text) }

// take is peek, and goes on behind the text.
func (p *parser) take(text string) bool {
	is := p.peek(text)
	if is {
		p.at += len(text)
	}
	return is
}

func (p *parser) rune() rune {
	r, size := utf8.DecodeRuneInString(p.source[p.at:])
	p.at += size
	return r
}

// choice reads alternatives to the end or to a parenthesis.
func (p *parser) choice() (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail("groups are nested more than %d deep", maxDepth)
	}
	defer func(f flags) { p.depth--; p.flags = f }(p.flags)
	at := p.at
	var all []*node
	for {
		part, err := p.sequence()
		if err != nil {
			return nil, err
		}
		if all = append(all, part); !p.take("|") {
			break
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return newNode(opChoice, at, all...), nil
}

func (p *parser) sequence() (*node, error) {
	at := p.at
	var all []*node
	for p.more() && !p.peek("|") && !p.peek(")") {
		part, err := p.term()
		if err != nil {
			return nil, err
		}
		if part != nil {
			all = append(all, part)
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return newNode(opSequence, at, all...), nil
}

// term reads an atom, and how often it comes. It returns nil for modifiers of what follows.
func (p *parser) term() (*node, error) {
	at := p.at
	part, err := p.atom()
	if err != nil || part == nil {
		return nil, err
	}
	low, high, found, err := p.quantifier()
	if err != nil || !found {
		return part, err
	}
	if part.op >= opBegin {
		return nil, &Error{at, "an assertion cannot be repeated"}
	}
	if p.more() && strings.ContainsRune("*+?", rune(p.source[p.at])) {
		return nil, p.fail("a quantifier follows a quantifier")
	}
	n := newNode(opRepeat, at, part)
	n.low, n.high = low, high
	return n, nil
}

// quantifier reads *, +, ? and {low,high}. Lazy ones fit the same texts.
func (p *parser) quantifier() (low, high int, found bool, err error) {
	switch {
	case p.take("*"):
		low, high = 0, lexeme.Unbounded
	case p.take("+"):
		low, high = 1, lexeme.Unbounded
	case p.take("?"):
		low, high = 0, 1
	case p.peek("{"):
		low, high, found, err = p.braces()
		if err != nil || !found {
			return low, high, false, err
		}
	default:
		return 0, 0, false, nil
	}
	p.take("?")
	return low, high, true, nil
}

// maxCount is the greatest number of a quantifier; more means no bound.
const maxCount = 1 << 30

// braces reads {low,high}. Braces that are not a quantifier stand for themselves.
func (p *parser) braces() (low, high int, found bool, err error) {
	begin := p.at
	p.at++
	low, some := p.number()
	high = low
	if p.take(",") {
		if !some && p.more() && p.source[p.at] >= '0' && p.source[p.at] <= '9' {
			return 0, 0, false, p.fail("a quantifier has no lower bound")
		}
		var bound bool
		if high, bound = p.number(); !bound {
			high = lexeme.Unbounded
		}
	}
	if !some || !p.take("}") {
		p.at = begin
		return 0, 0, false, nil
	}
	if high >= 0 && high < low {
		return 0, 0, false, p.fail("a quantifier's bounds are the wrong way round")
	}
	return low, high, true, nil
}

func (p *parser) number() (n int, found bool) {
	for p.more() && p.source[p.at] >= '0' && p.source[p.at] <= '9' {
		n, found = min(n*10+int(p.source[p.at]-'0'), maxCount), true
		p.at++
	}
	return n, found
}

func (p *parser) atom() (*node, error) {
	at := p.at
	switch r := p.rune(); r {
	case '^':
		if p.flags.lines {
			return newNode(opLineBegin, at), nil
		}
		return newNode(opBegin, at), nil
	case '$':
		if p.flags.lines {
			return newNode(opLineEnd, at), nil
		}
		return newNode(opEnd, at), nil
	case '(':
		return p.group(at)
	case '[':
		ranges, err := p.class()
		return p.countRanges(classNode(at, ranges), err)
	case '.':
		if p.flags.dotAll {
			return classNode(at, lexeme.Complement(nil)), nil
		}
		return classNode(at, lexeme.Complement(ecmaLines)), nil
	case '\\':
		switch {
		case p.take("b"):
			return newNode(opWordEdge, at), nil
		case p.take("B"):
			return newNode(opNoEdge, at), nil
		}
		ranges, err := p.escape(false)
		if err == nil {
			ranges, err = p.foldRanges(ranges)
		}
		return p.countRanges(classNode(at, ranges), err)
	case '*', '+', '?':
		p.at = at
		return nil, p.fail("nothing is before %c that can be repeated", r)
	default:
		ranges, err := p.foldRanges(oneCharacter(r))
		return classNode(at, ranges), err
	}
}

// maxRanges bounds the ranges of all classes of a pattern.
const maxRanges = 50_000

// countRanges returns a class, unless a pattern has too many large ones.
func (p *parser) countRanges(class *node, err error) (*node, error) {
	if err != nil {
		return nil, err
	}
	if p.ranges += len(class.ranges); p.ranges > maxRanges {
		return nil, p.fail("its classes have more than %d ranges", maxRanges)
	}
	return class, nil
}

func oneCharacter(r rune) []lexeme.Range { return []lexeme.Range{{Low: r, High: r}} }

// foldRanges adds the characters that differ from some ranges only in case, under the flag i.
func (p *parser) foldRanges(ranges []lexeme.Range) ([]lexeme.Range, error) {
	if !p.flags.fold {
		return ranges, nil
	}
	all, looked := foldCase(ranges)
	return all, p.spend(looked/16 + len(all)) // to look at one takes a few instructions
}

// spend counts ranges that are copied, compared or sorted.
func (p *parser) spend(ranges int) error {
	if !p.a.Spend(ranges) {
		return p.a.Err()
	}
	return nil
}

// group reads what follows an opening parenthesis. It returns nil for modifiers of the rest of the
// group around it.
func (p *parser) group(at int) (*node, error) {
	kind := opSequence
	before := p.flags
	switch {
	case !p.take("?"):
	case p.take(":"):
	case p.take("="):
		kind = opAhead
	case p.take("!"):
		kind = opNotAhead
	case p.take("<=") || p.take("<!"):
		return nil, &Error{at, "look-behind is not supported"}
	case p.take("<") || p.take("P<"):
		end := strings.IndexByte(p.source[p.at:], '>')
		if end < 1 || strings.ContainsAny(p.source[p.at:p.at+end], "()[]{}|\\ ") {
			return nil, p.fail("a group's name is missing")
		}
		p.at += end + 1
	case p.take("P="):
		return nil, &Error{at, "references to groups are not supported"}
	default:
		whole, err := p.modifiers(at)
		if err != nil || whole {
			return nil, err
		}
	}
	inside, err := p.choice()
	if err != nil {
		return nil, err
	}
	if !p.take(")") {
		return nil, &Error{at, "a group is not closed"}
	}
	p.flags = before
	if kind == opSequence {
		return inside, nil
	}
	return newNode(kind, at, inside), nil
}

// modifiers reads letters such as i-s, and the : or ) after them. whole reports a ): they are for
// what follows.
func (p *parser) modifiers(at int) (whole bool, err error) {
	on, some := true, false
	for p.more() {
		switch c := p.source[p.at]; c {
		case 'i':
			p.flags.fold = on
		case 's':
			p.flags.dotAll = on
		case 'm':
			p.flags.lines = on
		case 'u': // is always on
			if !on {
				return false, &Error{at, "flag u cannot be taken away"}
			}
		case '-':
			if !on {
				return false, &Error{at, "a group's modifiers have two -"}
			}
			on = false
		case ':', ')':
			if !some {
				return false, &Error{at, "a group begins with what ECMA-262 does not have"}
			}
			p.at++
			return c == ')', nil
		default:
			return false, &Error{at, "a group begins with what ECMA-262 does not have"}
		}
		some = true
		p.at++
	}
	return false, &Error{at, "a group is not closed"}
}

// Classes with a letter of their own.
var (
	digitRanges = []lexeme.Range{{Low: '0', High: '9'}}
	wordRanges  = []lexeme.Range{{Low: '0', High: '9'}, {Low: 'A', High: 'Z'}, {Low: '_', High: '_'}, {Low: 'a', High: 'z'}}
	spaceRanges = append(tableRanges(spaces), lexeme.Range{Low: '\t', High: '\r'}, lexeme.Range{Low: 0x2028, High: 0x2029}, lexeme.Range{Low: 0xFEFF, High: 0xFEFF})
)

var controls = map[rune]rune{'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// escape reads what follows a backslash, except \b and \B outside classes.
func (p *parser) escape(inClass bool) ([]lexeme.Range, error) {
	at := p.at - 1
	if !p.more() {
		return nil, &Error{at, "a backslash stands at the end"}
	}
	r := p.rune()
	if c, ok := controls[r]; ok {
		return oneCharacter(c), nil
	}
	switch r {
	case 'd':
		return digitRanges, nil
	case 'D':
		return lexeme.Complement(digitRanges), nil
	case 'w':
		return p.foldRanges(wordRanges)
	case 'W':
		word, err := p.foldRanges(wordRanges)
		return lexeme.Complement(word), err
	case 's':
		return spaceRanges, nil
	case 'S':
		return lexeme.Complement(spaceRanges), nil
	case 'p', 'P':
		return p.property(at, r == 'P')
	case 'b':
		if inClass {
			return oneCharacter('\b'), nil
		}
	case 'x':
		return p.hexadecimal(at, 2)
	case 'u':
		return p.unicode(at)
	case 'c':
		if p.more() {
			if c := p.source[p.at]; c|0x20 >= 'a' && c|0x20 <= 'z' {
				p.at++
				return oneCharacter(rune(c & 0x1F)), nil
			}
		}
		return nil, &Error{at, `\c wants a letter`}
	case 'k':
		if !inClass {
			return nil, &Error{at, "references to groups are not supported"}
		}
	}
	switch {
	case r == '0' && !(p.more() && p.source[p.at] >= '0' && p.source[p.at] <= '9'):
		return oneCharacter(0), nil
	case r == '0':
		return nil, &Error{at, "octal escapes are not in ECMA-262 with flag u"}
	case r >= '1' && r <= '9' && !inClass:
		return nil, &Error{at, "references to groups are not supported"}
	case r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z':
		return nil, &Error{at, `\` + string(r) + " is not in ECMA-262"}
	}
	return oneCharacter(r), nil
}

// hexadecimal reads a character's number of some digits.
func (p *parser) hexadecimal(at, digits int) ([]lexeme.Range, error) {
	if r, ok := p.digits(digits); ok {
		return oneCharacter(r), nil
	}
	return nil, &Error{at, "an escape wants " + strconv.Itoa(digits) + " hexadecimal digits"}
}

func (p *parser) digits(count int) (rune, bool) {
	if len(p.source)-p.at < count {
		return 0, false
	}
	v, err := strconv.ParseUint(p.source[p.at:p.at+count], 16, 32)
	if err != nil {
		return 0, false
	}
	p.at += count
	return rune(v), true
}

// unicode reads \u0000, two of them for one character, and \u{0}.
func (p *parser) unicode(at int) ([]lexeme.Range, error) {
	if p.take("{") {
		end := strings.IndexByte(p.source[p.at:], '}')
		v, err := uint64(0), error(nil)
		if end > 0 {
			v, err = strconv.ParseUint(p.source[p.at:p.at+end], 16, 32)
		}
		if end < 1 || err != nil || v > 0x10FFFF {
			return nil, &Error{at, `\u{ wants the hexadecimal number of a character and }`}
		}
		p.at += end + 1
		return oneCharacter(rune(v)), nil
	}
	high, ok := p.digits(4)
	if !ok {
		return nil, &Error{at, "an escape wants 4 hexadecimal digits"}
	}
	if begin := p.at; high >= 0xD800 && high < 0xDC00 && p.take(`\u`) {
		if low, ok := p.digits(4); ok && low >= 0xDC00 && low < 0xE000 {
			return oneCharacter(utf16.DecodeRune(high, low)), nil
		}
		p.at = begin
	}
	return oneCharacter(high), nil
}

// class reads what follows an opening bracket. Ranges that it names twice, such as a property,
// count once.
func (p *parser) class() ([]lexeme.Range, error) {
	begin := p.at - 1
	not := p.take("^")
	var all []lexeme.Range
	large := map[*lexeme.Range]bool{} // sets of ranges that were added, by their first range
	add := func(ranges []lexeme.Range) error {
		if len(ranges) > 16 {
			if large[&ranges[0]] {
				return nil
			}
			large[&ranges[0]] = true
		}
		all = append(all, ranges...)
		return p.spend(len(ranges))
	}
	for !p.take("]") {
		if !p.more() {
			return nil, &Error{begin, "a class is not closed"}
		}
		at := p.at
		low, err := p.classAtom()
		if err != nil {
			return nil, err
		}
		if !p.peek("-") || p.peek("-]") {
			if err := add(low); err != nil {
				return nil, err
			}
			continue
		}
		p.at++
		if !p.more() {
			return nil, &Error{begin, "a class is not closed"}
		}
		high, err := p.classAtom()
		if err != nil {
			return nil, err
		}
		parts := [][]lexeme.Range{low, oneCharacter('-'), high} // where the - stands for itself
		if isOne(low) && isOne(high) {
			if low[0].Low > high[0].Low {
				return nil, &Error{at, "a class has a range that ends before it begins"}
			}
			parts = [][]lexeme.Range{{{Low: low[0].Low, High: high[0].Low}}}
		}
		for _, part := range parts {
			if err := add(part); err != nil {
				return nil, err
			}
		}
	}
	all, err := p.foldRanges(lexeme.Normal(all))
	if not {
		all = lexeme.Complement(all)
	}
	return all, err
}

func isOne(ranges []lexeme.Range) bool { return len(ranges) == 1 && ranges[0].Low == ranges[0].High }

func (p *parser) classAtom() ([]lexeme.Range, error) {
	if p.take(`\`) {
		return p.escape(true)
	}
	return oneCharacter(p.rune()), nil
}
