// SPDX-License-Identifier: MIT

package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/steadytest"
)

// objectOf is a schema with n properties, all optional.
func objectOf(n int, property func(i int) string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = property(i)
	}
	return `{"type":"object","additionalProperties":false,"properties":{` + strings.Join(list, ",") + `}}`
}

func repeated(n int, f func(i int) string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = f(i)
	}
	return strings.Join(list, ",")
}

// doubled nests objects, each of them described twice.
func doubled(depth int) string {
	if depth == 0 {
		return `{"type":"string"}`
	}
	return `{"type":["object","object"],"properties":{"a":` + doubled(depth-1) + `}}`
}

// largeSchemaCost is what a schema takes that is as large as they may be.
func largeSchemaCost(t *testing.T) time.Duration {
	t.Helper()
	schema := objectOf(300, func(i int) string { return fmt.Sprintf(`"property %d":{"type":"string"}`, i) })
	return steadytest.Cost(t, func() {
		if _, err := GrammarOfSchema(schema); err != nil {
			t.Error(err)
		}
	})
}

func TestGrammarOfSchema(t *testing.T) {
	text, err := GrammarOfSchema(`{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false}`)
	if err != nil || !strings.Contains(text, "root ::=") {
		t.Errorf("%q, %v", text, err)
	}
	plain := largeSchemaCost(t)
	for name, schema := range map[string]string{
		"no JSON": "{", "no schema": "7", "unknown type": `{"type": "frog"}`, "elsewhere": `{"$ref": "https://example.com/schema.json"}`,
		"nowhere": `{"$ref": "#/definitions/a"}`, "not UTF-8": "\"\xff\"", "empty": "", "all of itself": `{"allOf": [{"$ref": "#"}]}`,
		"deep": strings.Repeat(`{"items":`, 200) + "{}" + strings.Repeat("}", 200),
		"long": `{"description": "` + strings.Repeat("a", 300<<10) + `"}`,
	} {
		took := steadytest.Cost(t, func() {
			if _, err := GrammarOfSchema(schema); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: got %v, want ErrInvalid", name, err)
			}
		})
		if took > plain {
			t.Errorf("%s: takes %v, a large schema %v", name, took, plain)
		}
	}
}

// Each of these took llama.cpp minutes, or overflowed its stack. Now it is refused for about what a large schema takes.
func TestGrammarOfSchema_TooMuch(t *testing.T) {
	steadytest.SkipRaced(t, inC)
	plain := largeSchemaCost(t)
	for name, schema := range map[string]string{
		"all of a circle":      `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"allOf":[{"$ref":"#/$defs/a"}]}`,
		"all of what it is in": `{"$defs":{"a":{"type":"object","properties":{"x":{"allOf":[{"$ref":"#/$defs/a"}]}}}},"$ref":"#/$defs/a"}`,
		"list in a reference":  `{"$defs":[0,{"$ref":"#/$defs/ 1x"}],"allOf":[{"$ref":"#/$defs/1"}]}`,
		"optional properties":  objectOf(1900, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"null"}`, i) }),
		"names that coincide": objectOf(500, func(i int) string {
			return fmt.Sprintf(`"%c%c":{"type":"string","maxLength":%d}`, 0x4e00+i/100, 0x5000+i%100, i)
		}),
		"patterns":     `{"anyOf":[` + repeated(7000, func(i int) string { return fmt.Sprintf(`{"type":"string","pattern":"^a%d$"}`, i) }) + `]}`,
		"long pattern": `{"type":"string","pattern":"^a` + strings.Repeat("*", 200_000) + `$"}`,
		"long names": `{"type":"object","properties":{"` + strings.Repeat("n", 100_000) + `":{"anyOf":[` +
			repeated(5000, func(i int) string { return `{"type":"array","items":{}}` }) + `]}}}`,
		"doubled":   doubled(30),
		"types":     `{"type":[` + repeated(20_000, func(int) string { return `"null"` }) + `]}`,
		"many keys": `{` + repeated(20_000, func(i int) string { return fmt.Sprintf(`"%d":0`, i) }) + `}`,
	} {
		took := steadytest.Cost(t, func() {
			if _, err := GrammarOfSchema(schema); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: got %v, want ErrInvalid", name, err)
			}
		})
		if took > mostCost*plain {
			t.Errorf("%s: takes %v, a large schema %v", name, took, plain)
		}
	}
}

// What people write is accepted.
func TestGrammarOfSchema_Large(t *testing.T) {
	for name, schema := range map[string]string{
		"enum":                `{"enum":[` + repeated(5000, func(i int) string { return fmt.Sprintf(`"value %d"`, i) }) + `]}`,
		"optional properties": objectOf(300, func(i int) string { return fmt.Sprintf(`"property %d":{"type":"string"}`, i) }),
		"Chinese properties": objectOf(100, func(i int) string {
			return fmt.Sprintf(`"%c%c":{"type":"string"}`, 0x4e00+i/10, 0x5000+i%10)
		}),
		"alternatives": `{"anyOf":[` + repeated(2000, func(i int) string { return fmt.Sprintf(`{"const":%d}`, i) }) + `]}`,
		"tree":         `{"$defs":{"n":{"type":"object","properties":{"next":{"type":"array","items":{"$ref":"#/$defs/n"}}}}},"$ref":"#/$defs/n"}`,
		"deep":         strings.Repeat(`{"properties":{"a":`, 45) + `{}` + strings.Repeat("}}", 45),
	} {
		if _, err := GrammarOfSchema(schema); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTemplate_Render_TooMuch: what a request passes to a template besides messages is bounded too.
func TestTemplate_Render_TooMuch(t *testing.T) {
	steadytest.SkipRaced(t, inC)
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	template, err := NewTemplate(m, "")
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, template)
	hello := json.RawMessage(`[{"role":"user","content":"hi"}]`)
	keys := json.RawMessage(`{` + repeated(20_000, func(i int) string { return fmt.Sprintf(`"%d":0`, i) }) + `}`)
	for name, c := range map[string]Conversation{
		"keys":   {Messages: hello, TemplateArgs: map[string]json.RawMessage{"a": keys}},
		"bytes":  {Messages: hello, TemplateArgs: map[string]json.RawMessage{"a": json.RawMessage(`"` + strings.Repeat("a", 300<<10) + `"`)}},
		"schema": {Messages: hello, JSONSchema: doubled(30)},
		"tools":  {Messages: hello, Tools: json.RawMessage(`[{"type":"function","function":{"name":"f","parameters":` + doubled(30) + `}}]`)},
	} {
		if _, err := template.Render(t.Context(), c); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
}

// llama.cpp would take the rule of this property for that of the whole, and 7 for an answer.
func TestGrammarOfSchema_PropertyWithoutName(t *testing.T) {
	for schema, where := range map[string]string{
		`{"type":"object","properties":{"":{"type":"integer"}}}`:                      "#/properties/ ",
		`{"allOf":[{"properties":{"a":{}}},{"properties":{"":{}}}]}`:                  "#",
		`{"type":"object","properties":{"a":{"type":"object","properties":{"":{}}}}}`: "",
	} {
		_, err := GrammarOfSchema(schema)
		if where == "" && err != nil || where != "" && (!errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), where) || !strings.Contains(err.Error(), "name is empty")) {
			t.Errorf("%s: got %v", schema, err)
		}
	}
}
