// SPDX-License-Identifier: MIT

package sampling

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host/grammar/schema"
	"github.com/penstock/penstock/tools/must"
)

// read reads fields over base.
func read(t *testing.T, base Params, body string) (Params, error) {
	t.Helper()
	f := FieldsOf(base)
	must.Do(t, json.Unmarshal([]byte(body), &f))
	return f.Params(base, tenTokens{})
}

// tenTokens is a vocabulary of ten tokens.
type tenTokens struct{}

func (tenTokens) Size() int                        { return 10 }
func (tenTokens) Tokenize(string) ([]int32, error) { return []int32{1}, nil }

func TestFields_Params_Constraint(t *testing.T) {
	schema := json.RawMessage(`{"b": 1, "a": 2}`)
	base := Default()
	base.Constraint = Constraint{Grammar: "old", GrammarLazy: true, GrammarTriggers: []Trigger{{Kind: TriggerWord, Value: "w"}}}
	for body, want := range map[string]Constraint{
		`{}`:                                base.Constraint,
		`{"json_schema": null}`:             base.Constraint,
		`{"grammar": "new"}`:                {Grammar: "new"},
		`{"grammar": ""}`:                   {},
		`{"json_schema": {"b": 1, "a": 2}}`: {JSONSchema: schema},
		`{"json_schema": {"b": 1, "a": 2}, "grammar": ""}`: {JSONSchema: schema},
		`{"regex": "a+"}`: {Regex: "a+"},
		`{"grammar": "new", "grammar_type": "tool_calls"}`:         {Grammar: "new", GrammarOfFormat: true},
		`{"grammar_triggers": [{"type": 2, "value": "x"}]}`:        {Grammar: "old", GrammarLazy: true, GrammarTriggers: []Trigger{{Kind: TriggerPattern, Value: "x"}}},
		`{"grammar_lazy": false, "grammar_triggers": []}`:          {Grammar: "old", GrammarTriggers: []Trigger{}},
		`{"grammar_triggers": [{"type": 0, "token": 5}]}`:          {Grammar: "old", GrammarLazy: true, GrammarTriggers: []Trigger{{Token: 5}}},
		`{"grammar_triggers": [{"type":3,"value":"x","token":5}]}`: {Grammar: "old", GrammarLazy: true, GrammarTriggers: []Trigger{{Kind: TriggerPatternFull, Value: "x"}}},
	} {
		p, err := read(t, base, body)
		if diff := cmp.Diff(want, p.Constraint); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", body, err, diff)
		}
	}
}

func TestFields_Params_BadConstraint(t *testing.T) {
	for body, field := range map[string]string{
		`{"grammar": "a", "json_schema": {}}`:                                               "json_schema",
		`{"grammar": "a", "regex": "b"}`:                                                    "regex",
		`{"json_schema": true, "regex": "b"}`:                                               "regex",
		`{"grammar": "a", "grammar_lazy": true}`:                                            "grammar_triggers",
		`{"grammar_triggers": 5}`:                                                           "grammar_triggers",
		`{"grammar_triggers": [5]}`:                                                         "grammar_triggers",
		`{"grammar_triggers": [{"value": "x"}]}`:                                            "grammar_triggers",
		`{"grammar_triggers": [{"type": 4, "value": "x"}]}`:                                 "grammar_triggers",
		`{"grammar_triggers": [{"type": 0}]}`:                                               "grammar_triggers",
		`{"grammar_triggers": [{"type": 0, "token": 10}]}`:                                  "grammar_triggers[0].token",
		`{"grammar_triggers": [{"type": 1, "value": "a"}, {"type": 1, "value": ""}]}`:       "grammar_triggers[1].value",
		`{"grammar_triggers": [{"type": 2, "value": "` + strings.Repeat("a", 5000) + `"}]}`: "grammar_triggers[0].value",
		`{"grammar_triggers": [` + strings.Repeat(`{"type": 0, "token": 1},`, 1024) + `{"type": 0, "token": 1}]}`: "grammar_triggers",
		`{"preserved_tokens": [` + strings.Repeat(`"a",`, 1024) + `"a"]}`:                                         "preserved_tokens",
		`{"reasoning_budget_tokens": -2}`:                                     "reasoning_budget_tokens",
		`{"thinking_budget_tokens": 3000000000}`:                              "thinking_budget_tokens",
		`{"reasoning_budget_end_tags": "x"}`:                                  "reasoning_budget_end_tags",
		`{"reasoning_budget_end_tags": [""]}`:                                 "reasoning_budget_end_tags",
		`{"reasoning_budget_start_tag": "` + strings.Repeat("a", 2000) + `"}`: "reasoning_budget_start_tag",
		`{"reasoning_budget_message": "` + strings.Repeat("a", 20000) + `"}`:  "reasoning_budget_message",
	} {
		_, err := read(t, Default(), body)
		var invalid *Invalid
		if !errors.As(err, &invalid) || invalid.Field != field || !strings.Contains(err.Error(), strings.TrimSuffix(field, "[0].token")) {
			t.Errorf("%.80s: got %v, want it to name %s", body, err, field)
		}
	}
}

func TestFields_Params_Thinking(t *testing.T) {
	base := Default()
	base.Thinking = Thinking{Budget: -1, StartTag: "<think>", EndTags: []string{"</think>"}}
	for body, want := range map[string]Thinking{
		`{}`:                            base.Thinking,
		`{"thinking_budget_tokens": 5}`: {5, "<think>", []string{"</think>"}, ""},
		`{"reasoning_budget_tokens": 6, "thinking_budget_tokens": 5, "reasoning_budget_message": "Enough."}`: {6, "<think>", []string{"</think>"}, "Enough."},
		`{"reasoning_budget_start_tag": "a", "reasoning_budget_end_tag": "b"}`:                               {-1, "a", []string{"b"}, ""},
		`{"reasoning_budget_end_tag": "b", "reasoning_budget_end_tags": ["c", "d"]}`:                         {-1, "<think>", []string{"c", "d"}, ""},
	} {
		p, err := read(t, base, body)
		if diff := cmp.Diff(want, p.Thinking); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", body, err, diff)
		}
	}
}

func FuzzTrigger_UnmarshalJSON(f *testing.F) {
	f.Add(`{"type": 0, "token": 5, "value": "x"}`)
	f.Add(`{"type": 3, "value": "^a$"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var once, again Trigger
		if json.Unmarshal([]byte(text), &once) != nil {
			return
		}
		raw, err := json.Marshal(once)
		if err != nil || json.Unmarshal(raw, &again) != nil || once != again {
			t.Errorf("%s became %s, %v", text, raw, err)
		}
	})
}

// What a request says of how schemas are read replaces what its base says, member by member, and
// outlives another constraint.
func TestFields_Params_SchemaOptions(t *testing.T) {
	base := Default()
	base.Schemas = schema.Options{Order: schema.AnyOrder, Closed: true}
	for body, want := range map[string]schema.Options{
		`{}`:                              base.Schemas,
		`{"grammar": "root ::= \"a\""}`:   base.Schemas,
		`{"property_order": null}`:        base.Schemas,
		`{"property_order": "schema"}`:    {Order: schema.SchemaOrder, Closed: true},
		`{"property_order": "auto"}`:      {Closed: true},
		`{"additional_properties": true}`: {Order: schema.AnyOrder},
		`{"white_space": "compact"}`:      {Order: schema.AnyOrder, Closed: true, Compact: true},
		`{"strict": false}`:               {Order: schema.AnyOrder, Closed: true, Loose: true},
	} {
		p, err := read(t, base, body)
		if diff := cmp.Diff(want, p.Schemas); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", body, err, diff)
		}
	}
	for body, field := range map[string]string{`{"property_order": "sideways"}`: "property_order", `{"white_space": ""}`: "white_space"} {
		var refused *Invalid
		if _, err := read(t, base, body); !errors.As(err, &refused) || refused.Field != field {
			t.Errorf("%s: %v", body, err)
		}
	}
}
