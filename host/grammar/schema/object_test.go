// SPDX-License-Identifier: MIT

package schema

import (
	"strings"
	"testing"
)

func TestRead_Members(t *testing.T) {
	holds(t, Options{}, []promise{
		{"closed", `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a"],"additionalProperties":false}`,
			[]string{`{"a":1}`, `{"a": 1, "b": "x"}`, "{\n  \"a\": 1,\n  \"b\": \"x\"\n}"},
			[]string{`{}`, `{"b":"x"}`, `{"b":"x","a":1}`, `{"a":1,"c":2}`, `{"a":1,"a":2}`, `{"a":"x"}`}},
		{"open", `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a"]}`,
			[]string{`{"a":1}`, `{"b":"x","a":1}`, `{"a":1,"c":null,"b":"","d":[]}`},
			[]string{`{}`, `{"b":"x"}`, `{"a":"x"}`, `{"a":1,"b":2}`, `{"a":1,"a":2}`, `{"\u0061":"x","a":1}`}},
		{"required and not listed", `{"properties":{"a":{"type":"boolean"}},"required":["a","b"]}`,
			[]string{`{"a":true,"b":1}`, `{"b":1,"a":true}`, `3`}, []string{`{"a":true}`, `{"b":1}`}},
		{"only required", `{"type":"object","required":["b"]}`, []string{`{"b":1}`, `{"b":[],"a":1}`}, []string{`{}`, `{"a":1}`}},
		{"other members", `{"type":"object","properties":{"a":{}},"additionalProperties":{"type":"integer"}}`,
			[]string{`{"a":"x","b":1}`, `{}`}, []string{`{"b":"x"}`}},
		{"patterns", `{"type":"object","patternProperties":{"^s":{"type":"string"},"n$":{"minLength":2}},"additionalProperties":false}`,
			[]string{`{"s":"x","sn":"xy","n":1}`}, []string{`{"s":1}`, `{"sn":"x"}`, `{"a":1}`}},
		{"pattern beside property", `{"type":"object","properties":{"sa":{"maxLength":1}},"patternProperties":{"^s":{"type":"string"}}}`,
			[]string{`{"sa":"x"}`, `{"t":1}`}, []string{`{"sa":1}`, `{"sa":"xy"}`}},
		{"names", `{"type":"object","propertyNames":{"pattern":"^[a-c]+$","maxLength":2}}`, []string{`{"a":1,"bc":2}`}, []string{`{"d":1}`, `{"abc":1}`}},
		{"names of an enum", `{"type":"object","propertyNames":{"enum":["a","b"]}}`, []string{`{"a":1}`}, []string{`{"c":1}`}},
		{"forbidden member", `{"type":"object","properties":{"a":false}}`, []string{`{"b":1}`}, []string{`{"a":1}`}},
		{"counts", `{"type":"object","minProperties":1,"maxProperties":2}`, []string{`{"a":1}`, `{"a":1,"b":2}`}, []string{`{}`, `{"a":1,"b":2,"c":3}`}},
		{"counts of listed", `{"type":"object","properties":{"a":{},"b":{},"c":{}},"additionalProperties":false,"minProperties":2,"maxProperties":2}`,
			[]string{`{"a":1,"c":1}`, `{"b":1,"c":1}`}, []string{`{"a":1}`, `{"a":1,"b":1,"c":1}`}},
		{"names only once", `{"type":"object","properties":{"p":{}}}`,
			[]string{`{"a":1,"b":{"a":1},"ab":[{"a":1},{"a":1}],"p":{"p":1}}`},
			[]string{`{"a":1,"a":2}`, `{"a":1,"b":2,"\u0061":3}`, `{"b":{"a":1,"a":2}}`, `{"":1,"":2}`, `{"p":1,"p":2}`, `{"é":1,"p":2,"\u00E9":3}`}},
		{"names only once, in the schema's order", `{"type":"object","properties":{"p":{}},"patternProperties":{"^x":{"type":"integer"}},"additionalProperties":false}`,
			[]string{`{"p":1,"x1":1,"x2":2}`, `{"x":1,"x1":1}`}, []string{`{"x1":1,"x1":2}`, `{"y":1}`}},
		{"names of few only once", `{"type":"object","propertyNames":{"enum":["a","b"]},"minProperties":2}`,
			[]string{`{"a":1,"b":2}`, `{"b":1,"a":2}`}, []string{`{"a":1,"a":2}`, `{"a":1}`, `{"a":1,"b":2,"a":3}`}},
		{"names that must be so many", `{"type":"object","minProperties":2}`, []string{`{"a":1,"b":2}`}, []string{`{"a":1}`, `{"a":1,"a":2}`}},
		{"escaped names", `{"type":"object","properties":{"a\"é":{"type":"integer"}},"additionalProperties":false}`,
			[]string{`{"a\"é":1}`, `{"a\"\u00e9":1}`}, []string{`{"a":1}`}},
	})
}

func TestRead_Dependencies(t *testing.T) {
	holds(t, Options{}, []promise{
		{"names", `{"type":"object","dependentRequired":{"card":["address"]}}`,
			[]string{`{}`, `{"address":1}`, `{"card":1,"address":2}`, `{"address":1,"card":2}`}, []string{`{"card":1}`, `{"card":1,"x":1}`}},
		{"older", `{"dependencies":{"a":["b"],"c":{"properties":{"d":{"type":"integer"}}}}}`,
			[]string{`{"a":1,"b":1}`, `{"d":"x"}`, `{"c":1,"d":1}`, `{"c":1}`, `1`}, []string{`{"a":1}`, `{"c":1,"d":"x"}`, `{"d":"x","c":1}`}},
		{"schemas", `{"type":"object","dependentSchemas":{"a":{"required":["b"]}}}`, []string{`{"a":1,"b":1}`, `{}`}, []string{`{"a":1}`}},
	})
}

func TestRead_Order(t *testing.T) {
	open := `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["b"]}`
	holds(t, Options{Order: SchemaOrder}, []promise{{"schema", open, []string{`{"a":1,"b":2}`, `{"b":2,"c":3}`, `{"a":1,"b":2,"c":3,"d":4}`},
		[]string{`{"b":1,"a":2}`, `{"a":1}`, `{"c":3,"b":2}`}},
		{"schema, so many", `{"type":"object","properties":{"a":{},"b":{}},"minProperties":2,"maxProperties":3}`, // listed and other ones count
			[]string{`{"a":1,"b":2}`, `{"a":1,"x":2}`, `{"x":1,"y":2,"z":3}`, `{"a":1,"b":2,"x":3}`},
			[]string{`{"a":1,"b":2,"x":3,"y":4}`, `{"a":1,"x":2,"y":3,"z":4}`, `{"w":0,"x":1,"y":2,"z":3}`, `{"a":1}`, `{"x":1}`}}})
	// A weak model that may invent members goes on doing so, and what is required never comes.
	either := `{"type":"object","properties":{"a":{},"b":{},"c":{}},"anyOf":[{"required":["b","a"]},{"required":["b","c"]}]}`
	holds(t, Options{}, []promise{
		{"open", open, []string{`{"a":1,"b":2}`, `{"b":2,"a":1}`, `{"b":2,"x":3,"a":1,"y":4}`, `{"$schema":"s","$id":1,"b":2,"$x":3}`}, []string{`{"$schema":"s","$schema":"t","b":2}`, `{"x":3,"b":2}`, `{"a":1,"x":3,"b":2}`}},
		{"open, alternatives", either, []string{`{"b":1,"x":2,"c":3}`, `{"c":1,"b":2,"x":3}`, `{"a":1,"b":2}`}, []string{`{"x":1,"b":2,"c":3}`, `{"a":1,"x":2,"b":3}`, `{"b":1,"x":2}`}},
		{"open, so many", `{"type":"object","required":["b"],"minProperties":3,"patternProperties":{"^x":{"type":"integer"}}}`,
			[]string{`{"b":1,"x":2,"y":[]}`, `{"x":2,"b":1,"y":[]}`}, []string{`{"y":[],"b":1,"x":2}`, `{"b":1,"x":2}`, `{"b":1,"x":[],"y":2}`}},
	})
	holds(t, Options{Order: AnyOrder}, []promise{{"any, open", open, []string{`{"x":3,"b":2}`, `{"a":1,"x":3,"b":2}`}, []string{`{"x":3}`}}})
	closed := `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["b"],"additionalProperties":false}`
	holds(t, Options{Order: AnyOrder}, []promise{{"any", closed, []string{`{"a":1,"b":2}`, `{"b":1,"a":2}`, `{"b":1}`}, []string{`{"a":1}`, `{"b":1,"c":2}`, `{"b":1,"b":1}`}}})
}

func TestRead_Closed(t *testing.T) {
	holds(t, Options{Closed: true}, []promise{
		{"listed", `{"type":"object","properties":{"a":{}}}`, []string{`{"a":1}`, `{}`}, []string{`{"b":1}`}},
		{"said of", `{"type":"object","properties":{"a":{}},"additionalProperties":true}`, []string{`{"b":1}`}, nil},
		{"not listed", `{"type":"object"}`, []string{`{"b":1}`}, nil},
	})
}

// White space stands where llama.cpp's converter has it, and as much: so greedy answers are the
// same.
func TestRead_WhiteSpace(t *testing.T) {
	indented := "\n\n" + strings.Repeat(" \t", 10)
	holds(t, Options{}, []promise{{"closed", `{"type":"object","properties":{"a":{"type":"array"},"b é":{}},"required":["a"],"additionalProperties":false}`,
		[]string{`{"a":[]}`, `{ "a" : [ ] }`, "{\n\"a\"\n\n :\n[\n1,\n2\n]\n}", `{` + indented + `"a"` + indented + `:` + indented + `[]}`, "{\"a\":[],\"b é\" :\n1}"},
		[]string{`{"a":[1 ,2]}`, `{"a":[]} `, ` {"a":[]}`, `{"a"  :[]}`, "{\t\"a\":[]}", "{\n\n\n\"a\":[]}", "{\r\n\"a\":[]}", `{` + indented + ` "a":[]}`, `{"a":[] ,"b é":1}`}}})
}

func TestRead_Compact(t *testing.T) {
	holds(t, Options{Compact: true}, []promise{{"object", `{"type":"object","properties":{"a":{"type":"array"}}}`, []string{`{"a":[1,2]}`}, []string{`{"a": [1,2]}`, `{"a":[1, 2]}`, `{ "a":[]}`}}})
}

func TestRead_Lists(t *testing.T) {
	holds(t, Options{}, []promise{
		{"items", `{"type":"array","items":{"type":"integer"}}`, []string{`[]`, `[1]`, `[1, 2,3]`}, []string{`["a"]`, `[1,"a"]`}},
		{"counts", `{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":3}`, []string{`[1,2]`, `[1,2,3]`}, []string{`[]`, `[1]`, `[1,2,3,4]`}},
		{"none", `{"type":"array","maxItems":0}`, []string{`[]`}, []string{`[1]`}},
		{"first", `{"type":"array","prefixItems":[{"type":"boolean"}],"items":{"type":"integer","minimum":0,"maximum":9},"minItems":2,"maxItems":2}`,
			[]string{`[true,3]`}, []string{`[true]`, `[3,true]`, `[true,3,4]`, `[true,10]`}},
		{"first alone", `{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":false}`, []string{`[]`, `[1]`, `[1,"a"]`}, []string{`["a"]`, `[1,"a",2]`}},
		{"older", `{"type":"array","items":[{"type":"integer"}],"additionalItems":{"type":"string"}}`, []string{`[1,"a","b"]`}, []string{`[1,2]`}},
		{"contains", `{"type":"array","contains":{"type":"integer"}}`, []string{`[1]`, `["a",1]`, `[1,"a"]`}, []string{`[]`, `["a"]`}},
		{"contains so many", `{"type":"array","contains":{"type":"integer"},"minContains":2,"maxContains":2}`, []string{`[1,2]`, `["a",1,"b",2]`}, []string{`[1]`, `[1,2,3]`}},
		{"contains none", `{"type":"array","items":{"type":["integer","string"]},"not":{"contains":{"type":"integer"}}}`, []string{`[]`, `["a"]`}, []string{`[1]`, `["a",1]`}},
		{"unique", `{"type":"array","items":{"enum":["a","b",1]},"uniqueItems":true}`, []string{`[]`, `["b","a"]`, `[1,"a","b"]`}, []string{`["a","a"]`, `[1,"b",1]`}},
		{"unique strings", `{"type":"array","items":{"type":"string"},"uniqueItems":true}`,
			[]string{`[]`, `["a"]`, `["a", "b","ab", ""]`}, []string{`["a","a"]`, `["a", "b", "\u0061"]`, `["é","b","\u00e9"]`}},
		{"unique strings that can run out", `{"type":"array","items":{"type":"string","pattern":"^[ab]$"},"uniqueItems":true,"minItems":2}`,
			[]string{`["a","b"]`, `["b","a"]`}, []string{`["a"]`, `["a","a"]`, `["a","b","a"]`}},
		{"unique numbers", `{"type":"array","items":{"type":"number"},"uniqueItems":true}`,
			[]string{`[1,1.5,-1,10,0]`}, []string{`[1,1]`, `[1,1.0]`, `[1,10e-1]`, `[0,-0]`, `[1.5,1.50]`}},
		{"unique numbers of few", `{"type":"array","items":{"type":"number","minimum":0,"maximum":1,"multipleOf":0.5},"uniqueItems":true,"minItems":3}`,
			[]string{`[1,0.5,0]`}, []string{`[1,0.5]`, `[1,0.5,1]`, `[1,0.5,0,0.5]`}},
		{"unique scalars", `{"type":"array","items":{"anyOf":[{"enum":["a",1,null]},{"type":["string","integer"]}]},"uniqueItems":true}`,
			[]string{`["a",1,null,"1","null",11]`}, []string{`["a","b","a"]`, `[1,"a",1]`, `[null,null]`, `[2,3,2]`}},
		{"unique by reference", `{"type":"array","items":{"$ref":"#/$defs/s"},"uniqueItems":true,"maxItems":3,"$defs":{"s":{"type":"string","minLength":1}}}`,
			[]string{`["a","b","c"]`}, []string{`["a","b","a"]`, `["a","b","c","d"]`, `[""]`}},
		{"unique booleans", `{"type":"array","items":{"type":"boolean"},"uniqueItems":true,"minItems":1}`, []string{`[true]`, `[false,true]`}, []string{`[]`, `[true,true]`}},
	})
}
