// SPDX-License-Identifier: MIT

package examples

import (
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/schematest"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/scheduler"
)

// Reasons for which a schema of the suite may be refused. Each names its place and what is not supported there.
var refusals = regexp.MustCompile(`config.schema: .*("(\$id|\$dynamicRef|not|patternProperties|contains|unevaluated\w+|\$vocabulary|dependent\w+|uniqueItems|else|if|then|m..Properties|propertyNames)" is not supported|` +
	`\$ref ".*" leads nowhere|alternatives \d and \d may fit the same value|leaves no number|refers to itself at once)|no finite value fits`)

// prompt is the one that write has.
var prompt = []scheduler.Token{1, 2, 3}

// TestJSONSchema_Suite_IsObeyed writes answers to each schema of the JSON Schema Test Suite, which must fit. Of its own values,
// those that fit may be written, and no others.
func TestJSONSchema_Suite_IsObeyed(t *testing.T) {
	w := newWords()
	m := loaded(t, "json-schema", w)
	groups, err := schematest.Suite()
	if err != nil {
		t.Fatal(err)
	}
	obeyed, values, refused := 0, 0, map[string]int{}
	for _, g := range groups {
		schema := spelledOut(t, g.Schema)
		s, err := stage.New(m, plugin.Request{Config: []byte(`{"schema":` + string(schema) + `}`), MaxTokens: 400, ContextSize: 4096})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Reset(prompt, len(prompt)) // opens it
		var refusal *plugin.Refusal
		if errors.As(err, &refusal) {
			reason := refusals.FindString(refusal.Message)
			if reason == "" {
				t.Errorf("%s, %s: %v", g.File, g.Description, refusal)
			}
			refused[reason]++
			mustHaveNone(t, g, reason)
			_ = s.Close() // it has nothing that could be closed badly
			continue
		}
		if err != nil {
			t.Fatalf("%s, %s: %v", g.File, g.Description, err)
		}
		obeyed++
		for _, c := range g.Tests {
			texts, err := schematest.Texts(c.Data)
			if err != nil {
				t.Fatal(err)
			}
			if got := anyAllowed(t, s, texts); got != c.Valid && !beyond(texts[0]) {
				t.Errorf("%s, %s, %s: %s may be written: %t\nschema %s", g.File, g.Description, c.Description, texts[0], got, schema)
			}
			values++
		}
		for seed := range uint64(5) {
			if text, err := write(s, w, 400, rand.New(rand.NewPCG(seed, 4)), func(string) {}); err != nil {
				t.Errorf("%s, %s: %v", g.File, g.Description, err)
			} else if err := schematest.Fits(g.Schema, text); err != nil {
				t.Errorf("%s, %s: %v", g.File, g.Description, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d schemas of %d, %d values; refused: %v", obeyed, len(groups), values, refused)
	if obeyed < 100 || values < 300 {
		t.Errorf("only %d schemas and %d values were looked at", obeyed, values)
	}
}

// mustHaveNone wants a schema that is refused because nothing fits it to have no value that fits.
func mustHaveNone(t *testing.T, g schematest.Group, reason string) {
	t.Helper()
	for _, c := range g.Tests {
		if c.Valid && strings.HasPrefix(reason, "no finite") {
			t.Errorf("%s, %s: %s fits, but: %s", g.File, g.Description, c.Data, reason)
		}
	}
}

// beyond tells of numbers with more digits than the plugin writes.
func beyond(text string) bool {
	return regexp.MustCompile(`\d{16}|e\+?\d{2}`).MatchString(text)
}

// anyAllowed tells whether a stage lets one of the texts be written, byte by byte, and lets it end there.
func anyAllowed(t *testing.T, s *stage.Stage, texts []string) bool {
	t.Helper()
	for _, text := range texts {
		if allowed(t, s, text) {
			return true
		}
	}
	return false
}

func allowed(t *testing.T, s *stage.Stage, text string) bool {
	t.Helper()
	if err := s.Reset(prompt, len(prompt)); err != nil {
		t.Fatal(err)
	}
	has := func(token int) bool {
		p, err := s.Prepare()
		if err != nil {
			t.Fatal(err)
		}
		return p.Mask[token/32]>>(token%32)&1 == 1
	}
	for i, b := range []byte(text) {
		if !has(int(b)) {
			return false
		}
		effect, err := s.Accept(scheduler.Token(b))
		if err != nil {
			t.Fatal(err)
		}
		if effect.Stop {
			return i == len(text)-1
		}
	}
	return has(len(newWords()) - 1)
}

// spelledOut writes into a schema what it says without words, and the plugin takes otherwise: where type and additionalProperties
// are missing, there is no restriction.
func spelledOut(t *testing.T, schema []byte) []byte {
	t.Helper()
	var value any
	if err := json.Unmarshal(schema, &value); err != nil {
		t.Fatal(err)
	}
	return mustJSON(t, explicit(value))
}

func explicit(schema any) any {
	object, is := schema.(map[string]any)
	if !is {
		return schema
	}
	all := maps.Clone(object)
	for _, name := range []string{"items", "additionalProperties"} {
		if inner, has := all[name]; has {
			all[name] = explicit(inner)
		}
	}
	for _, name := range []string{"properties", "$defs"} {
		if members, is := all[name].(map[string]any); is {
			named := map[string]any{}
			for n, inner := range members {
				named[n] = explicit(inner)
			}
			all[name] = named
		}
	}
	for _, name := range []string{"allOf", "anyOf", "oneOf", "prefixItems"} {
		if list, is := all[name].([]any); is {
			alike := []any{}
			for _, inner := range list {
				alike = append(alike, explicit(inner))
			}
			all[name] = alike
		}
	}
	for name, missing := range map[string]any{
		"type": []any{"string", "number", "boolean", "null", "array", "object"}, "additionalProperties": true,
	} {
		if _, has := all[name]; !has {
			all[name] = missing
		}
	}
	return all
}
