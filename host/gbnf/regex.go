// SPDX-License-Identifier: MIT

// Package gbnf writes a regular expression as a grammar in GBNF, llama.cpp's notation.
package gbnf

import (
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
)

// MaxRegex is the longest regular expression that is taken, in bytes.
const MaxRegex = 16 << 10

// OfRegex writes the grammar of the texts that a regular expression matches as a whole. The expression has Go's syntax, which is RE2's:
// Perl's without look-around and references to groups. Anchors may stand where the text begins and ends. An error is an *Error.
func OfRegex(pattern string) (string, error) {
	if len(pattern) > MaxRegex {
		return "", &Error{Offset: -1, Why: fmt.Sprintf("it has %d bytes; at most %d are taken", len(pattern), MaxRegex)}
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", misparsed(pattern, err)
	}
	w := writer{pattern: pattern, classes: map[string]string{}}
	root, err := w.alternatives(tree, true, true)
	if err != nil {
		return "", err
	}
	return "root ::= " + root + "\n" + w.rules.String(), nil
}

// writer writes the rules of one grammar. Its functions are told whether what they write is the first and the last of the text.
type writer struct {
	pattern string
	classes map[string]string // the rules of long character classes by what they hold
	rules   strings.Builder
}

func (w *writer) alternatives(re *syntax.Regexp, first, last bool) (string, error) {
	if re.Op != syntax.OpAlternate {
		return w.sequence(re, first, last)
	}
	all := make([]string, 0, len(re.Sub))
	for _, sub := range re.Sub {
		text, err := w.sequence(sub, first, last)
		if err != nil {
			return "", err
		}
		all = append(all, text)
	}
	return strings.Join(all, " | "), nil
}

func (w *writer) sequence(re *syntax.Regexp, first, last bool) (string, error) {
	if re.Op != syntax.OpConcat {
		return w.item(re, first, last)
	}
	ends := len(re.Sub) // from here on there are only anchors of the end
	for ends > 0 && re.Sub[ends-1].Op == syntax.OpEndText {
		ends--
	}
	var all []string
	for i, sub := range re.Sub {
		text, err := w.item(sub, first, last && i >= ends-1)
		if err != nil {
			return "", err
		}
		first = first && sub.Op == syntax.OpBeginText
		if text != empty {
			all = append(all, text)
		}
	}
	if len(all) == 0 {
		return empty, nil
	}
	return strings.Join(all, " "), nil
}

const empty = `""`

// item writes what a quantifier can follow.
func (w *writer) item(re *syntax.Regexp, first, last bool) (string, error) {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return empty, nil
	case syntax.OpLiteral:
		return w.literal(re), nil
	case syntax.OpCharClass:
		if len(re.Rune) == 0 {
			return "", w.unsupported(syntax.OpNoMatch)
		}
		return w.class(re.Rune), nil
	case syntax.OpAnyCharNotNL:
		return `[^\n]`, nil
	case syntax.OpAnyChar:
		return ".", nil
	case syntax.OpCapture:
		return w.group(re.Sub[0], first, last)
	case syntax.OpConcat, syntax.OpAlternate:
		return w.group(re, first, last)
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		return w.repetition(re)
	case syntax.OpBeginText, syntax.OpEndText:
		if re.Op == syntax.OpBeginText && first || re.Op == syntax.OpEndText && last {
			return empty, nil
		}
	}
	return "", w.unsupported(re.Op)
}

func (w *writer) group(re *syntax.Regexp, first, last bool) (string, error) {
	text, err := w.alternatives(re, first, last)
	return "(" + text + ")", err
}

func (w *writer) repetition(re *syntax.Regexp) (string, error) {
	sub := re.Sub[0]
	text, err := w.item(sub, false, false)
	if err != nil {
		return "", err
	}
	if sub.Op == syntax.OpLiteral && len(sub.Rune) > 1 || isRepetition(sub.Op) {
		text = "(" + text + ")"
	}
	switch {
	case re.Op == syntax.OpStar:
		return text + "*", nil
	case re.Op == syntax.OpPlus:
		return text + "+", nil
	case re.Op == syntax.OpQuest:
		return text + "?", nil
	case re.Max == 0 || text == empty:
		return empty, nil
	case re.Max < 0:
		return fmt.Sprintf("%s{%d,}", text, re.Min), nil
	}
	return fmt.Sprintf("%s{%d,%d}", text, re.Min, re.Max), nil
}

func isRepetition(op syntax.Op) bool {
	return op == syntax.OpStar || op == syntax.OpPlus || op == syntax.OpQuest || op == syntax.OpRepeat
}

func (w *writer) literal(re *syntax.Regexp) string {
	if re.Flags&syntax.FoldCase == 0 {
		var b strings.Builder
		for _, r := range re.Rune {
			b.WriteString(escaped(r))
		}
		return `"` + b.String() + `"`
	}
	all := make([]string, 0, len(re.Rune))
	for _, r := range re.Rune {
		class := []rune{r, r}
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			class = append(class, other, other)
		}
		all = append(all, w.class(class))
	}
	if len(all) == 1 {
		return all[0]
	}
	return "(" + strings.Join(all, " ") + ")"
}

// longClass is from how many bytes on a class has a rule of its own, which costs nothing to repeat.
const longClass = 64

// class writes a character class of pairs: the first and the last character of a range.
func (w *writer) class(pairs []rune) string {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		b.WriteString(escaped(pairs[i]))
		if pairs[i+1] > pairs[i] {
			b.WriteString("-" + escaped(pairs[i+1]))
		}
	}
	class := "[" + b.String() + "]"
	if len(class) < longClass {
		return class
	}
	name, known := w.classes[class]
	if !known {
		name = "class" + strconv.Itoa(len(w.classes))
		w.classes[class] = name
		w.rules.WriteString(name + " ::= " + class + "\n")
	}
	return name
}

// escaped writes a character for a literal or a class.
func escaped(r rune) string {
	switch {
	case r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == ' '):
		return string(r)
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}
