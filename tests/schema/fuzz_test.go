// SPDX-License-Identifier: MIT

package schema

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lexeme"
	"github.com/penstock/penstock/host/grammar/schema"
)

// Any text is read as a schema or refused, with a place where it is JSON. What a schema allows is
// JSON of its type.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"type":"integer","minimum":-3,"maximum":120}},"required":["a"]}`, `{"enum":["a",1,null]}`,
		`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"const":3}]}}}`, `{"$ref":"#"}`,
		`{"type":"array","items":{"type":"string","pattern":"^[a-z]{2,5}(x|y)*$"},"minItems":1,"maxItems":9}`, `{"type":["string","null"],"format":"date-time"}`,
		`{"type":"object","additionalProperties":{"type":"number"},"properties":{"a":{},"b":{},"c":true}}`, `{"oneOf":[]}`, `[{}]`,
	} {
		f.Add(seed)
	}
	pieces, v := walkVocabulary()
	f.Fuzz(func(t *testing.T, document string) {
		g, err := read(json.RawMessage(document), schema.Options{})
		var refused *schema.Error
		if errors.As(err, &refused) {
			if !strings.HasPrefix(refused.Pointer, "#") {
				t.Errorf("%q: the place is %q", document, refused.Pointer)
			}
			return
		}
		if !json.Valid([]byte(document)) && err != nil || errors.Is(err, grammar.ErrVoid) || errors.Is(err, grammar.ErrAmbiguous) || errors.Is(err, lexeme.ErrTooMuch) {
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", document, err)
		}
		if n, err := g.Shortest(g.Start()); err != nil || n > 200 {
			return // to write it takes too long here
		}
		text, ok := walk(t, rand.New(rand.NewPCG(1, uint64(len(document)))), g, pieces, v, []byte(document))
		if !ok {
			return
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("%s\nallows %q, which is no JSON", document, text)
		}
		if types := typesOf(document); types != nil && !slices.Contains(types, typeOf(text)) {
			t.Fatalf("%s\nallows %q, which is no %v", document, text, types)
		}
	})
}

// typesOf are those that the first level of a schema names; nil where it names none, or something
// may stand in their place.
func typesOf(document string) (types []string) {
	var s map[string]json.RawMessage
	if json.Unmarshal([]byte(document), &s) != nil || s["$ref"] != nil {
		return nil
	}
	var one string
	if json.Unmarshal(s["type"], &one) == nil {
		types = []string{one}
	} else if json.Unmarshal(s["type"], &types) != nil {
		return nil
	}
	if slices.Contains(types, "integer") {
		types = append(types, "number")
	}
	return types
}

func typeOf(text string) string {
	switch text = strings.TrimSpace(text); text[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}
