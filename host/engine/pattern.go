// SPDX-License-Identifier: MIT

package engine

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"

	regex "github.com/penstock/penstock/host/grammar/pattern"
)

// pattern is a regular expression in which some places must not be followed by certain texts.
// llama.cpp's templates have triggers such as >>>(?!all); Go's regular expressions know no such
// (?!text), because they never look at a text twice.
type pattern struct {
	*regexp.Regexp
	not map[int][]byte // by the number of an empty group, which marks the place
}

// The bounds of patterns, in the instructions that they become: of one, by the work for each
// character, and of all of a request, by their memory.
const (
	maxPatternCode  = 1_000
	maxPatternsCode = 20_000
)

// patternBudget is what is left for the patterns of a request.
type patternBudget struct {
	code    int // instructions
	parsing int // see regex.Parse
}

var lookahead = regexp.MustCompile(`\(\?!((?:[^()\\]|\\.)*)\)`)

const markName = "not"

// compilePattern compiles a pattern whose negative lookaheads are texts.
func compilePattern(text string, left *patternBudget) (pattern, error) {
	var texts [][]byte
	marked := lookahead.ReplaceAllStringFunc(text, func(found string) string {
		inner := lookahead.FindStringSubmatch(found)[1]
		tree, err := regex.Parse(inner, &left.parsing)
		if err != nil || tree.Op != syntax.OpLiteral || tree.Flags&syntax.FoldCase != 0 {
			return found // which is refused
		}
		texts = append(texts, []byte(string(tree.Rune)))
		return fmt.Sprintf("(?P<%s%d>)", markName, len(texts)-1)
	})
	tree, err := regex.Parse(marked, &left.parsing)
	if err != nil {
		return pattern{}, err
	}
	n := codeSize(tree)
	if n <= 2*maxPatternCode { // more would take much only to be counted
		if code, err := syntax.Compile(tree.Simplify()); err == nil {
			n = len(code.Inst)
		}
	}
	switch left.code -= n; {
	case n > maxPatternCode:
		return pattern{}, fmt.Errorf("it repeats too much: it has %d states, at most %d are taken", n, maxPatternCode)
	case left.code < 0:
		return pattern{}, fmt.Errorf("the patterns of a request have at most %d states together, and these have more", maxPatternsCode)
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

// codeSize is about how many instructions a pattern becomes.
func codeSize(re *syntax.Regexp) int {
	n := 0
	for _, part := range re.Sub {
		n = min(n+codeSize(part), math.MaxInt32)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpRepeat:
		return min(n*max(re.Min, re.Max, 1)+re.Max-re.Min+1, math.MaxInt32)
	case syntax.OpAlternate:
		return n + len(re.Sub)
	case syntax.OpConcat:
		return n
	}
	return n + 2
}

func newPatternBudget() *patternBudget { return &patternBudget{maxPatternsCode, regex.MaxParsing} }

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
