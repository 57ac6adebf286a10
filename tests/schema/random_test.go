// SPDX-License-Identifier: MIT

package schema

import (
	"fmt"
	"math/rand/v2"
)

// random makes schemas that a model could be given: each kind of value with the words that apply to
// it, alternatives, and references.
type random struct {
	*rand.Rand
	refers bool
}

type object = map[string]any

// names of members, some of which begin alike, or must be escaped.
var names = []string{"name", "na", "named", "age", "tags", `say "é"`, "日本", "x-1"}

// randomSchema makes one with members and items up to depth levels deep.
func randomSchema(r *rand.Rand, depth int) object {
	g := random{Rand: r}
	s := g.schema(depth)
	if g.refers {
		s["$defs"] = object{"node": object{
			"type": "object", "additionalProperties": false, "required": []any{"v"},
			"properties": object{"v": object{"type": "integer"}, "kids": object{"type": "array", "items": object{"$ref": "#/$defs/node"}, "maxItems": 2}},
		}}
	}
	return s
}

func (g *random) schema(depth int) object {
	kinds := []func(int) object{g.text, g.text, g.number, g.number, g.choice, g.types, g.formatted}
	if depth > 0 {
		kinds = append(kinds, g.members, g.members, g.open, g.patterned, g.items, g.tuple, g.alternatives, g.all, g.alike, g.conditional, g.but, g.reference, g.containing, g.unique, g.overlapping, g.denied, g.either, g.unevaluated, g.dependent)
	}
	return kinds[g.IntN(len(kinds))](depth - 1)
}

// maybe puts a word into a schema half of the time.
func (g *random) maybe(s object, word string, value any) {
	if g.IntN(2) == 0 {
		s[word] = value
	}
}

func (g *random) text(int) object {
	s := object{"type": "string"}
	patterns := []string{"^[a-z]{1,5}$", "é", "^(a|bc)*$", `^\d{3}-\d{4}$`, `"`, `\\`, "^x", "[0-9]$", `^[^a-m]*$`, `^[^ ]+( [^ ]+)*$`}
	g.maybe(s, "pattern", patterns[g.IntN(len(patterns))])
	g.maybe(s, "maxLength", 4+g.IntN(12))
	if g.IntN(4) == 0 {
		s["minLength"] = g.IntN(5)
	}
	return s
}

func (g *random) formatted(int) object {
	all := []string{"date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uri-reference", "uuid", "json-pointer", "relative-json-pointer", "color"}
	return object{"type": "string", "format": all[g.IntN(len(all))]}
}

func (g *random) number(int) object {
	s := object{"type": []string{"number", "integer"}[g.IntN(2)]}
	least := float64(g.IntN(4000)-2000) / 4
	g.maybe(s, []string{"minimum", "exclusiveMinimum"}[g.IntN(2)], least)
	g.maybe(s, []string{"maximum", "exclusiveMaximum"}[g.IntN(2)], least+float64(1+g.IntN(400))*1.25)
	if g.IntN(3) == 0 {
		s["multipleOf"] = []float64{1, 2, 0.5, 3, 7, 10, 0.01, 0.25}[g.IntN(8)]
	}
	return s
}

// choice is among values of which some are beginnings of others.
func (g *random) choice(int) object {
	values := []any{"red", "reddish", "green", "", "say \"hi\"\n", "é日", 1, 12, -0.5, nil, true, []any{}, []any{1, "a"}, object{"a": 1}, object{"a": 1, "b": []any{nil}}}
	g.Shuffle(len(values), func(i, k int) { values[i], values[k] = values[k], values[i] })
	if g.IntN(3) == 0 {
		return object{"const": values[0]}
	}
	return object{"enum": values[:1+g.IntN(len(values)-1)]}
}

func (g *random) types(int) object {
	types := []any{"string", "null", "boolean", "array", "object", []any{"integer", "number"}[g.IntN(2)]}
	g.Shuffle(len(types), func(i, k int) { types[i], types[k] = types[k], types[i] })
	return object{"type": types[:1+g.IntN(3)]}
}

func (g *random) properties(depth int) (properties object, required []any) {
	properties, required = object{}, []any{}
	for _, name := range names {
		if g.IntN(5) > 1 {
			continue
		}
		properties[name] = g.schema(depth)
		if g.IntN(2) == 0 {
			required = append(required, name)
		}
	}
	return properties, required
}

func (g *random) members(depth int) object {
	properties, required := g.properties(depth)
	s := object{"type": "object", "properties": properties, "additionalProperties": false}
	g.maybe(s, "required", required)
	if g.IntN(4) == 0 {
		s["dependentRequired"] = object{names[g.IntN(4)]: []any{names[g.IntN(4)]}}
	}
	if g.IntN(4) == 0 {
		s["maxProperties"] = 1 + g.IntN(4)
	}
	return s
}

// open has other members than it names.
func (g *random) open(depth int) object {
	properties, required := g.properties(depth)
	s := object{"type": "object", "properties": properties, "required": required}
	g.maybe(s, "additionalProperties", []any{true, g.number(0), g.text(0)}[g.IntN(3)])
	if g.IntN(3) == 0 {
		s["required"] = append(required, "zz")
	}
	if g.IntN(4) == 0 {
		s["minProperties"] = 1 + g.IntN(3)
	}
	if g.IntN(4) == 0 {
		s["propertyNames"] = object{"maxLength": 12}
	}
	return s
}

func (g *random) patterned(depth int) object {
	patterns := object{"^n": g.schema(depth), "^x-": g.text(0)}
	if g.IntN(2) == 0 {
		patterns["e"] = object{"type": []any{"string", "integer", "object"}}
	}
	s := object{"type": "object", "patternProperties": patterns}
	g.maybe(s, "additionalProperties", false)
	return s
}

func (g *random) items(depth int) object {
	s := object{"type": "array", "items": g.schema(depth)}
	least := g.IntN(3)
	g.maybe(s, "minItems", least)
	g.maybe(s, "maxItems", least+g.IntN(3))
	return s
}

func (g *random) tuple(depth int) object {
	return object{"type": "array", "prefixItems": []any{g.schema(depth), g.text(0)}, "maxItems": 4, "items": []any{true, false, g.number(0)}[g.IntN(3)]}
}

func (g *random) containing(int) object {
	s := object{"type": "array", "items": object{"type": []any{"integer", "string"}}, "contains": object{"type": "integer"}}
	s[[]string{"maxContains", "maxItems", "minContains"}[g.IntN(3)]] = 1 + g.IntN(3)
	return s
}

func (g *random) unique(int) object {
	items := []object{
		{"enum": []any{"a", "b", "ab", 1, nil}},
		{"type": "string", "maxLength": 2},
		{"type": "string", "pattern": "^(a|[bc].*)$"},
		{"type": "integer", "minimum": -1, "maximum": 4},
		{"type": "number", "minimum": 0, "maximum": 1},
		{"type": "number", "multipleOf": 0.5, "minimum": -1, "maximum": 1.5},
		{"type": []any{"string", "number", "null", "boolean"}},
		{"anyOf": []any{object{"type": "string", "maxLength": 1}, object{"enum": []any{"a", 1.0, 2, "abc"}}, object{"type": "integer"}}},
	}
	return object{"type": "array", "uniqueItems": true, "items": items[g.IntN(len(items))], "minItems": g.IntN(4)}
}

func (g *random) alternatives(depth int) object {
	all := []any{g.text(0), g.number(0), g.items(depth), object{"type": "null"}, object{"const": true}, g.members(depth)}
	g.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	return object{[]string{"anyOf", "oneOf"}[g.IntN(2)]: all[:1+g.IntN(len(all))]}
}

// alike are objects that have their first member in common: only the values tell them apart.
func (g *random) alike(depth int) object {
	all := []any{}
	for i := range 2 + g.IntN(3) {
		all = append(all, object{"type": "object", "required": []any{"kind"}, "additionalProperties": false, "properties": object{
			"kind": object{"const": fmt.Sprintf("kind %d", i)}, "of": g.schema(depth),
		}})
	}
	return object{[]string{"anyOf", "oneOf"}[g.IntN(2)]: all}
}

// all is an object that several schemas describe.
func (g *random) all(depth int) object {
	bounds := object{"properties": object{"size": object{"maximum": 90 + g.IntN(20)}}, "required": []any{"to"}}
	return object{"allOf": []any{object{"type": "object", "properties": object{"size": object{"type": "number", "minimum": 5}, "to": g.schema(depth)}}, bounds}}
}

func (g *random) conditional(int) object {
	return object{
		"type": "object", "properties": object{"kind": object{"enum": []any{"a", "b"}}, "size": object{"type": "integer"}}, "required": []any{"kind"}, "additionalProperties": false,
		"if":   object{"properties": object{"kind": object{"const": "a"}}},
		"then": object{"required": []any{"size"}}, "else": object{"properties": object{"size": object{"minimum": 10}}},
	}
}

func (g *random) but(int) object {
	return []object{
		{"type": "string", "not": object{"enum": []any{"a", "abc"}}, "maxLength": 6},
		{"type": []any{"string", "integer"}, "not": object{"type": "integer", "minimum": 5}},
		{"type": "integer", "not": object{"multipleOf": 3}},
		{"type": "object", "properties": object{"a": true, "b": true}, "additionalProperties": false, "not": object{"required": []any{"a", "b"}}},
	}[g.IntN(4)]
}

func (g *random) reference(int) object {
	g.refers = true
	return object{"$ref": "#/$defs/node"}
}

// overlapping are alternatives of which one value may fit several.
func (g *random) overlapping(depth int) object {
	all := []any{g.number(0), g.number(0), g.text(0), g.text(0), g.choice(0), object{"type": "integer", "multipleOf": 2}, object{"pattern": "a"}, g.schema(max(0, depth-1))}
	g.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	return object{[]string{"anyOf", "oneOf", "oneOf", "allOf"}[g.IntN(4)]: all[:2+g.IntN(2)]}
}

// denied is a schema that another one takes something from.
func (g *random) denied(depth int) object {
	s := g.schema(max(0, depth-1))
	if _, has := s["not"]; !has {
		s["not"] = g.schema(0)
	}
	return s
}

// either is what depends on any other schema.
func (g *random) either(depth int) object {
	s := object{"if": g.schema(max(0, depth-1))}
	g.maybe(s, "then", g.schema(max(0, depth-1)))
	g.maybe(s, "else", g.schema(max(0, depth-1)))
	return s
}

// unevaluated has members that are spoken of in several places.
func (g *random) unevaluated(int) object {
	return object{
		"type": "object", "properties": object{"a": g.number(0)}, "unevaluatedProperties": []any{false, g.text(0)}[g.IntN(2)],
		[]string{"allOf", "anyOf", "oneOf"}[g.IntN(3)]: []any{
			object{"properties": object{"b": g.text(0)}, "required": []any{"b"}}, object{"properties": object{"c": g.number(0)}, "required": []any{"c"}},
		},
	}
}

// dependent has members that ask for others.
func (g *random) dependent(int) object {
	return object{
		"type": "object", "properties": object{"a": true, "b": g.number(0), "c": g.choice(0)}, "additionalProperties": []any{false, true}[g.IntN(2)],
		"dependentRequired": object{"a": []any{"b"}, "c": []any{"a"}},
		"dependentSchemas":  object{"b": object{"properties": object{"c": g.text(0)}}},
	}
}
