// SPDX-License-Identifier: MIT

package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/schema"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// endToken ends an answer.
const endToken = 0

// walkVocabulary has a token for each byte, and tokens that go over several lexemes, end within
// characters and escape.
func walkVocabulary() ([][]byte, *grammar.Vocabulary) {
	pieces := [][]byte{[]byte("</s>")}
	for b := range 256 {
		pieces = append(pieces, []byte{byte(b)})
	}
	for _, text := range []string{
		`{"`, `":`, `": "`, `",`, `", "`, `"}`, `"]`, `[{"`, `}]`, `},`, `":[`, `, `, `: `, "true", "false", "null", "tr", `\"`, `\n`, `\u00`, `\u00e9`, `\\`, "é", "日本", "\xe6\x97", "na", "name", `name":`,
		`"age`, "kind", `kind 1`, "12", "00", "0.", ".5", "-1", "e1", "2024-", "-02-29", "T12:", ":00Z", "http://", ".com", "@a.", "127.0.0.1", "::1", "ab", "abc", "  ", "\n ", `x-1":`, `"a"`, `1,`, `"size":`,
	} {
		pieces = append(pieces, []byte(text))
	}
	return pieces, grammar.NewVocabulary(pieces, []int32{endToken}, nil)
}

// validator is another implementation of the standard.
func validator(t *testing.T, document json.RawMessage) *jsonschema.Schema {
	t.Helper()
	doc := must.Get(jsonschema.UnmarshalJSON(strings.NewReader(string(document))))(t)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	asURIs(c)
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatalf("%s: %v", document, err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatalf("%s: %v", document, err)
	}
	return compiled
}

// fits is what the other implementation says of a text.
func fits(v *jsonschema.Schema, text string) error {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("it is no JSON: %w", err)
	}
	if !jsontext.Value(text).IsValid() {
		return errors.New("a name comes twice")
	}
	return v.Validate(value)
}

// walk writes a random text of a grammar, over masks: each token of a mask fits, and after a while
// the text gets shorter. It is false where the schema has so many alternatives that following the
// text takes too long, or where what is left of it is too long.
func walk(t *testing.T, r *rand.Rand, g *grammar.Grammar, pieces [][]byte, v *grammar.Vocabulary, document []byte) (string, bool) {
	t.Helper()
	mask := make([]uint32, v.Words())
	var text []byte
	s := g.Start()
	for steps := 0; ; steps++ {
		clear(mask)
		if err := g.Mask(s, v, mask); errors.Is(err, grammar.ErrAmbiguous) || steps > 500 {
			return "", false
		} else if err != nil {
			t.Fatalf("%s\nafter %q: %v", document, text, err)
		}
		var set []int32
		for token := range int32(v.Len()) {
			if mask[token/32]>>(token%32)&1 == 1 {
				set = append(set, token)
			}
		}
		if len(set) == 0 {
			t.Fatalf("%s\nafter %q no token fits", document, text)
		}
		if g.Complete(s) != slices.Contains(set, endToken) {
			t.Fatalf("%s\n%q may end: %v, the mask says otherwise", document, text, g.Complete(s))
		}
		token := set[r.IntN(len(set))]
		if steps > 60 {
			token = shortening(t, g, s, v, set)
		}
		if token == endToken {
			return string(text), true
		}
		next, ok, err := g.Token(s, v, token)
		if err != nil || !ok {
			t.Fatalf("%s\nafter %q the mask has %q, which does not fit: %v", document, text, pieces[token], err)
		}
		checkAbsent(t, r, g, s, v, mask, pieces, text)
		s, text = next, append(text, pieces[token]...)
	}
}

// shortening is the token after which the least is left to write.
func shortening(t *testing.T, g *grammar.Grammar, s grammar.State, v *grammar.Vocabulary, set []int32) int32 {
	t.Helper()
	if g.Complete(s) {
		return endToken
	}
	best, least := set[0], 1<<60
	for _, token := range set {
		next, ok, err := g.Token(s, v, token)
		if err != nil || !ok {
			t.Fatalf("token %d is in the mask, and does not fit: %v", token, err)
		}
		n := must.Get(g.Shortest(next))(t)
		if n < least {
			best, least = token, n
		}
	}
	return best
}

// checkAbsent looks whether a token that a mask does not have fits.
func checkAbsent(t *testing.T, r *rand.Rand, g *grammar.Grammar, s grammar.State, v *grammar.Vocabulary, mask []uint32, pieces [][]byte, text []byte) {
	t.Helper()
	token := int32(1 + r.IntN(len(pieces)-1))
	if mask[token/32]>>(token%32)&1 == 1 {
		return
	}
	if _, ok, err := g.Token(s, v, token); ok || err != nil {
		t.Fatalf("after %q the mask does not have %q, which fits (%v)", text, pieces[token], err)
	}
}

// TestRead_WalksFit walks over masks of random schemas: another implementation has to take each
// text, and of texts that differ a little from it, those that it takes, and no others, have to be
// possible.
func TestRead_WalksFit(t *testing.T) {
	r := steadytest.Rand(t)
	pieces, v := walkVocabulary()
	refused, tooLong, walks, near := 0, 0, 0, map[bool]int{}
	const schemas = 400
	for range schemas {
		document := must.Get(json.Marshal(randomSchema(r, 3)))(t)
		g, err := read(document, schema.Options{})
		if err != nil {
			refused++
			t.Logf("refused: %v\n%s", err, document)
			continue
		}
		free, err := read(document, schema.Options{Order: schema.AnyOrder})
		if err != nil {
			refused++
			t.Logf("refused in any order: %v\n%s", err, document)
			continue
		}
		other := validator(t, document)
		for range 4 {
			text, ok := walk(t, r, g, pieces, v, document)
			if !ok {
				tooLong++
				t.Logf("too ambiguous: %s", document)
				continue
			}
			walks++
			if err := fits(other, text); err != nil {
				t.Fatalf("%s\nallows %q: %v", document, text, err)
			}
			if !possible(t, g, text) {
				t.Fatalf("%s\n%q was walked, and is not possible", document, text)
			}
			changed, ok := change(r, text)
			if !ok {
				continue
			}
			want := fits(other, changed) == nil
			near[want]++
			all := spellings(t, json.RawMessage(changed))
			if !want && slices.ContainsFunc(all, func(text string) bool { return possible(t, g, text) }) {
				t.Fatalf("%s\n%s is possible", document, changed)
			}
			got := slices.ContainsFunc(all, func(text string) bool { return possible(t, free, text) })
			if got != want && !(want && narrower(document)) {
				t.Fatalf("%s\n%s is possible in any order: %v, want %v", document, changed, got, want)
			}
		}
	}
	t.Logf("%d schemas refused, %d walks, %d too ambiguous, changed texts that fit and do not: %v", refused, walks, tooLong, near)
	if refused > schemas/4 || tooLong > walks/50 || walks < schemas || near[true] < schemas/20 || near[false] < schemas/20 {
		t.Error("too little was tested")
	}
}

// narrower reports whether a schema has a format of which the engine takes less than the standard.
func narrower(document []byte) bool {
	return strings.Contains(string(document), `"format"`)
}

// change changes a value, a name or an item of a text; false where the result is no JSON.
func change(r *rand.Rand, text string) (string, bool) {
	var value any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return "", false
	}
	changed, err := json.Marshal(changed(r, value))
	return string(changed), err == nil && json.Valid(changed)
}

func changed(r *rand.Rand, value any) any {
	switch v := value.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		if len(keys) == 0 || r.IntN(4) == 0 {
			v[names[r.IntN(len(names))]] = scalar(r)
			return v
		}
		key := keys[r.IntN(len(keys))]
		if r.IntN(3) == 0 {
			delete(v, key)
			return v
		}
		v[key] = changed(r, v[key])
		return v
	case []any:
		if len(v) == 0 || r.IntN(4) == 0 {
			return append(v, scalar(r))
		}
		at := r.IntN(len(v))
		switch r.IntN(4) {
		case 0:
			return slices.Delete(v, at, at+1)
		case 1:
			return append(v, v[at])
		}
		v[at] = changed(r, v[at])
		return v
	case string:
		letters := []rune(v)
		if len(letters) > 0 && r.IntN(2) == 0 {
			at := r.IntN(len(letters))
			return string(slices.Delete(letters, at, at+1))
		}
		return string(append(letters, []rune(`a0é"`)[r.IntN(4)]))
	case json.Number:
		if n, err := v.Float64(); err == nil && n < 1e15 && n > -1e15 {
			return n + []float64{1, -1, 0.5, 10, -100}[r.IntN(5)]
		}
	}
	return scalar(r)
}

func scalar(r *rand.Rand) any {
	return []any{"a", "", 1, 0.5, -3, true, nil, []any{}, map[string]any{}, "reddish", 100}[r.IntN(11)]
}
