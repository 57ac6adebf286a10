// SPDX-License-Identifier: MIT

package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// mostWork bounds, in steps, the work of checking against one schema: of all its defaults when its
// module is loaded, and of one configuration.
const mostWork = 2_000_000

var (
	errTooMuch = errors.New("checking against the schema would take too long: its parts refer to each other too often, or there is too much to check")
	errDynamic = errors.New("the schema uses $dynamicRef or $recursiveRef; use $ref")
	errEndless = errors.New("the schema refers to itself without end")
)

// budget counts the work of checking values against schemas before it is done. jsonschema applies a
// schema as often as others refer to it, and cannot be interrupted: a chain of 30 schemas that each
// refer twice to the next would hold a processor for hours. So the number of applications is
// counted first, by dynamic programming: schemas in topological order, each visited once for each
// part of the value.
type budget struct{ left int }

// check checks a value against a schema, if the budget is enough.
func (b *budget) check(schema *jsonschema.Schema, value any) error {
	if err := b.charge(value, visits{schema: 1}); err != nil {
		return err
	}
	return schema.Validate(value)
}

// visits maps schemas to how often they are applied to a value, at most.
type visits map[*jsonschema.Schema]int

func (v visits) add(s *jsonschema.Schema, times int) {
	if s != nil {
		v[s] += times
	}
}

func (b *budget) spend(times, steps int) error {
	if steps > b.left/times {
		b.left = 0
		return errTooMuch
	}
	b.left -= times * steps
	return nil
}

// charge spends the cost of applying the schemas, and all schemas that they apply, to the value. No
// count exceeds the budget, since each visit costs at least a step.
func (b *budget) charge(value any, v visits) error {
	order, err := b.orderSchemas(v)
	if err != nil {
		return err
	}
	parts, depth := splitValue(value), visits{}
	for _, s := range order {
		times := v[s]
		same := appliedSchemas(s)
		if err := b.spend(times, 1+depth[s]+len(same)+len(parts)+visitCost(s, value)); err != nil {
			return err
		}
		for _, other := range same {
			v.add(other, times)
			depth[other] = max(depth[other], depth[s]+1) // jsonschema looks through all that led to it
		}
		for i := range parts {
			parts[i].visit(s, times)
		}
	}
	for _, p := range parts {
		if err := b.charge(p.value, p.visits); err != nil {
			return err
		}
	}
	return nil
}

// orderSchemas lists the schemas of v and the schemas that they apply to the same value, in
// topological order (depth-first search, reversed): each stands before those that it applies.
func (b *budget) orderSchemas(v visits) ([]*jsonschema.Schema, error) {
	const begun, done = 1, 2
	state := map[*jsonschema.Schema]int{}
	var order []*jsonschema.Schema
	var visit func(s *jsonschema.Schema) error
	visit = func(s *jsonschema.Schema) error {
		switch {
		case s == nil || state[s] == done:
			return nil
		case state[s] == begun:
			return errEndless
		case s.DynamicRef != nil || s.RecursiveRef != nil:
			return errDynamic
		}
		if err := b.spend(1, 1); err != nil {
			return err
		}
		state[s] = begun
		for _, other := range appliedSchemas(s) {
			if err := visit(other); err != nil {
				return err
			}
		}
		state[s] = done
		order = append(order, s)
		return nil
	}
	for s := range v {
		if err := visit(s); err != nil {
			return nil, err
		}
	}
	slices.Reverse(order)
	return order, nil
}

// appliedSchemas lists the schemas that s applies to its own value; some may be nil.
func appliedSchemas(s *jsonschema.Schema) []*jsonschema.Schema {
	list := slices.Concat([]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf)
	for _, other := range s.DependentSchemas {
		list = append(list, other)
	}
	for _, other := range s.Dependencies {
		if other, ok := other.(*jsonschema.Schema); ok {
			list = append(list, other)
		}
	}
	return list
}

// part is a value within another, and the schemas that are applied to it. index is its place in an
// array, name its name in an object; the name itself is a part, too.
type part struct {
	value  any
	index  int
	name   string
	isName bool
	visits visits
}

func splitValue(value any) []part {
	var parts []part
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			parts = append(parts, part{value: v, index: -1, name: name, visits: visits{}}, part{value: name, index: -1, isName: true, visits: visits{}})
		}
	case []any:
		for i, v := range value {
			parts = append(parts, part{value: v, index: i, visits: visits{}})
		}
	}
	return parts
}

// visit adds the schemas that s applies to the part.
func (p *part) visit(s *jsonschema.Schema, times int) {
	switch {
	case p.isName:
		p.visits.add(s.PropertyNames, times)
	case p.index >= 0:
		p.visits.add(itemSchema(s, p.index), times)
		p.visits.add(s.Contains, times)
		p.visits.add(s.UnevaluatedItems, times)
	default:
		p.visits.add(s.Properties[p.name], times)
		for pattern, other := range s.PatternProperties {
			if pattern.MatchString(p.name) {
				p.visits.add(other, times)
			}
		}
		if rest, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
			p.visits.add(rest, times)
		}
		p.visits.add(s.UnevaluatedProperties, times)
	}
}

const (
	bytesOfAMatch = 8 // bytes of a text, times the instructions of a pattern, are a step
	stepsOfAByte  = 4 // of a text with a format: some are parsed
)

// visitCost returns what one visit costs in steps, without the visits that it leads to.
func visitCost(s *jsonschema.Schema, value any) int {
	cost := len(s.Required) + len(s.DependentRequired)
	if s.Const != nil {
		cost += sizeOf(value)
	}
	if s.Enum != nil {
		cost += len(s.Enum.Values) * sizeOf(value)
	}
	if s.UniqueItems {
		cost += 10 * sizeOf(value) // each of up to 20 items is compared with those before it
	}
	switch value := value.(type) {
	case string:
		cost += len(value) / bytesOfAStep
		if s.Format != nil {
			cost += len(value) * stepsOfAByte
		}
		if s.Pattern != nil {
			cost += len(value) * instructionsOf(s.Pattern) / bytesOfAMatch
		}
	case json.Number:
		cost += len(value) / bytesOfAStep
	case map[string]any:
		for pattern := range s.PatternProperties {
			for name := range value {
				cost += 1 + len(name)*instructionsOf(pattern)/bytesOfAMatch
			}
		}
	}
	return cost
}

// sizeOf counts a value and the values within it, long texts as several.
func sizeOf(value any) int {
	size := 1
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			size += len(name)/bytesOfAStep + sizeOf(v)
		}
	case []any:
		for _, v := range value {
			size += sizeOf(v)
		}
	case string:
		size += len(value) / bytesOfAStep
	case json.Number:
		size += len(value) / bytesOfAStep
	}
	return size
}

// Bounds of regular expressions. Ten bytes such as (a?){1000} are two thousand instructions.
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

// instructionsOf returns how many instructions a schema's regular expression has. The expressions
// of jsonschema itself are short.
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
	done bool                   // the schema is compiled
}

// close is called when the schema is compiled. From then on expressions come from values of
// "format": "regex", in any number of requests at once, and are only parsed.
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

// measure returns an upper bound of a regular expression's instructions, and how many runes its
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
