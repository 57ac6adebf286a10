// SPDX-License-Identifier: MIT

package load

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of regular expressions: ten bytes such as (a?){1000} are two thousand instructions.
const (
	mostInstructions  = 100_000 // of all of a schema's, together
	longestExpression = 4096    // bytes; parsing some texts takes far longer than reading them
	runesOfAStep      = 8       // of a class such as \pL, which has hundreds
)

// expression is a regular expression of a schema. A match may take each instruction for each byte
// of a text.
type expression struct {
	*regexp.Regexp
	instructions int
}

// instructionsOf is how many instructions a schema's regular expression has. jsonschema's own ones
// are short.
func instructionsOf(e jsonschema.Regexp) int {
	if e, ok := e.(*expression); ok {
		return e.instructions
	}
	return len(e.String())
}

// expressions compiles the regular expressions of one schema, as long as there are not too many.
type expressions struct {
	left int                    // instructions
	made map[string]*expression // jsonschema asks for each twice: to check the schema and to compile it
	done bool                   // see close
}

// close is called when the schema is compiled. Values of "format": "regex" are only parsed from
// then on, by any number of requests at once.
func (x *expressions) close() { x.made, x.done = nil, true }

func (x *expressions) compile(text string) (jsonschema.Regexp, error) {
	if len(text) > longestExpression {
		return nil, fmt.Errorf("a regular expression has %d bytes; it may have %d", len(text), longestExpression)
	}
	if e := x.made[text]; e != nil {
		return e, nil
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil || x.done {
		return nil, err
	}
	instructions, runes := measure(tree)
	if x.left -= instructions + runes/runesOfAStep; x.left < 0 {
		return nil, fmt.Errorf("the regular expressions are too large: together they may have %d instructions; repeat less in them", mostInstructions)
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	e := &expression{compiled, instructions}
	x.made[text] = e
	return e, nil
}

// measure tells how many instructions a regular expression has at the most, and how many runes its
// classes have.
func measure(tree *syntax.Regexp) (instructions, runes int) {
	instructions, runes = 2+len(tree.Rune), len(tree.Rune)
	if tree.Op == syntax.OpCharClass {
		instructions = 1
	}
	for _, sub := range tree.Sub {
		i, r := measure(sub)
		instructions, runes = instructions+i, runes+r
	}
	if tree.Op == syntax.OpRepeat {
		instructions *= max(tree.Min+1, tree.Max)
	}
	return instructions, runes
}
