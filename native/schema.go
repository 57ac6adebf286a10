// SPDX-License-Identifier: MIT

package native

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The bounds of a JSON schema that becomes a grammar. llama.cpp's conversion trusts schemas: it follows circular references until the
// stack overflows, and its work can be cubic in the properties of an object. The bounds keep it within about a second.
const (
	maxSchemaNodes   = 50_000     // counting each as often as it is converted
	maxSchemaDepth   = 500        // counting references
	maxSchemaTypes   = 16         // of one node: each is converted by itself
	maxSchemaName    = 4 << 10    // bytes of a rule's name, which is made of the names on the way to its node
	maxSchemaNames   = 4 << 20    // bytes of all names
	maxSchemaPattern = 16 << 10   // bytes of a pattern
	maxSchemaWork    = 40_000_000 // copies of a short text
)

// conversionCost walks a schema as llama.cpp's conversion does, and counts instead of converting.
type conversionCost struct {
	root      any
	resolved  map[string]bool // references that were followed: each becomes one rule
	rules     map[string]int  // how many have a name, as llama.cpp writes it
	bases     map[string]int  // the same without a number at the end of the name, which llama.cpp appends to names in use
	nodes     int
	names     int
	patterns  int
	patternAt map[string]*place // where a pattern stands, for errors
	work      float64
}

func newConversionCost() *conversionCost {
	return &conversionCost{rules: map[string]int{}, bases: map[string]int{}, patternAt: map[string]*place{}}
}

// checkSchema refuses a schema whose conversion would take too long or crash.
func checkSchema(text string) error { return newConversionCost().add(text) }

// add counts a schema that becomes part of the same grammar as those before.
func (o *conversionCost) add(text string) error {
	o.root, o.resolved = nil, map[string]bool{}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&o.root); err != nil {
		return fmt.Errorf("%w: the JSON schema is not valid JSON: %w", ErrInvalid, err)
	}
	if err := o.node(o.root, "", nil, 0); err != nil {
		return fmt.Errorf("%w: the JSON schema %w", ErrInvalid, err)
	}
	return nil
}

func (o *conversionCost) node(v any, name string, here *place, depth int) error {
	schema, ok := v.(map[string]any)
	if !ok {
		return nil // llama.cpp refuses it
	}
	if err := o.count(name, here, depth); err != nil {
		return err
	}
	if ref, ok := schema["$ref"].(string); ok {
		if o.resolved[ref] {
			return nil
		}
		o.resolved[ref] = true
		return o.node(o.target(ref), ref, placeOf(ref), depth+1)
	}
	types, _ := schema["type"].([]any)
	if len(types) > maxSchemaTypes {
		return fmt.Errorf("has at %v a list of %d types; at most %d are taken", here, len(types), maxSchemaTypes)
	}
	for i := range types {
		if err := o.body(schema, name+"-"+strconv.Itoa(i), here, depth+1); err != nil {
			return err
		}
	}
	if len(types) > 0 {
		return nil
	}
	return o.body(schema, name, here, depth)
}

// body walks all that a schema may consist of, though llama.cpp converts only one kind of it.
func (o *conversionCost) body(schema map[string]any, name string, here *place, depth int) error {
	if err := o.bounds(schema, here); err != nil {
		return err
	}
	if pattern, ok := schema["pattern"].(string); ok {
		o.patternAt[pattern] = here
		o.patterns++ // for each, llama.cpp copies all rules made so far
		o.work += 5 * float64(o.nodes)
		if len(pattern) > maxSchemaPattern {
			return fmt.Errorf("has at %v a pattern of %d bytes; at most %d are taken", here, len(pattern), maxSchemaPattern)
		}
	}
	if values, ok := schema["enum"].([]any); ok {
		o.nodes += len(values)
	}
	var properties []property
	for _, key := range []string{"oneOf", "anyOf", "items", "prefixItems", "allOf"} {
		children, ok := schema[key].([]any)
		if !ok {
			children = []any{schema[key]}
		}
		for i, child := range children {
			there := here.at(key)
			if ok {
				there = there.at(strconv.Itoa(i))
			}
			if err := o.node(child, name+"-"+strconv.Itoa(i), there, depth+1); err != nil {
				return err
			}
			if key != "allOf" {
				continue
			}
			var err error
			if properties, err = o.component(child, properties, there, depth+1); err != nil {
				return err
			}
		}
	}
	if err := o.object(properties, name, here, depth); err != nil {
		return err
	}
	return o.object(propertiesOf(schema), name, here, depth)
}

// component adds the properties of a part of an allOf, or of its alternatives.
func (o *conversionCost) component(v any, all []property, here *place, depth int) ([]property, error) {
	schema, ok := v.(map[string]any)
	if !ok {
		return all, nil
	}
	if err := o.count("", here, depth); err != nil {
		return nil, err
	}
	if ref, ok := schema["$ref"].(string); ok {
		return o.component(o.target(ref), all, here, depth+1)
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		alternatives, _ := schema[key].([]any)
		for _, alternative := range alternatives {
			var err error
			if all, err = o.component(alternative, all, here, depth+1); err != nil {
				return nil, err
			}
		}
	}
	if values, ok := schema["enum"].([]any); ok {
		o.nodes += len(values)
	}
	return append(all, propertiesOf(schema)...), nil
}

// property is a property of an object, or its additionalProperties.
type property struct {
	name       string
	schema     any
	optional   bool
	additional bool
}

func propertiesOf(schema map[string]any) []property {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	must := map[any]bool{}
	for _, name := range required {
		if name, ok := name.(string); ok {
			must[name] = true
		}
	}
	var all []property
	for name, s := range properties {
		all = append(all, property{name: name, schema: s, optional: !must[name]})
	}
	if additional, ok := schema["additionalProperties"].(map[string]any); ok {
		all = append(all, property{name: "additional", schema: additional, optional: true, additional: true})
	}
	slices.SortFunc(all, func(a, b property) int { return strings.Compare(a.name, b.name) })
	return all
}

// object counts what an object becomes: llama.cpp writes a rule for each way in which optional properties may be left out.
func (o *conversionCost) object(properties []property, name string, here *place, depth int) error {
	optional, bytes := 0.0, 0.0
	for _, p := range properties {
		if p.optional {
			optional++
			bytes += float64(len(p.name))
		}
	}
	if optional > 0 {
		mean := bytes / optional
		o.work += optional*optional*optional/6*(1+mean/64) + optional*optional*(float64(len(name))+mean)
	}
	for _, p := range properties {
		full := name + "-" + p.name
		there := here.at("additionalProperties")
		if !p.additional {
			there = here.at("properties").at(p.name)
		}
		if name == "" && p.name == "" { // llama.cpp would make its rule the root, and any answer would do that fits this property
			return fmt.Errorf("has at %v a property whose name is empty; give it a name", there)
		}
		if err := o.node(p.schema, full, there, depth+1); err != nil {
			return err
		}
		o.work += float64(o.nameTries(full)) * 8 * (2 + optional)
	}
	if o.work > maxSchemaWork {
		return fmt.Errorf("takes too long to convert: it has an object at %v with %d properties, of which %.0f are optional, and %d patterns; fewer are taken, or more of them required",
			here, len(properties), optional, o.patterns)
	}
	return nil
}

var notInNames = regexp.MustCompile(`[^a-zA-Z0-9-]+`)

// nameTries records the rule of a node, and tells how many other names llama.cpp may try where its name is in use.
func (o *conversionCost) nameTries(name string) int {
	name = notInNames.ReplaceAllString(name, "-")
	base := strings.TrimRight(name, "0123456789")
	o.rules[name]++
	o.bases[base]++
	if o.rules[name] == 1 {
		return 0
	}
	return o.bases[base]
}

func (o *conversionCost) count(name string, here *place, depth int) error {
	o.nodes++
	o.names += len(name)
	switch {
	case depth > maxSchemaDepth:
		return fmt.Errorf("nests more than %d deep, or has a $ref that leads back to where it stands", maxSchemaDepth)
	case o.nodes > maxSchemaNodes:
		return fmt.Errorf("describes, up to %v, more than %d values, each as often as a reference or a list of types repeats it", here, maxSchemaNodes)
	case len(name) > maxSchemaName, o.names > maxSchemaNames:
		return fmt.Errorf("has, up to %.500v, too long names: at most %d bytes on the way to a value, %d in all", here, maxSchemaName, maxSchemaNames)
	}
	return nil
}

// target is the schema that a reference means, nil where llama.cpp will not find it. Like llama.cpp it knows no escapes in references.
func (o *conversionCost) target(ref string) any {
	rest, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	at := o.root
	for part := range strings.SplitSeq(rest, "/") {
		switch v := at.(type) {
		case map[string]any:
			at = v[part]
		case []any:
			i, err := strconv.Atoi(leadingNumber(part))
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			at = v[i]
		default:
			return nil
		}
	}
	return at
}

// leadingNumber is the part of a text that C++ reads as a number: white space, a sign and digits, whatever follows.
func leadingNumber(text string) string {
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	end := strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(text, "+"), "-"), "0123456789")
	return strings.TrimSuffix(text, end)
}
