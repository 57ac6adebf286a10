// SPDX-License-Identifier: MIT

package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/grammar"
)

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
		g, err := b.Build(root)
		if err != nil {
			t.Fatal(err)
		}
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
