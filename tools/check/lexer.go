// SPDX-License-Identifier: MIT

package main

import (
	"path/filepath"
	"regexp"
	"strings"
)

// char is one byte of a program and its line, from 1.
type char struct {
	char byte
	line int
}

// These match, at the start of the remaining text, what may contain braces that are not code.
var (
	commentAt  = regexp.MustCompile(`^(?://[^\n]*|/\*(?s:.*?)\*/)`)
	stringAt   = regexp.MustCompile(`^"(?:[^"\\\n]|\\(?s:.))*"`)
	quoteAt    = regexp.MustCompile(`^'(?:[^'\\\n]|\\(?s:.))*'`)
	charAt     = regexp.MustCompile(`^'(?:[^'\\\n]|\\[^\n']*|\\')'`) // not a Rust lifetime
	templateAt = regexp.MustCompile("^`(?:[^`\\\\]|\\\\(?s:.))*`")
	regexpAt   = regexp.MustCompile(`^/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/`)
	directive  = regexp.MustCompile(`^#[^\n]*(?:\\\n[^\n]*)*`)
	rawCPPAt   = regexp.MustCompile(`^R"\((?s:.*?)\)"`)
	rawRustAt  = regexp.MustCompile(`^r(?:"[^"]*"|#"(?s:.*?)"#)`)
)

// plainText is a program without comments, strings and, in languages that have them, directives and
// regular expressions. A blank takes the place of what means nothing, and a quote that of a value.
// A template string is removed with the expressions in it.
func plainText(f file) []char {
	text, line := string(f.text), 1
	skippers := skippersFor(filepath.Ext(f.path))
	var out []char
	for len(text) > 0 {
		n, stand := skip(skippers, text, out)
		if n == 0 {
			n, stand = 1, text[0]
		}
		out = append(out, char{stand, line})
		line += strings.Count(text[:n], "\n")
		text = text[n:]
	}
	return out
}

// skipper matches at the start of a text.
type skipper struct {
	at      *regexp.Regexp
	first   byte                   // what it starts with
	stand   byte                   // what takes its place
	allowed func(done []char) bool // whether it may start after that; nil: always
}

func skippersFor(ext string) []skipper {
	skippers := []skipper{{commentAt, '/', ' ', nil}, {stringAt, '"', '"', nil}}
	switch ext {
	case ".rs":
		return append(skippers, skipper{rawRustAt, 'r', '"', afterNoWord}, skipper{charAt, '\'', '"', nil})
	case ".c", ".cc", ".cpp", ".h", ".hpp":
		return append(skippers, skipper{rawCPPAt, 'R', '"', afterNoWord}, skipper{quoteAt, '\'', '"', afterNoWord},
			skipper{directive, '#', ' ', nil})
	}
	return append(skippers, skipper{quoteAt, '\'', '"', nil}, skipper{templateAt, '`', '"', nil},
		skipper{regexpAt, '/', '"', afterOperator})
}

// skip returns how many bytes at the start of text one of the skippers matches, and what takes
// their place.
func skip(skippers []skipper, text string, done []char) (int, byte) {
	for _, s := range skippers {
		if s.first != text[0] || s.allowed != nil && !s.allowed(done) {
			continue
		}
		if found := s.at.FindStringIndex(text); found != nil {
			return found[1], s.stand
		}
	}
	return 0, 0
}

// afterNoWord keeps a digit separator (1'000) and the end of a name from starting a literal.
func afterNoWord(done []char) bool {
	if len(done) == 0 {
		return true
	}
	c := done[len(done)-1].char
	return c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z')
}

// afterOperator tells a regular expression from a division.
func afterOperator(done []char) bool {
	for i := len(done) - 1; i >= 0; i-- {
		if c := done[i].char; c != ' ' && c != '\t' {
			return strings.IndexByte("(,=:[!&|?{};\n>", c) >= 0
		}
	}
	return true
}
