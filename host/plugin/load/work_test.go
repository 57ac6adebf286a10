// SPDX-License-Identifier: MIT

package load_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
)

// doubling is a schema of which each part applies the next twice, with what keyword says; its last
// part is leaf. property stands beside a reference to the first part.
func doubling(keyword, leaf, property string) string {
	const deep = 900
	var s strings.Builder
	s.WriteString(`{"properties":{"p":{` + property + `"$ref":"#/$defs/a0"}},"$defs":{`)
	for i := range deep {
		fmt.Fprintf(&s, `"a%d":`+keyword+`,`, i, i+1, i+1)
	}
	fmt.Fprintf(&s, `"a%d":%s}}`, deep, leaf)
	return s.String()
}

// hostile are schemas that would take longer than the universe is old, in 64 KiB each.
func hostile(property string) map[string]string {
	const list, object = `{"%s":[{"$ref":"#/$defs/a%%d"},{"$ref":"#/$defs/a%%d"}]}`, `{"%s":{"a":{"$ref":"#/$defs/a%%d"},"b":{"$ref":"#/$defs/a%%d"}}}`
	return map[string]string{
		"anyOf":            doubling(fmt.Sprintf(list, "anyOf"), `{"type":"string"}`, property),
		"oneOf":            doubling(fmt.Sprintf(list, "oneOf"), `{"type":"string"}`, property),
		"allOf":            doubling(fmt.Sprintf(list, "allOf"), `true`, property),
		"dependentSchemas": doubling(fmt.Sprintf(object, "dependentSchemas"), `true`, property),
		"if":               doubling(`{"if":{"$ref":"#/$defs/a%d"},"then":{"$ref":"#/$defs/a%d"}}`, `true`, property),
		"not":              doubling(`{"not":{"$ref":"#/$defs/a%d"},"anyOf":[{"$ref":"#/$defs/a%d"},true]}`, `true`, property),
		"through a value":  `{"properties":{"p":{` + property + `"$ref":"#/$defs/v"}},"$defs":{"v":{"anyOf":[{"items":{"$ref":"#/$defs/v"}},{"items":{"$ref":"#/$defs/v"}},{"items":{"$ref":"#/$defs/v"}}],"type":["array","object"]}}}`,
		"itself":           `{"properties":{"p":{` + property + `"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"},{"$ref":"#/$defs/b"}]},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}}}`,
		"a dynamic anchor": `{"properties":{"p":{` + property + `"$dynamicRef":"#n"}},"$defs":{"a":{"$dynamicAnchor":"n"}}}`,
	}
}

// deepest is the value that each of the hostile schemas takes long to check.
var deepest = strings.Repeat("[", 40) + `{"a":1,"b":2}` + strings.Repeat("]", 40)

func TestLoader_BoundsTheWorkOfSchemas(t *testing.T) {
	l := hosttest.Open(t, load.New)
	for _, value := range []string{`{"a":1,"b":2}`, deepest} {
		for name, schema := range hostile(`"default":` + value + `,`) {
			if (name == "through a value") != (value == deepest) {
				continue
			}
			if len(schema) > 90_000 {
				t.Fatalf("%s: %d bytes", name, len(schema))
			}
			p, err := l.Load(context.Background(), withSchema(schema).Wasm())
			if err == nil {
				p.Release()
			}
			if !errors.Is(err, plugin.ErrManifest) || !strings.Contains(err.Error(), "config_schema: the default at /properties/p: ") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestPlugin_CheckConfig_BoundsItsWork(t *testing.T) {
	l := hosttest.Open(t, load.New)
	for name, schema := range hostile("") {
		m := hosttest.Load(t, l, withSchema(schema))
		value := `{"a":1,"b":2}`
		if name == "through a value" {
			value = deepest
		}
		if _, err := m.CheckConfig([]byte(`{"p":` + value + `}`)); !errors.Is(err, plugin.ErrConfig) || !strings.Contains(err.Error(), "the schema") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := m.CheckConfig([]byte(`{"q":1}`)); err != nil {
			t.Errorf("%s, of what it says nothing: %v", name, err)
		}
	}
}

// What plugins have in earnest is far below the bounds.
func TestPlugin_CheckConfig_TakesLargeConfigurations(t *testing.T) {
	m := hosttest.Load(t, hosttest.Open(t, load.New), withSchema(`{"properties":{
		"list":{"type":"array","uniqueItems":true,"items":{"anyOf":[{"type":"string","maxLength":9},{"type":"integer","minimum":0}]}},
		"tree":{"$ref":"#/$defs/tree"},"p":{"default":1}},
		"$defs":{"tree":{"oneOf":[{"type":"integer"},{"type":"array","items":{"$ref":"#/$defs/tree"}}]}}}`))
	var list strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&list, "%d,", i)
	}
	config := `{"list":[` + list.String() + `"end"],"tree":[1,[2,[3,[4,[5,[6,[7,[8]]]]]]],[[[[9]]]]]}`
	if _, err := m.CheckConfig([]byte(config)); err != nil {
		t.Error(err)
	}
}

// A number of a million digits takes as long to compare as a million numbers.
func TestPlugin_CheckConfig_RefusesNumbersWithoutBounds(t *testing.T) {
	l := hosttest.Open(t, load.New)
	m := hosttest.Load(t, l, withSchema(`{"additionalProperties":{"type":"number","minimum":-1}}`))
	for number, fits := range map[string]bool{"1e-999999": false, "1E-400": false, "-0.1e-999999": false, "1e999999": false, "1e-300": true, "0e-999999": true, "0.0": true, "1e308": true} {
		if _, err := m.CheckConfig([]byte(`{"p":` + number + `}`)); (err == nil) != fits {
			t.Errorf("%s: %v", number, err)
		}
	}
	if p, err := l.Load(context.Background(), withSchema(`{"minimum":1e-999999}`).Wasm()); !errors.Is(err, plugin.ErrManifest) || !strings.Contains(err.Error(), "1e-999999") {
		t.Error(p, err)
	}
}

// What would take minutes to compile, or gigabytes, is refused when the module is loaded.
func TestLoader_BoundsTheSizeOfSchemas(t *testing.T) {
	var patterns, names strings.Builder
	for i := range 100 {
		fmt.Fprintf(&patterns, `{"pattern":"^(.?){1000}%d$"},`, i)
		fmt.Fprintf(&names, `"^(.?){1000}%d$":true,`, i)
	}
	l := hosttest.Open(t, load.New)
	for name, tc := range map[string]struct{ schema, want string }{
		"subschemas":        {`{"anyOf":[` + strings.Repeat("{},", 9_999) + `{}]}`, "10002 values"},
		"patterns":          {`{"allOf":[` + patterns.String() + `true]}`, "100000 instructions"},
		"patternProperties": {`{"patternProperties":{` + names.String() + `"a":true}}`, "100000 instructions"},
		"older patterns":    {`{"$schema":"http://json-schema.org/draft-07/schema#","allOf":[` + patterns.String() + `true]}`, "100000 instructions"},
		"classes":           {`{"pattern":"` + strings.Repeat(`\\pL`, 1000) + `"}`, "100000 instructions"},
		"a long pattern":    {`{"pattern":"` + strings.Repeat("a", 5000) + `"}`, "5000 bytes"},
		"a long number":     {`{"const":` + strings.Repeat("1", 500) + `e-400}`, "longer than 400 bytes"},
	} {
		p, err := l.Load(context.Background(), withSchema(tc.schema).Wasm())
		if err == nil {
			p.Release()
		}
		if !errors.Is(err, plugin.ErrManifest) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPlugin_CheckConfig_BoundsMatches(t *testing.T) {
	l := hosttest.Open(t, load.New)
	const old = `{"$schema":"http://json-schema.org/draft-07/schema#",`
	many := strings.Repeat(`{"$ref":"#/definitions/a"},`, 40)
	for name, tc := range map[string]struct{ schema, value, want string }{
		"a pattern":         {`{"allOf":[` + many + `true],"definitions":{"a":{"properties":{"p":{"pattern":"(a?){1000}b"}}}}}`, `"` + strings.Repeat("a", 2000) + `"`, "too long"},
		"names":             {`{"allOf":[` + many + `true],"definitions":{"a":{"properties":{"p":{"patternProperties":{"(a?){1000}b":true}}}}}}`, `{"` + strings.Repeat("a", 2000) + `":1}`, "too long"},
		"many formats":      {old + `"allOf":[` + many + `true],"definitions":{"a":{"properties":{"p":{"format":"uri"}}}}}`, `"a:` + strings.Repeat("a", 20_000) + `"`, "too long"},
		"a long expression": {old + `"properties":{"p":{"format":"regex"}}}`, `"` + strings.Repeat("a", 5000) + `"`, "5000 bytes"},
		"no expression":     {old + `"properties":{"p":{"format":"regex"}}}`, `"("`, "regex"},
		"an expression":     {old + `"properties":{"p":{"format":"regex"}}}`, `"(a{1000}){1}` + strings.Repeat("a{1000}", 500) + `"`, ""},
		"a long number":     {`{"properties":{"p":{"minimum":1}}}`, "1." + strings.Repeat("1", 500), "one JSON object"},
		"what is usual":     {`{"properties":{"p":{"pattern":"^[a-z0-9-]{1,63}$"}}}`, `"a-name"`, ""},
	} {
		p := hosttest.Load(t, l, withSchema(tc.schema))
		_, err := p.CheckConfig([]byte(`{"p":` + tc.value + `}`))
		if tc.want == "" && err != nil || tc.want != "" && (!errors.Is(err, plugin.ErrConfig) || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}
