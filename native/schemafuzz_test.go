// SPDX-License-Identifier: MIT

package native

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

// FuzzGrammarOfSchema: a schema never takes the process down, and what it becomes is a grammar whose texts have its type.
func FuzzGrammarOfSchema(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"type":"integer","minimum":-3,"maximum":120}},"required":["a"]}`, `{"enum":["a",1,null]}`,
		`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"const":3}]}}}`, `{"$ref":"#"}`,
		`{"type":"array","items":{"type":"string","pattern":"^[a-z]{2,5}(x|y)*$"},"minItems":1,"maxItems":9}`, `{"type":["string","null"],"format":"date-time"}`,
		`{"type":"object","additionalProperties":{"type":"number"},"properties":{"a":{},"b":{},"c":true}}`, `{"oneOf":[]}`, `[{}]`,
	} {
		f.Add(seed)
	}
	m := loadBuiltIn(f, ModelOptions{VocabOnly: true})
	f.Fuzz(func(t *testing.T, schema string) {
		text, err := GrammarOfSchema(schema)
		if err != nil {
			return
		}
		g, err := NewGrammar(m, text, "")
		if err != nil {
			if !isKnownGap(err) {
				t.Fatalf("%v: %s", err, text)
			}
			return
		}
		defer closing(t, g)
		if err := g.Mask(make([]uint32, (m.Info().Vocabulary+31)/32)); err != nil && !errors.Is(err, ErrFailed) {
			t.Error(err)
		}
		checkType(t, m, schema, text)
	})
}

// isKnownGap reports what of a schema llama.cpp notices only in the grammar: a reference that leads back to itself through alternatives, a
// name with a zero character, and sizes.
func isKnownGap(err error) bool {
	return errors.Is(err, ErrInvalid) && slices.ContainsFunc([]string{"left-recursive", "zero byte", "bytes", "repetition", "large", "long"},
		func(gap string) bool { return strings.Contains(err.Error(), gap) })
}

// checkType looks whether the grammar of a schema takes the begin of a text of another type than the schema's own.
func checkType(t *testing.T, m *Model, schema, grammar string) {
	t.Helper()
	var s map[string]any
	if json.Unmarshal([]byte(schema), &s) != nil {
		return
	}
	for _, other := range []string{"$ref", "oneOf", "anyOf", "allOf", "const", "enum"} { // which come before the type
		if _, ok := s[other]; ok {
			return
		}
	}
	begins := map[string]string{"object": "{", "array": "[", "string": `"`, "integer": "7", "number": "7", "boolean": "true", "null": "null"}
	kind, _ := s["type"].(string)
	if begins[kind] == "" {
		return
	}
	for other, begin := range begins {
		if begins[kind] == begin {
			continue
		}
		tokens, err := m.Tokenize(t.Context(), begin, TokenizeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		g, err := NewGrammar(m, grammar, "")
		if err != nil {
			t.Fatal(err)
		}
		fits := true
		for _, token := range tokens {
			ok, err := g.Accept(token)
			fits = fits && ok && err == nil
		}
		if fits {
			t.Errorf("a schema of type %s takes the begin of a text of type %s: %s", kind, other, grammar)
		}
		closing(t, g)
	}
}
