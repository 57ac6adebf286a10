// SPDX-License-Identifier: MIT

package engine

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
)

// pattern is a regular expression in which some places must not be followed by certain texts.
// llama.cpp's templates have triggers such as >>>(?!all); Go's regular expressions know no such
// (?!text), because they never look at a text twice.
type pattern struct {
	*regexp.Regexp
	not map[int][]byte // by the number of an empty group, which marks the place
}

// maxPatternCode bounds the work of a pattern for each character: the instructions that it becomes.
const maxPatternCode = 1000

var lookahead = regexp.MustCompile(`\(\?!((?:[^()\\]|\\.)*)\)`)

const markName = "not"

// compilePattern compiles a pattern whose negative lookaheads are texts.
func compilePattern(text string) (pattern, error) {
	var texts [][]byte
	marked := lookahead.ReplaceAllStringFunc(text, func(found string) string {
		inner := lookahead.FindStringSubmatch(found)[1]
		tree, err := syntax.Parse(inner, syntax.Perl)
		if err != nil || tree.Op != syntax.OpLiteral || tree.Flags&syntax.FoldCase != 0 {
			return found // which is refused
		}
		texts = append(texts, []byte(string(tree.Rune)))
		return fmt.Sprintf("(?P<%s%d>)", markName, len(texts)-1)
	})
	if n := codeSize(marked); n > maxPatternCode {
		return pattern{}, fmt.Errorf("it repeats too much: it has %d states, at most %d are taken", n, maxPatternCode)
	}
	r, err := regexp.Compile(marked)
	if err != nil {
		return pattern{}, err
	}
	p := pattern{r, map[int][]byte{}}
	for group, name := range r.SubexpNames() {
		if n, err := strconv.Atoi(strings.TrimPrefix(name, markName)); err == nil && n < len(texts) {
			p.not[group] = texts[n]
		}
	}
	return p, nil
}

// codeSize is how many instructions a pattern becomes; 0 where it is none.
func codeSize(text string) int {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0
	}
	code, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return 0
	}
	return len(code.Inst)
}

// find is the first match, with the bounds of its groups; nil if there is none.
func (p pattern) find(text []byte) []int {
	if len(p.not) == 0 {
		return p.FindSubmatchIndex(text)
	}
	for _, match := range p.FindAllSubmatchIndex(text, -1) {
		if !p.denied(text, match) {
			return match
		}
	}
	return nil
}

// denied reports whether a text follows where it must not.
func (p pattern) denied(text []byte, match []int) bool {
	for group, not := range p.not {
		if at := match[2*group]; at >= 0 && bytes.HasPrefix(text[at:], not) {
			return true
		}
	}
	return false
}
