// SPDX-License-Identifier: MIT

package pattern

import (
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxParsing is the work of Parse that a request may ask for: some 50 ms.
const MaxParsing = 1 << 20

// parsingPerStep is how much of it counts as a step of an arena: four patterns may take all.
const parsingPerStep = 4

// What Go's parser takes for parts of a pattern, in the time that it takes to look for the other
// case of one character, which is some 50 ns.
const (
	perByte     = 4
	perProperty = 2500 // for \p{…}, of which it copies all ranges and sorts them
)

// The characters that have another case lie between these.
const minFold, maxFold = 'A', 0x1E943

// Parse is syntax.Parse for a pattern of a client: it refuses one whose parsing would take more
// than what is left of work, and takes its own from it. Go's parser bounds what a pattern becomes,
// but not its own time: (?i)[A-\x{1E943}…] of 16 KB would take 13 seconds.
//
// # Errors
//   - An *Error where there is not enough work left.
//   - A *syntax.Error for an invalid pattern.
func Parse(source string, work *int) (*syntax.Regexp, error) {
	if *work -= parsing(source); *work < 0 {
		return nil, &Error{-1, `it takes too much work to read: it is long, or has many properties such as \p{L}, or wide ranges under (?i)`}
	}
	return syntax.Parse(source, syntax.Perl)
}

// parsing is about the work of parsing a pattern. It may be more than what it takes.
func parsing(source string) int {
	work := perByte * len(source)
	folds := mayFold(source)
	var before, is rune // characters that could be the ends of a range
	for rest := source; rest != ""; {
		if properties := strings.HasPrefix(rest, `\p`) || strings.HasPrefix(rest, `\P`); properties {
			work += perProperty
		}
		dash := rest[0] == '-'
		before = is
		is, rest = character(rest)
		if dash && folds && rest != "" {
			last, _ := character(rest)
			work += max(0, int(min(last, maxFold)-max(before, minFold)))
		}
	}
	return work
}

// character reads a character of a pattern as a class has it, by its number if need be.
func character(text string) (rune, string) {
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
