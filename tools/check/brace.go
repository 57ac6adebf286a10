// SPDX-License-Identifier: MIT

package main

import (
	"path/filepath"
	"regexp"
	"strings"
)

// A head is the text between the last ; { or } and an opening brace. These expressions tell the
// heads of functions from others.
var (
	container = regexp.MustCompile(`^(?:(?:export|default|abstract|declare|pub|unsafe|static|template\s*<[^>]*>)\s+)*(?:class|struct|enum|namespace|union|interface|impl|trait|mod|describe)\b`)
	callable  = regexp.MustCompile(`\)|=>|\bfunction\b`)
	value     = regexp.MustCompile(`(?:[(,=:\[?|&]|\breturn)$`) // what follows is an object or a list, not a body
	attribute = regexp.MustCompile(`#!?\[[^\]]*\]`)
	named     = regexp.MustCompile(`([\w~:.]+)\s*(?:<[^(]*>)?\(|(\w+)\s*=`)
)

// braceFunctions finds functions in any language with braces, well enough to measure them without
// a parser for each language. The lines of a nested function count for the function around it.
func braceFunctions(f file) ([]function, error) {
	type block struct {
		head     string
		first    int
		function bool
	}
	var (
		functions []function
		open      []block
		inside    int // open blocks that are functions
		head      strings.Builder
		headLine  int
	)
	for _, t := range plainText(f) {
		switch t.char {
		case '{':
			text := strings.TrimSpace(head.String())
			b := block{text, t.line, isFunction(text)}
			if text != "" {
				b.first = headLine
			}
			if b.function {
				inside++
			}
			open = append(open, b)
			head.Reset()
		case '}':
			head.Reset()
			if len(open) == 0 {
				continue
			}
			b := open[len(open)-1]
			open = open[:len(open)-1]
			if b.function {
				inside--
				if inside == 0 {
					functions = append(functions, function{headName(b.head), b.first, t.line})
				}
			}
		case ';':
			head.Reset()
		default:
			if strings.TrimSpace(head.String()) == "" {
				headLine = t.line
			}
			head.WriteByte(t.char)
		}
	}
	return functions, nil
}

func isFunction(head string) bool {
	head = strings.TrimSpace(attribute.ReplaceAllString(head, ""))
	return callable.MatchString(head) && !container.MatchString(head) && !value.MatchString(head)
}

// headName is a function's name, for the finding only.
func headName(head string) string {
	if found := named.FindStringSubmatch(head); found != nil {
		return found[1] + found[2]
	}
	return "function"
}

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
