// SPDX-License-Identifier: MIT

package plugintest

import (
	"encoding/json"
	"strings"
)

// mostSchemas bounds how many schemas are looked at for one configuration: a schema may be part of
// itself.
const mostSchemas = 100_000

// withDefaults is a configuration with what its objects leave out and the schema has a default
// for, as the host fills it in: it looks into properties, items and prefixItems, and follows allOf
// and a $ref within the schema. What is no JSON stays as it is.
func withDefaults(config, schema string) string {
	var value, root any
	if json.Unmarshal([]byte(config), &value) != nil || json.Unmarshal([]byte(schema), &root) != nil {
		return config
	}
	f := filler{root, mostSchemas}
	f.fill(value, root)
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if e.Encode(value) != nil {
		return config
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// filler is a schema as a whole, and how many schemas may be looked at still.
type filler struct {
	root any
	left int
}

func (f *filler) fill(value, schema any) {
	s, ok := schema.(map[string]any)
	if f.left--; !ok || f.left < 0 {
		return
	}
	f.fill(value, f.refer(s["$ref"]))
	for _, part := range list(s["allOf"]) {
		f.fill(value, part)
	}
	switch value := value.(type) {
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		for name, of := range properties {
			if _, given := value[name]; !given {
				d, ok := f.defaultOf(of)
				if !ok {
					continue
				}
				value[name] = clone(d)
			}
			f.fill(value[name], of)
		}
	case []any:
		first := list(s["prefixItems"])
		for i, item := range value {
			if i < len(first) {
				f.fill(item, first[i])
			} else {
				f.fill(item, s["items"])
			}
		}
	}
}

// defaultOf is a schema's default, or that of one that it refers to.
func (f *filler) defaultOf(schema any) (any, bool) {
	s, ok := schema.(map[string]any)
	if f.left--; !ok || f.left < 0 {
		return nil, false
	}
	if d, ok := s["default"]; ok {
		return d, true
	}
	if d, ok := f.defaultOf(f.refer(s["$ref"])); ok {
		return d, true
	}
	for _, part := range list(s["allOf"]) {
		if d, ok := f.defaultOf(part); ok {
			return d, true
		}
	}
	return nil, false
}

// refer finds the schema that a $ref names; nil: none.
func (f *filler) refer(ref any) any {
	path, ok := ref.(string)
	if !ok || !strings.HasPrefix(path, "#") {
		return nil
	}
	found := f.root
	for _, name := range strings.Split(path, "/")[1:] {
		object, _ := found.(map[string]any)
		found = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	return found
}

func list(value any) []any {
	l, _ := value.([]any)
	return l
}

// clone copies a default, so that what is filled in there stays out of the schema.
func clone(value any) any {
	switch value := value.(type) {
	case map[string]any:
		m := make(map[string]any, len(value))
		for name, v := range value {
			m[name] = clone(v)
		}
		return m
	case []any:
		l := make([]any, len(value))
		for i, v := range value {
			l[i] = clone(v)
		}
		return l
	}
	return value
}
