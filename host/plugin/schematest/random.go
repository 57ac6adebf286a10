// SPDX-License-Identifier: MIT

// Package schematest makes random JSON schemas for tests of the json-schema plugin, and checks answers with another implementation.
package schematest

import (
	"fmt"
	"math/rand/v2"
)

// Names of members, some of which begin alike, so that a name is not told by its first letter.
var names = []string{"name", "na", "named", "age", "tags", "say \"é\"", "日本", "kind of"}

// Random makes a schema with members and items up to depth levels deep. Some refer to themselves.
func Random(r *rand.Rand, depth int) map[string]any {
	g := generator{Rand: r}
	schema := g.schema(depth)
	if g.refers {
		node := map[string]any{"type": "object", "additionalProperties": false, "required": []any{"id"}, "properties": map[string]any{
			"id": map[string]any{"type": "integer"}, "next": map[string]any{"anyOf": []any{map[string]any{"$ref": "#/$defs/node"}, map[string]any{"type": "null"}}},
		}}
		schema["$defs"] = map[string]any{"node": node}
	}
	return schema
}

type generator struct {
	*rand.Rand
	refers bool
}

func (g *generator) schema(depth int) map[string]any {
	kinds := []func(int) map[string]any{g.text, g.number, g.choice, g.constant, g.types}
	if depth > 0 {
		kinds = append(kinds, g.object, g.object, g.object, g.array, g.array, g.alternatives, g.reference)
	}
	schema := kinds[g.IntN(len(kinds))](depth - 1)
	if g.IntN(6) == 0 {
		schema["title"] = "has no effect"
	}
	return schema
}

func (g *generator) text(int) map[string]any {
	schema := map[string]any{"type": "string"}
	least := 0
	if g.IntN(2) == 0 {
		least = g.IntN(30)
		schema["minLength"] = least
	}
	if g.IntN(2) == 0 {
		schema["maxLength"] = least + g.IntN(12)
	}
	return schema
}

func (g *generator) number(int) map[string]any {
	schema := map[string]any{"type": []string{"number", "integer"}[g.IntN(2)]}
	least := float64(g.IntN(4000)-2000) / 4
	if g.IntN(2) == 0 {
		schema[[]string{"minimum", "exclusiveMinimum"}[g.IntN(2)]] = least
	}
	if g.IntN(2) == 0 {
		schema[[]string{"maximum", "exclusiveMaximum"}[g.IntN(2)]] = least + float64(1+g.IntN(40))*1.25 // there is a whole number between
	}
	return schema
}

// choice is among values of which some are beginnings of others.
func (g *generator) choice(int) map[string]any {
	values := []any{"red", "reddish", "green", "", "say \"hi\"\n", "é日", 1, 12, -0.5, nil, true, []any{}, []any{1, "a"}, map[string]any{"a": 1}}
	g.Shuffle(len(values), func(i, k int) { values[i], values[k] = values[k], values[i] })
	return map[string]any{"enum": values[:1+g.IntN(len(values)-1)]}
}

func (g *generator) constant(int) map[string]any {
	values := []any{"a b", 42, 1.25, nil, false, []any{1, []any{}}, map[string]any{"a": 1, "b": []any{nil}}}
	return map[string]any{"const": values[g.IntN(len(values))]}
}

func (g *generator) types(int) map[string]any {
	types := []any{"string", "null", "boolean", []any{"integer", "number"}[g.IntN(2)]}
	g.Shuffle(len(types), func(i, k int) { types[i], types[k] = types[k], types[i] })
	return map[string]any{"type": types[:1+g.IntN(len(types))]}
}

func (g *generator) object(depth int) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, name := range names {
		if g.IntN(2) == 0 {
			continue
		}
		properties[name] = g.schema(depth)
		if g.IntN(2) == 0 {
			required = append(required, name)
		}
	}
	schema := map[string]any{"properties": properties, "required": required, "additionalProperties": false}
	switch g.IntN(3) {
	case 0:
		schema["type"] = "object"
	case 1:
		schema["type"] = []any{"object", "null"}
	default: // its keywords say what is meant
	}
	return schema
}

func (g *generator) array(depth int) map[string]any {
	schema := map[string]any{"type": "array", "items": g.schema(depth)}
	least := g.IntN(3)
	if least > 0 {
		schema["minItems"] = least
	}
	if g.IntN(2) == 0 {
		schema["maxItems"] = least + g.IntN(3)
	}
	return schema
}

// alternatives are told apart by how they begin.
func (g *generator) alternatives(depth int) map[string]any {
	all := []any{g.text(0), g.number(0), g.array(depth), map[string]any{"type": "null"}, map[string]any{"const": true}, g.member(depth)}
	g.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	return map[string]any{[]string{"anyOf", "oneOf"}[g.IntN(2)]: all[:1+g.IntN(len(all))]}
}

func (g *generator) member(depth int) map[string]any {
	name := fmt.Sprintf("a%d", g.IntN(3))
	return map[string]any{"type": "object", "properties": map[string]any{name: g.schema(depth)}, "required": []any{name}}
}

func (g *generator) reference(int) map[string]any {
	g.refers = true
	return map[string]any{"$ref": "#/$defs/node"}
}
