// SPDX-License-Identifier: MIT

package schema

import (
	"fmt"
	"strings"
	"testing"
)

func TestRead_References(t *testing.T) {
	holds(t, Options{}, []promise{
		{"root", `{"type":"object","properties":{"v":{"type":"boolean"},"kids":{"type":"array","items":{"$ref":"#"},"maxItems":1}},"required":["v","kids"]}`,
			[]string{`{"v":true,"kids":[]}`, `{"kids":[{"v":false,"kids":[]}],"v":true}`}, []string{`{"v":true}`, `{"v":true,"kids":[{}]}`}},
		{"escapes", `{"$defs":{"a/b":{"type":"boolean"},"c d":{"type":"null"},"e~f":{"type":"integer"}},"prefixItems":[{"$ref":"#/$defs/a~1b"},{"$ref":"#/$defs/c%20d"},{"$ref":"#/$defs/e~0f"}],"type":"array","minItems":3}`,
			[]string{`[true,null,1]`}, []string{`[1,null,1]`, `[true,1,1]`, `[true,null,true]`}},
		{"anchor", `{"$defs":{"x":{"$anchor":"y","type":"null"}},"$ref":"#y"}`, []string{`null`}, []string{`1`}},
		{"id", `{"$id":"https://example.com/a","$defs":{"x":{"$id":"b","type":"null"}},"$ref":"b"}`, []string{`null`}, []string{`1`}},
		{"id of another base", `{"$id":"https://example.com/a","$defs":{"x":{"$id":"b","$defs":{"z":{"type":"null"}},"$ref":"#/$defs/z"}},"$ref":"https://example.com/b"}`, []string{`null`}, []string{`1`}},
		{"neighbours", `{"$defs":{"x":{"type":"integer"}},"$ref":"#/$defs/x","minimum":3}`, []string{`3`}, []string{`2`, `"a"`}},
		{"draft 7 neighbours", `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"x":{"type":"integer"}},"properties":{"a":{"$ref":"#/definitions/x","minimum":3}}}`, []string{`{"a":2}`}, []string{`{"a":"x"}`}},
		{"dynamic", `{"$id":"https://example.com/a","$dynamicAnchor":"n","type":"object","properties":{"k":{"$dynamicRef":"#n"}},"additionalProperties":false}`, []string{`{"k":{"k":{}}}`}, []string{`{"k":1}`}},
		{"property named ref", `{"type":"object","properties":{"$ref":{"type":"integer"}},"additionalProperties":false}`, []string{`{"$ref":1}`}, []string{`{"$ref":"a"}`}},
	})
}

func TestRead_Combinations(t *testing.T) {
	holds(t, Options{}, []promise{
		{"all", `{"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]}`,
			[]string{`{"a":1,"b":"x"}`, `{"b":"x","a":1,"c":2}`}, []string{`{"a":1}`, `{"a":1,"b":1}`}},
		{"any", `{"anyOf":[{"type":"integer","minimum":5},{"type":"integer","maximum":2},{"type":"string"}]}`, []string{`5`, `2`, `"a"`}, []string{`3`, `null`}},
		{"any beside", `{"type":"object","properties":{"a":{"type":"integer"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`, []string{`{"a":1}`, `{"b":1}`, `{"b":1,"a":2}`}, []string{`{}`, `{"c":1}`, `{"a":"x"}`}},
		{"one of required", `{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]}`, []string{`{"a":1}`, `{"b":1,"c":1}`}, []string{`{}`, `{"a":1,"b":1}`}},
		{"one of types", `{"oneOf":[{"type":"string"},{"type":"null"}]}`, []string{`"a"`, `null`}, []string{`1`}},
		{"one of tags", `{"oneOf":[{"type":"object","properties":{"t":{"const":"a"},"v":{"type":"integer"}},"required":["t"]},{"type":"object","properties":{"t":{"const":"b"},"v":{"type":"string"}},"required":["t"]}]}`,
			[]string{`{"t":"a","v":1}`, `{"v":"x","t":"b"}`}, []string{`{"t":"a","v":"x"}`, `{"v":1}`}},
		{"one of overlapping", `{"oneOf":[{"type":"integer","multipleOf":2},{"type":"integer","multipleOf":3}]}`, []string{`2`, `3`, `4`, `9`}, []string{`6`, `1`, `12`}},
		{"not type", `{"not":{"type":["string","object"]}}`, []string{`1`, `[]`}, []string{`"a"`, `{}`}},
		{"not required", `{"type":"object","not":{"required":["a","b"]}}`, []string{`{"a":1}`, `{"b":1,"c":1}`, `{}`}, []string{`{"a":1,"b":1}`}},
		{"not pattern", `{"type":"string","not":{"pattern":"^a"}}`, []string{`"b"`, `""`}, []string{`"a"`, `"ab"`}},
		{"not enum", `{"type":"string","not":{"enum":["a","b"]}}`, []string{`"c"`, `"ab"`}, []string{`"a"`, `"\u0061"`}},
		{"not property", `{"type":"object","not":{"properties":{"a":{"type":"integer"}}}}`, []string{`{"a":"x"}`, `{"a":null,"b":1}`}, []string{`{}`, `{"a":1}`}},
		{"not additional", `{"type":"object","not":{"properties":{"a":{}},"additionalProperties":false}}`, []string{`{"b":1}`, `{"a":1,"b":1}`}, []string{`{}`, `{"a":1}`}},
		{"some names", `{"type":"object","not":{"anyOf":[{"propertyNames":{"not":{"enum":["1","3"]}}},{"propertyNames":{"not":{"enum":["2","3"]}}}]}}`,
			[]string{`{"1":0,"2":0}`, `{"3":0}`, `{"x":0,"3":1}`}, []string{`{"1":0}`, `{"2":0,"x":1}`, `{}`}},
		{"not any", `{"not":{"anyOf":[{"type":"integer"},{"minLength":2}]}}`, nil, []string{`1`, `"ab"`, `null`}},
		{"not items", `{"type":"array","not":{"items":{"type":"integer"}}}`, []string{`["a"]`, `[1,"a",2]`}, []string{`[]`, `[1]`}},
		{"if", `{"if":{"properties":{"a":{"const":1}},"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]},"type":"object"}`,
			[]string{`{"a":1,"b":2}`, `{"a":2,"c":1}`, `{"c":1}`}, []string{`{"a":1}`, `{"a":2}`, `{"a":1,"c":1}`, `{}`}},
		{"unevaluated", `{"type":"object","allOf":[{"properties":{"a":{"type":"integer"}}}],"properties":{"b":{}},"unevaluatedProperties":false}`, []string{`{"a":1,"b":2}`, `{}`}, []string{`{"c":1}`, `{"a":"x"}`}},
		{"unevaluated by alternative", `{"type":"object","anyOf":[{"properties":{"a":{"const":1}},"required":["a"]},{"properties":{"b":{"const":1}},"required":["b"]}],"unevaluatedProperties":false}`,
			[]string{`{"a":1}`, `{"b":1}`, `{"a":1,"b":1}`}, []string{`{}`, `{"a":1,"c":1}`, `{"a":1,"b":2}`}},
		{"unevaluated items", `{"type":"array","prefixItems":[{"type":"integer"}],"unevaluatedItems":{"type":"string"}}`, []string{`[1,"a"]`}, []string{`[1,2]`}},
	})
}

func TestRead_Refuses(t *testing.T) {
	for schema, why := range map[string]string{
		`{`:                                    "not valid JSON",
		`{"a":1} 2`:                            "follows",
		`3`:                                    "#: a schema must be",
		`false`:                                "nothing fits",
		`{"type":"strin"}`:                     `#/type: "strin" is no type`,
		`{"properties":{"a~/b":{"type":1}}}`:   "#/properties/a~0~1b/type:",
		`{"$ref":"https://example.com/x"}`:     "#/$ref:",
		`{"$ref":"#/$defs/x"}`:                 "leads to nothing",
		`{"$ref":"#"}`:                         "leads to itself",
		`{"allOf":[{"anyOf":[{"$ref":"#"}]}]}`: "leads to itself",
		`{"type":"string","minLength":3,"maxLength":2}`:                 "nothing fits",
		`{"type":"object","required":["a"],"properties":{"a":false}}`:   "nothing fits",
		`{"type":"array","uniqueItems":true,"items":{"type":"object"}}`: "#/uniqueItems:",
		`{"minItems":-1}`: "#/minItems:",
		`{"enum":3}`:      "#/enum:",
	} {
		if _, _, err := compile(schema, Options{}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", schema, err, why)
		}
	}
}

func TestRead_Loose(t *testing.T) {
	g, relaxed := compiled(t, `{"type":"object","properties":{"a":{"type":"array","uniqueItems":true,"items":{"type":"object"}},"b":{"$ref":"https://example.com/x"}},"additionalProperties":false}`, Options{Loose: true})
	if len(relaxed) != 2 || relaxed[0].Pointer != "#/properties/a/uniqueItems" && relaxed[1].Pointer != "#/properties/a/uniqueItems" {
		t.Errorf("relaxed: %v", relaxed)
	}
	if !allows(t, g, `{"a":[{},{}],"b":"x"}`) || allows(t, g, `{"a":["x"]}`) {
		t.Error("a loose schema holds what can be enforced and nothing else")
	}
}

func TestRead_LooseAlternatives(t *testing.T) {
	overlapping := `{"type":"object","properties":{"x":{"type":"integer"}},"oneOf":[` +
		joined(20, func(i int) string {
			return fmt.Sprintf(`{"properties":{"a%d":{"type":"integer"},"b%d":{"type":"string"}}}`, i, i)
		}) + `]}`
	g, relaxed := compiled(t, `{"properties":{"p":`+overlapping+`}}`, Options{Loose: true})
	if len(relaxed) == 0 || !strings.HasPrefix(relaxed[0].Pointer, "#/properties/p/oneOf") && relaxed[0].Pointer != "#/properties/p" {
		t.Errorf("relaxed: %v", relaxed)
	}
	if !allows(t, g, `{"p":{"a1":1,"b2":"","x":3}}`) || allows(t, g, `{"p":{"a1":1,"x":"y"}}`) {
		t.Error("a loose schema holds what can be enforced and nothing else")
	}
}

func TestRead_LooseItems(t *testing.T) {
	for schema, text := range map[string]string{
		`{"type":"array","contains":{"type":"integer"},"minContains":2,"maxItems":5,"items":{"type":["integer","string"]}}`:               `["a","b"]`,
		`{"type":"array","items":{"type":"string"},"uniqueItems":true,"contains":{"const":"b"}}`:                                          `["a","a","b"]`,
		`{"type":"array","prefixItems":[{"type":"string"}],"contains":{"type":"integer"},"minContains":2,"items":{"type":"integer"}}`:     `["a",1]`,
		`{"type":"object","patternProperties":{"a":{},"b":{}},"unevaluatedProperties":{"not":{"$ref":"https://example.com/x"}},"x":null}`: `{"c":1}`,
	} {
		if _, _, err := compile(schema, Options{}); err == nil {
			t.Errorf("%s: taken", schema)
		}
		g, relaxed := compiled(t, schema, Options{Loose: true})
		if len(relaxed) != 1 || !allows(t, g, text) {
			t.Errorf("%s: relaxed %v; %s is allowed: %v", schema, relaxed, text, allows(t, g, text))
		}
	}
}
