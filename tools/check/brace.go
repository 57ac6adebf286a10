// SPDX-License-Identifier: MIT

package main

import (
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
