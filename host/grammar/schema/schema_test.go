// SPDX-License-Identifier: MIT

package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/tools/must"
)

// compiled is a schema's grammar.
func compiled(t *testing.T, schema string, o Options) (*grammar.Grammar, []Relaxed) {
	t.Helper()
	g, relaxed, err := compile(schema, o)
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return g, relaxed
}

func compile(schema string, o Options) (*grammar.Grammar, []Relaxed, error) {
	b := grammar.NewBuilder()
	root, relaxed, err := Read(b, []byte(schema), o)
	if err != nil {
		return nil, nil, err
	}
	g, err := b.Build(root)
	return g, relaxed, err
}

// allows reports whether a text is one of the grammar's.
func allows(t *testing.T, g *grammar.Grammar, text string) bool {
	t.Helper()
	state, ok, err := g.Advance(g.Start(), []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return ok && g.Complete(state)
}

// promise is texts that a schema allows, and texts that it does not.
type promise struct {
	name, schema string
	right, wrong []string
}

func holds(t *testing.T, o Options, promises []promise) {
	t.Helper()
	for _, p := range promises {
		t.Run(p.name, func(t *testing.T) {
			g, relaxed := compiled(t, p.schema, o)
			if len(relaxed) > 0 {
				t.Errorf("relaxed: %v", relaxed)
			}
			for _, text := range p.right {
				if !allows(t, g, text) {
					t.Errorf("%s forbids %s", p.schema, text)
				}
			}
			for _, text := range p.wrong {
				if allows(t, g, text) {
					t.Errorf("%s allows %s", p.schema, text)
				}
			}
		})
	}
}

func TestRead_AnyValue(t *testing.T) {
	anything := []string{`null`, `true`, `-1.5e3`, `"a\n\u00e9"`, `[]`, `{}`, `[1, "a", {"b": [null]}]`, `{"a":{"a":1,"b":[]}}`}
	broken := []string{``, `nul`, `01`, `"`, "\"\n\"", `[1,]`, `{"a"}`, `{"a":1,}`, `{1:2}`, `[}`}
	holds(t, Options{}, []promise{
		{"empty", `{}`, anything, broken},
		{"true", `true`, anything, broken},
		{"annotations", `{"title":"a","id":"b","self":{"x":1},"x-kubernetes-y":true,"example":3,"format":"none"}`, anything, broken},
	})
}

func TestRead_Types(t *testing.T) {
	holds(t, Options{}, []promise{
		{"null", `{"type":"null"}`, []string{`null`}, []string{`1`, `"null"`}},
		{"boolean", `{"type":"boolean"}`, []string{`true`, `false`}, []string{`null`, `tru`}},
		{"integer", `{"type":"integer"}`, []string{`0`, `-12`, `123456789012345678901234567890`}, []string{`1.5`, `"1"`, `01`}},
		{"number", `{"type":"number"}`, []string{`0`, `-1.25`, `1e9`}, []string{`"1"`, `.5`}},
		{"several", `{"type":["string","null"]}`, []string{`null`, `""`}, []string{`1`, `[]`}},
		{"integer or number", `{"type":["integer","number"]}`, []string{`1`, `1.5`}, []string{`"a"`}},
	})
}

func TestRead_Values(t *testing.T) {
	holds(t, Options{}, []promise{
		{"const", `{"const":{"a":[1,"b"],"c":null}}`, []string{`{"a":[1,"b"],"c":null}`, `{ "a": [1, "b"], "c": null }`}, []string{`{}`, `{"a":[1,"b"]}`, `{"a":[2,"b"],"c":null}`}},
		{"enum", `{"enum":["red","green",1,null,true,"gr"]}`, []string{`"red"`, `"green"`, `"gr"`, `1`, `null`, `true`}, []string{`"gree"`, `false`, `"re"`, `2`}},
		{"neighbours", `{"type":"string","enum":["a","abc",1],"minLength":2}`, []string{`"abc"`}, []string{`"a"`, `1`}},
		{"both", `{"enum":[1,2,3],"allOf":[{"enum":[2,3,4]}]}`, []string{`2`, `3`}, []string{`1`, `4`}},
		{"escapes", `{"const":"a\"b\\/é\n"}`, []string{`"a\"b\\/é\n"`, `"a\u0022b\u005c\/\u00e9\u000a"`}, []string{`"ab"`, "\"a\\\"b\\\\/é\n\""}},
		{"number as text", `{"enum":["1"]}`, []string{`"1"`}, []string{`1`}},
		{"objects filtered", `{"enum":[{"a":1},{"a":"x"}],"properties":{"a":{"type":"string"}}}`, []string{`{"a":"x"}`}, []string{`{"a":1}`}},
	})
}

func TestRead_Strings(t *testing.T) {
	holds(t, Options{}, []promise{
		{"lengths", `{"type":"string","minLength":2,"maxLength":3}`, []string{`"ab"`, `"éé"`, `"\n\u00e9a"`, `"\ud83d\ude00b"`}, []string{`"a"`, `"abcd"`, `"\n"`, `"😀"`}},
		{"digits", `{"pattern":"^\\d{4}-\\d{2}$","type":"string"}`, []string{`"2024-01"`, `"\u0032024-01"`}, []string{`"2024-1"`, `"x2024-01"`}},
		{"inch", `{"pattern":"^[0-9]{2}\"$","type":"string"}`, []string{`"08\""`, `"08\u0022"`}, []string{`"08""`, `"08"`}},
		{"path", `{"pattern":"^C:\\\\foo$","type":"string"}`, []string{`"C:\\foo"`}, []string{`"C:\foo"`, `"C:foo"`}},
		{"accents", `{"pattern":"^é{2}$","type":"string"}`, []string{`"éé"`, `"\u00e9é"`}, []string{`"é"`}},
		{"unanchored", `{"pattern":"b+","type":"string"}`, []string{`"abc"`, `"b"`}, []string{`"ac"`}},
		{"tab", `{"pattern":"^a\\tb$","type":"string"}`, []string{`"a\tb"`}, []string{"\"a\tb\"", `"atb"`}},
		{"pattern and length", `{"type":"string","pattern":"^[a-z]+$","maxLength":3}`, []string{`"abc"`}, []string{`"abcd"`, `""`, `"aB"`}},
		{"two patterns", `{"type":"string","allOf":[{"pattern":"a"},{"pattern":"b"}]}`, []string{`"ab"`, `"b-a"`}, []string{`"a"`, `"b"`}},
		{"any kind else", `{"pattern":"^a$"}`, []string{`"a"`, `1`, `{}`}, []string{`"b"`}},
		{"long", `{"type":"string","maxLength":4096}`, []string{`"` + strings.Repeat("a", 4096) + `"`}, []string{`"` + strings.Repeat("a", 4097) + `"`}},
	})
}

func TestRead_Numbers(t *testing.T) {
	holds(t, Options{}, []promise{
		{"bounds", `{"type":"number","minimum":0.5,"maximum":2.25}`, []string{`0.5`, `2.25`, `1`}, []string{`0.4`, `2.26`, `3`, `-1`}},
		{"large", `{"type":"integer","minimum":-1e30,"maximum":1e30}`, []string{`1000000000000000000000000000000`, `-7`}, []string{`1000000000000000000000000000001`}},
		{"beyond 64 bits", `{"type":"integer","maximum":9223372036854776000}`, []string{`9223372036854776000`}, []string{`9223372036854776001`}},
		{"exclusive", `{"type":"integer","exclusiveMinimum":1,"exclusiveMaximum":4}`, []string{`2`, `3`}, []string{`1`, `4`}},
		{"draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"integer","minimum":1,"exclusiveMinimum":true}`, []string{`2`}, []string{`1`}},
		{"multiples", `{"type":"integer","multipleOf":7,"minimum":1}`, []string{`7`, `700`}, []string{`0`, `8`}},
		{"fractions", `{"type":"number","multipleOf":0.25}`, []string{`0.25`, `1.5`, `3`}, []string{`0.1`, `1.3`}},
		{"no integer", `{"type":"number","not":{"type":"integer"}}`, []string{`1.5`}, []string{`1`}},
		{"not a value", `{"type":"integer","not":{"enum":[3,5]}}`, []string{`4`, `33`}, []string{`3`, `5`}},
	})
}

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

// A part is found by its URI, its anchor or its place, whatever base it is within.
func TestRead_References(t *testing.T) {
	holds(t, Options{}, []promise{
		{"root", `{"type":"object","properties":{"v":{"type":"boolean"},"kids":{"type":"array","items":{"$ref":"#"},"maxItems":1}},"required":["v","kids"]}`,
			[]string{`{"v":true,"kids":[]}`, `{"kids":[{"v":false,"kids":[]}],"v":true}`}, []string{`{"v":true}`, `{"v":true,"kids":[{}]}`}},
		{"escapes", `{"$defs":{"a/b":{"type":"boolean"},"c d":{"type":"null"},"e~f":{"type":"integer"}},"prefixItems":[{"$ref":"#/$defs/a~1b"},{"$ref":"#/$defs/c%20d"},{"$ref":"#/$defs/e~0f"}],"type":"array","minItems":3}`,
			[]string{`[true,null,1]`}, []string{`[1,null,1]`, `[true,1,1]`, `[true,null,true]`}},
		{"anchor", `{"$defs":{"x":{"$anchor":"y","type":"null"}},"$ref":"#y"}`, []string{`null`}, []string{`1`}},
		{"a URI within a URI", `{"$id":"http://x/y/","$ref":"z/w","$defs":{"a":{"$id":"z/","$defs":{"b":{"$id":"w","type":"null"}}}}}`, []string{"null"}, []string{"1"}},
		{"an anchor of another base", `{"$id":"http://x/y","$ref":"z#n","$defs":{"a":{"$id":"z","$defs":{"b":{"$anchor":"n","type":"null"}}}}}`, []string{"null"}, []string{"1"}},
		{"an anchor of the same URI", `{"$id":"http://x/y","$ref":"#n","$defs":{"a":{"$id":"http://x/y","$defs":{"b":{"$anchor":"n","type":"null"}}}}}`, []string{"null"}, []string{"1"}},
		{"a place within a base", `{"$id":"http://x/y","$ref":"z#/$defs/b","$defs":{"a":{"$id":"z","$defs":{"b":{"type":"null"}}}}}`, []string{"null"}, []string{"1"}},
		{"an id that begins with #", `{"$ref":"#n","definitions":{"a":{"$id":"#n","type":"null"}}}`, []string{"null"}, []string{"1"}},
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

// What cannot be enforced is refused or, with Options.Loose, dropped and listed; the rest holds.
func TestRead_Loose(t *testing.T) {
	overlapping := `{"properties":{"p":{"type":"object","properties":{"x":{"type":"integer"}},"oneOf":[` +
		joined(20, func(i int) string {
			return fmt.Sprintf(`{"properties":{"a%d":{"type":"integer"},"b%d":{"type":"string"}}}`, i, i)
		}) + `]}}}`
	for _, c := range []struct {
		schema, fits, not string
		relaxed           string // the beginning of one place that is listed
		places            int
	}{
		{`{"type":"object","properties":{"a":{"type":"array","uniqueItems":true,"items":{"type":"object"}},"b":{"$ref":"https://example.com/x"}},"additionalProperties":false}`,
			`{"a":[{},{}],"b":"x"}`, `{"a":["x"]}`, "#/properties/a/uniqueItems", 2},
		{overlapping, `{"p":{"a1":1,"b2":"","x":3}}`, `{"p":{"a1":1,"x":"y"}}`, "#/properties/p", 1},
		{`{"type":"array","contains":{"type":"integer"},"minContains":2,"maxItems":5,"items":{"type":["integer","string"]}}`, `["a","b"]`, `[null]`, "#/contains", 1},
		{`{"type":"array","items":{"type":"string"},"uniqueItems":true,"contains":{"const":"b"}}`, `["a","a","b"]`, `[1]`, "#/uniqueItems", 1},
		{`{"type":"array","prefixItems":[{"type":"string"}],"contains":{"type":"integer"},"minContains":2,"items":{"type":"integer"}}`, `["a",1]`, `["a","b"]`, "#/contains", 1},
		{`{"type":"object","patternProperties":{"a":{},"b":{}},"unevaluatedProperties":{"not":{"$ref":"https://example.com/x"}},"x":null}`, `{"c":1}`, `1`, "#/unevaluatedProperties/not/$ref", 1},
	} {
		if _, _, err := compile(c.schema, Options{}); err == nil {
			t.Errorf("%s: taken", c.schema)
		}
		g, relaxed := compiled(t, c.schema, Options{Loose: true})
		if len(relaxed) != c.places || !slices.ContainsFunc(relaxed, func(r Relaxed) bool { return strings.HasPrefix(r.Pointer, c.relaxed) }) {
			t.Errorf("%s: relaxed %v", c.schema, relaxed)
		}
		if !allows(t, g, c.fits) || allows(t, g, c.not) {
			t.Errorf("%s: %s fits %v, %s fits %v", c.schema, c.fits, allows(t, g, c.fits), c.not, allows(t, g, c.not))
		}
	}
}

// What is not written as it should be, or cannot be enforced, is dropped and told where nobody asks
// for strictness, and the rest of the schema holds.
func TestRead_Loose_DropsWords(t *testing.T) {
	for _, c := range []struct{ name, schema string }{
		{`items list`, `{"type":"array","items":[]}`},
		{`items as tuple`, `{"type":"array","items":[{"type":"string"},{"type":"integer"}]}`},
		{`enum empty`, `{"enum":[]}`},
		{`enum twice`, `{"enum":["a","a"]}`},
		{`minimum as text`, `{"type":"integer","minimum":"0"}`},
		{`minimum null`, `{"type":"integer","minimum":null}`},
		{`maxLength null`, `{"type":"string","maxLength":null}`},
		{`enum null`, `{"type":"string","enum":null}`},
		{`additionalProperties null`, `{"type":"object","properties":{},"additionalProperties":null}`},
		{`properties a list`, `{"type":"object","properties":[]}`},
		{`properties null`, `{"type":"object","properties":null}`},
		{`patternProperties null`, `{"type":"object","patternProperties":null}`},
		{`items null`, `{"type":"array","items":null}`},
		{`anyOf null`, `{"anyOf":null}`},
		{`anyOf of nulls`, `{"anyOf":[null,{"type":"string"}]}`},
		{`required text`, `{"type":"object","required":"x"}`},
		{`required of numbers`, `{"type":"object","required":[1]}`},
		{`type int`, `{"type":"int"}`},
		{`type None`, `{"type":"None"}`},
		{`type null`, `{"type":null}`},
		{`type STRING`, `{"type":"STRING"}`},
		{`type list`, `{"type":["STRING","float"]}`},
		{`pattern unclosed`, `{"type":"string","pattern":"["}`},
		{`pattern null`, `{"type":"string","pattern":null}`},
		{`pattern \Z`, `{"type":"string","pattern":"^a\\Z"}`},
		{`pattern look-behind`, `{"type":"string","pattern":"(?<!a)b"}`},
		{`pattern back-reference`, `{"type":"string","pattern":"^(a)\\1$"}`},
		{`pattern {,5}`, `{"type":"string","pattern":"^a{,5}$"}`},
		{`format number`, `{"type":"string","format":5}`},
		{`uniqueItems of any`, `{"type":"array","uniqueItems":true}`},
		{`uniqueItems of objects`, `{"type":"array","uniqueItems":true,"items":{"type":"object"}}`},
		{`uniqueItems text`, `{"type":"array","uniqueItems":"true"}`},
		{`elsewhere`, `{"$ref":"https://example.org/a.json"}`},
		{`dangling`, `{"$ref":"#/definitions/Gone"}`},
		{`ref number`, `{"$ref":5}`},
		{`not dangling`, `{"not":{"$ref":"#/definitions/Gone"}}`},
		{`multipleOf 0`, `{"type":"number","multipleOf":0}`},
		{`multipleOf null`, `{"type":"number","multipleOf":null}`},
		{`if null`, `{"if":null,"then":{"type":"string"}}`},
		{`dependentRequired null`, `{"type":"object","dependentRequired":null}`},
		{`contains null`, `{"type":"array","contains":null}`},
		{`prefixItems null`, `{"type":"array","prefixItems":null}`},
		{`propertyNames null`, `{"type":"object","propertyNames":null}`},
		{`const null`, `{"const":null}`},
		{`a number`, `5`},
		{`nothing`, `false`},
	} {
		whole := fmt.Sprintf(`{"type":"object","properties":{"v":%s,"w":{"type":"integer","minimum":3,"maximum":4}},"required":["w"],"additionalProperties":false}`, c.schema)
		b := grammar.NewBuilder()
		root, relaxed, err := Read(b, json.RawMessage(whole), Options{Loose: true})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		g, err := b.Build(root)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for text, want := range map[string]bool{`{"w":3}`: true, `{"w":5}`: false} {
			s, fits, err := g.Advance(g.Start(), []byte(text))
			if err != nil || (fits && g.Complete(s)) != want {
				t.Errorf("%s: %s fits: %v, %v", c.name, text, fits, err)
			}
		}
		_, _, strict := Read(grammar.NewBuilder(), json.RawMessage(whole), Options{})
		if strict != nil && len(relaxed) == 0 && !strings.Contains(c.name, "STRING") {
			t.Errorf("%s: nothing is told: %v", c.name, strict)
		}
	}
}

// Values of which none is of the type beside them say nothing: people write the items' values
// beside a list's type, and numbers as texts. Else nothing would fit, and a tool whose call needs
// such an argument would have none at all.
func TestRead_Loose_EnumOfOtherType(t *testing.T) {
	for _, c := range []struct {
		schema   string
		fit, not []string
		told     string
	}{
		{`{"type":"array","items":{"type":"string"},"enum":["a","b"]}`, []string{`["x"]`, `[]`}, []string{`[1]`, `"a"`}, "#/properties/v/enum"},
		{`{"type":"integer","enum":["1","2"]}`, []string{`3`}, []string{`"1"`, `1.5`}, "#/properties/v/enum"},
		{`{"type":["integer","null"],"const":"1"}`, []string{`3`, `null`}, []string{`"1"`}, "#/properties/v/const"},
		{`{"type":"integer","enum":[0.5,1e-3]}`, []string{`3`}, []string{`0.5`}, "#/properties/v/enum"},
		{`{"type":"integer","const":10e-1}`, []string{`1`}, []string{`3`}, ""},
		{`{"type":"integer","enum":["1",2]}`, []string{`2`}, []string{`"1"`, `3`}, ""},
		{`{"type":"string","anyOf":[{"enum":[1]},{"enum":["b"]}]}`, []string{`"b"`}, []string{`"c"`, `1`}, ""},
	} {
		b := grammar.NewBuilder()
		root, relaxed, err := Read(b, json.RawMessage(`{"type":"object","properties":{"v":`+c.schema+`},"required":["v"],"additionalProperties":false}`), Options{Loose: true})
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		g := must.Get(b.Build(root))(t)
		for i, texts := range [][]string{c.fit, append(c.not, "")} {
			for _, text := range texts {
				if text = `{"v":` + text + `}`; text == `{"v":}` {
					text = `{}`
				}
				s, fits, err := g.Advance(g.Start(), []byte(text))
				if err != nil || (fits && g.Complete(s)) != (i == 0) {
					t.Errorf("%s: %s fits: %v, %v", c.schema, text, fits, err)
				}
			}
		}
		if told := len(relaxed) > 0 && relaxed[0].Pointer == c.told; told != (c.told != "") || len(relaxed) > 1 {
			t.Errorf("%s: told %v", c.schema, relaxed)
		}
	}
}

// Values that alternatives list are one alternative, however many they are.
func TestRead_ListedAlternatives(t *testing.T) {
	var consts []string
	for i := range 600 {
		consts = append(consts, fmt.Sprintf(`{"const":"c%d","title":"the %dth"}`, i, i))
	}
	for _, word := range []string{"oneOf", "anyOf"} {
		b := grammar.NewBuilder()
		root, _, err := Read(b, json.RawMessage(`{"`+word+`":[`+strings.Join(consts, ",")+`,{"enum":["x",1],"type":["string","number"]},{"const":"c7"}]}`), Options{})
		if err != nil {
			t.Fatal(word, err)
		}
		g, err := b.Build(root)
		if err != nil {
			t.Fatal(word, err)
		}
		for text, want := range map[string]bool{`"c599"`: true, `"x"`: true, `1`: true, `"c600"`: false, `"c7"`: word == "anyOf"} {
			s, fits, err := g.Advance(g.Start(), []byte(text))
			if err != nil || (fits && g.Complete(s)) != want {
				t.Errorf("%s: %s fits: %v, %v", word, text, fits, err)
			}
		}
	}
}
