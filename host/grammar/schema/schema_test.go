// SPDX-License-Identifier: MIT

package schema

import (
	"strings"
	"testing"

	"github.com/penstock/penstock/host/grammar"
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
