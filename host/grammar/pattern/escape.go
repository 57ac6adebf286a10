// SPDX-License-Identifier: MIT

package pattern

import (
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// Classes with a letter of their own.
var (
	digitRanges = []lexeme.Range{{Low: '0', High: '9'}}
	wordRanges  = []lexeme.Range{{Low: '0', High: '9'}, {Low: 'A', High: 'Z'}, {Low: '_', High: '_'}, {Low: 'a', High: 'z'}}
	spaceRanges = append(tableRanges(spaces), lexeme.Range{Low: '\t', High: '\r'}, lexeme.Range{Low: 0x2028, High: 0x2029}, lexeme.Range{Low: 0xFEFF, High: 0xFEFF})
)

var controls = map[rune]rune{'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// escape reads what follows a backslash, but for \b and \B outside classes.
func (p *parser) escape(inClass bool) ([]lexeme.Range, error) {
	at := p.at - 1
	if !p.more() {
		return nil, &Error{at, "a backslash stands at the end"}
	}
	r := p.rune()
	if c, ok := controls[r]; ok {
		return one(c), nil
	}
	switch r {
	case 'd':
		return digitRanges, nil
	case 'D':
		return lexeme.Complement(digitRanges), nil
	case 'w':
		return p.folded(wordRanges)
	case 'W':
		word, err := p.folded(wordRanges)
		return lexeme.Complement(word), err
	case 's':
		return spaceRanges, nil
	case 'S':
		return lexeme.Complement(spaceRanges), nil
	case 'p', 'P':
		return p.property(at, r == 'P')
	case 'b':
		if inClass {
			return one('\b'), nil
		}
	case 'x':
		return p.hexadecimal(at, 2)
	case 'u':
		return p.unicode(at)
	case 'c':
		if p.more() {
			if c := p.source[p.at]; c|0x20 >= 'a' && c|0x20 <= 'z' {
				p.at++
				return one(rune(c & 0x1F)), nil
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
		return one(0), nil
	case r == '0':
		return nil, &Error{at, "octal escapes are not in ECMA-262 with flag u"}
	case r >= '1' && r <= '9' && !inClass:
		return nil, &Error{at, "references to groups are not supported"}
	case r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z':
		return nil, &Error{at, `\` + string(r) + " is not in ECMA-262"}
	}
	return one(r), nil
}

// hexadecimal reads a character's number of so many digits.
func (p *parser) hexadecimal(at, digits int) ([]lexeme.Range, error) {
	if r, ok := p.digits(digits); ok {
		return one(r), nil
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
		return one(rune(v)), nil
	}
	high, ok := p.digits(4)
	if !ok {
		return nil, &Error{at, "an escape wants 4 hexadecimal digits"}
	}
	if begin := p.at; high >= 0xD800 && high < 0xDC00 && p.take(`\u`) {
		if low, ok := p.digits(4); ok && low >= 0xDC00 && low < 0xE000 {
			return one(utf16.DecodeRune(high, low)), nil
		}
		p.at = begin
	}
	return one(high), nil
}

// class reads what follows a bracket that opens. Of what it says twice, such as a property, the
// second adds nothing.
func (p *parser) class() ([]lexeme.Range, error) {
	begin := p.at - 1
	not := p.take("^")
	var all []lexeme.Range
	large := map[*lexeme.Range]bool{} // those that are kept, by their first range
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
		parts := [][]lexeme.Range{low, one('-'), high} // where the - stands for itself
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
	all, err := p.folded(lexeme.Normal(all))
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
	return one(p.rune()), nil
}
