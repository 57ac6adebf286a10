// SPDX-License-Identifier: MIT

package main

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// scripts are those that a request can name.
var scripts = map[string]*unicode.RangeTable{
	"Arabic":     unicode.Arabic,
	"Armenian":   unicode.Armenian,
	"Bengali":    unicode.Bengali,
	"Cyrillic":   unicode.Cyrillic,
	"Devanagari": unicode.Devanagari,
	"Ethiopic":   unicode.Ethiopic,
	"Georgian":   unicode.Georgian,
	"Greek":      unicode.Greek,
	"Gujarati":   unicode.Gujarati,
	"Gurmukhi":   unicode.Gurmukhi,
	"Han":        unicode.Han,
	"Hangul":     unicode.Hangul,
	"Hebrew":     unicode.Hebrew,
	"Hiragana":   unicode.Hiragana,
	"Kannada":    unicode.Kannada,
	"Katakana":   unicode.Katakana,
	"Khmer":      unicode.Khmer,
	"Latin":      unicode.Latin,
	"Malayalam":  unicode.Malayalam,
	"Myanmar":    unicode.Myanmar,
	"Sinhala":    unicode.Sinhala,
	"Tamil":      unicode.Tamil,
	"Telugu":     unicode.Telugu,
	"Thai":       unicode.Thai,
}

// shared are ranges of what Unicode says all scripts have in common, though only some write with
// it: points, marks and wide forms. They are in order.
var shared = []struct {
	from, to rune
	by       []*unicode.RangeTable
}{
	{0x060C, 0x061F, []*unicode.RangeTable{unicode.Arabic}},
	{0x0640, 0x06DD, []*unicode.RangeTable{unicode.Arabic}},
	{0x0951, 0x0965, indian},
	{0x10FB, 0x10FB, []*unicode.RangeTable{unicode.Georgian}},
	{0x1CD0, 0x1CFF, indian},
	{0x2E80, 0x33FF, eastAsian},
	{0xA830, 0xA83F, indian},
	{0xFE30, 0xFE4F, eastAsian},
	{0xFF00, 0xFFEF, eastAsian},
}

var (
	indian = []*unicode.RangeTable{unicode.Bengali, unicode.Devanagari, unicode.Gujarati, unicode.Gurmukhi, unicode.Kannada,
		unicode.Malayalam, unicode.Sinhala, unicode.Tamil, unicode.Telugu}
	eastAsian = []*unicode.RangeTable{unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana}
)

// letters are the characters that may come: those of the scripts, further ones, and those that all
// scripts have in common, such as digits, punctuation, symbols, and marks on other characters.
type letters struct {
	scripts []*unicode.RangeTable
	more    []rune
	foreign [][2]rune // ranges of shared that none of the scripts writes with
}

func newLetters(names []string, more string) letters {
	l := letters{more: []rune(more)}
	for _, name := range names {
		l.scripts = append(l.scripts, scripts[name])
	}
	for _, s := range shared {
		if !slices.ContainsFunc(s.by, func(by *unicode.RangeTable) bool { return slices.Contains(l.scripts, by) }) {
			l.foreign = append(l.foreign, [2]rune{s.from, s.to})
		}
	}
	return l
}

func (l *letters) has(r rune) bool {
	if r < utf8.RuneSelf && !('A' <= r && r <= 'Z' || 'a' <= r && r <= 'z') || unicode.IsOneOf(l.scripts, r) || slices.Contains(l.more, r) {
		return true
	}
	for _, f := range l.foreign {
		if f[0] <= r && r <= f[1] {
			return false
		}
	}
	return unicode.Is(unicode.Common, r) || unicode.Is(unicode.Inherited, r)
}

// hasAny reports whether any of the characters from lo to hi may come.
func (l *letters) hasAny(lo, hi rune) bool {
	for _, r := range l.more {
		if lo <= r && r <= hi {
			return true
		}
	}
	for _, table := range l.scripts {
		if meets(table, lo, hi) {
			return true
		}
	}
	for _, f := range l.foreign { // what is before each, and then what is behind
		if f[0] > hi {
			break
		}
		if lo < f[0] && inAll(lo, f[0]-1) {
			return true
		}
		lo = max(lo, f[1]+1)
	}
	return lo <= hi && inAll(lo, hi)
}

func inAll(lo, hi rune) bool {
	return meets(unicode.Common, lo, hi) || meets(unicode.Inherited, lo, hi)
}

// meets reports whether a table has a character from lo to hi.
func meets(table *unicode.RangeTable, lo, hi rune) bool {
	within := func(first, last, stride rune) bool {
		at := max(first, lo)
		if behind := (at - first) % stride; behind > 0 {
			at += stride - behind
		}
		return at <= min(last, hi)
	}
	for _, r := range table.R16 {
		if within(rune(r.Lo), rune(r.Hi), rune(r.Stride)) {
			return true
		}
	}
	for _, r := range table.R32 {
		if within(rune(r.Lo), rune(r.Hi), rune(r.Stride)) {
			return true
		}
	}
	return false
}

// pending are the first bytes of a character in UTF-8.
type pending struct {
	bytes [4]byte
	n     int
}

// add adds a byte. If the character is complete, it is whole, and nothing is pending any more. It
// returns false, and drops what was pending, if no character has these bytes.
func (p *pending) add(c byte) (r rune, whole, fits bool) {
	p.bytes[p.n] = c
	p.n++
	if utf8.FullRune(p.bytes[:p.n]) {
		r, size := utf8.DecodeRune(p.bytes[:p.n])
		fits := size == p.n && (r != utf8.RuneError || size == 3)
		*p = pending{}
		return r, fits, fits
	}
	return 0, false, true
}

// span is the range of the characters that may come of the pending bytes.
func (p pending) span() (lo, hi rune) {
	length, bits := 2, rune(p.bytes[0]&0x1F)
	switch {
	case p.bytes[0] >= 0xF0:
		length, bits = 4, rune(p.bytes[0]&0x07)
	case p.bytes[0] >= 0xE0:
		length, bits = 3, rune(p.bytes[0]&0x0F)
	}
	for _, c := range p.bytes[1:p.n] {
		bits = bits<<6 | rune(c&0x3F)
	}
	left := 6 * (length - p.n)
	lo, hi = bits<<left, bits<<left|(1<<left-1)
	return max(lo, [...]rune{2: 0x80, 3: 0x800, 4: 0x10000}[length]), min(hi, unicode.MaxRune)
}

// inLine is the run of backticks behind anything else in a line.
const inLine = -1

// text is how far an answer has come: in a character, and in a block of code.
type text struct {
	open  pending
	run   int  // backticks that the line begins with, behind up to three spaces; inLine
	space int  // spaces that it begins with
	fence int  // backticks of the block that the text is in; 0: it is in none
	begun bool // the block's first line is not over
	ended bool // the line closes a block, so it opens none
}

// free reports whether any letter may come.
func (x *text) free() bool { return x.fence > 0 }

// step goes on by a byte. It returns false for one that may not come.
func (x *text) step(c byte, l *letters, code bool) bool {
	r, whole, fits := x.open.add(c)
	x.line(c, code)
	switch {
	case x.free():
		return true
	case whole:
		return l.has(r)
	case fits && x.open.n > 0:
		return l.hasAny(x.open.span())
	}
	return fits
}

// follow goes on by a byte that came.
func (x *text) follow(c byte, code bool) {
	x.open.add(c)
	x.line(c, code)
}

// line follows the lines, for blocks of code.
func (x *text) line(c byte, code bool) {
	switch {
	case !code:
		x.run = inLine
	case c == '\n':
		x.run, x.space, x.begun, x.ended = 0, 0, false, false
	case x.run == 0 && c == ' ' && x.space < 3:
		x.space++
	case x.run >= 0 && c == '`':
		x.run++
		switch {
		case x.fence == 0 && !x.ended && x.run == 3:
			x.fence, x.begun = 3, true
		case x.begun: // a longer fence
			x.fence = x.run
		case x.fence > 0 && x.run >= x.fence:
			x.fence, x.ended = 0, true
		}
	default:
		x.run = inLine
	}
}
