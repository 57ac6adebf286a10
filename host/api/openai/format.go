// SPDX-License-Identifier: MIT

package openai

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/grammar/lark"
	"github.com/penstock/penstock/host/refusal"
)

// format is what an answer must look like: response_format and structured_outputs say it.
func (b *AnswerFields) format() (completion.Format, error) {
	f, err := formatOf(b.ResponseFormat)
	if err != nil {
		return f, err
	}
	other, err := outputsOf(b.StructuredOutputs)
	switch {
	case err != nil || f.Field == "":
		return other, err
	case other.Field != "":
		return f, refusal.Invalid(other.Field, "%s and json_schema cannot be used together", other.Field)
	}
	return f, nil
}

// formatOf is what response_format says; without a Field where it says nothing.
func formatOf(raw json.RawMessage) (f completion.Format, _ error) {
	const field = "response_format"
	if !completion.IsSet(raw) {
		return f, nil
	}
	var said struct {
		Type       string          `json:"type"`
		Schema     json.RawMessage `json:"schema"` // of a json_object, llama-server's addition
		JSONSchema *struct {
			Schema json.RawMessage `json:"schema"`
			Strict *bool           `json:"strict"`
		} `json:"json_schema"`
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		return f, refusal.Invalid("response_format", `response_format must be an object such as {"type": "json_schema", "json_schema": {"schema": …}}`)
	}
	switch said.Type {
	case "text":
		return f, nil
	case "json_object":
		if len(said.Schema) == 0 || string(said.Schema) == "null" {
			return completion.Format{Field: field, JSONSchema: completion.AnyObject}, nil
		}
		return completion.Format{Field: field, JSONSchema: said.Schema, In: ".schema"}, nil
	case "json_schema":
		if said.JSONSchema == nil || len(said.JSONSchema.Schema) == 0 || string(said.JSONSchema.Schema) == "null" {
			return f, refusal.Invalid("response_format.json_schema.schema", "response_format.json_schema.schema is missing; response_format.type is json_schema")
		}
		return completion.Format{Field: field, JSONSchema: said.JSONSchema.Schema, In: ".json_schema.schema", Strict: said.JSONSchema.Strict}, nil
	}
	return f, refusal.Invalid("response_format.type", "response_format.type is %q; it must be text, json_object or json_schema", excerpt.Of(said.Type, 40))
}

// gbnfRule is the beginning of a rule in GBNF or a notation like it. In Lark's it may stand in a
// text or a comment alone.
var gbnfRule = regexp.MustCompile(`(?m)^[^"'/#\n]*::=`)

// grammarOf is a grammar of structured_outputs as Constraint has it. As with vLLM, what has no rule
// in GBNF is in Lark's notation.
func grammarOf(text string) string {
	if text == "" || lark.Is(text) || gbnfRule.MatchString(text) {
		return text
	}
	return lark.Prefix + " {} " + text
}

// outputsOf is what structured_outputs says, which is vLLM's word; without a Field where it says
// nothing.
func outputsOf(raw json.RawMessage) (f completion.Format, _ error) {
	const field = "structured_outputs"
	if !completion.IsSet(raw) {
		return f, nil
	}
	var said struct {
		JSON          json.RawMessage `json:"json"`
		JSONObject    bool            `json:"json_object"`
		Regex         string          `json:"regex"`
		Choice        []string        `json:"choice"`
		Grammar       string          `json:"grammar"`
		StructuralTag json.RawMessage `json:"structural_tag"`
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		return f, refusal.Invalid(field, `structured_outputs must be an object with json, json_object, regex, choice or grammar, such as {"choice": ["yes", "no"]}`)
	}
	if completion.IsSet(said.StructuralTag) {
		return f, refusal.Unsupported(field+".structural_tag", "structured_outputs.structural_tag is not supported by this server; write a grammar instead")
	}
	schema := said.JSON
	var text string
	switch {
	case len(schema) == 0 || string(schema) == "null":
		schema = nil
	case json.Unmarshal(schema, &text) == nil: // vLLM takes it as a text as well
		schema = json.RawMessage(text)
	}
	given := 0
	for _, is := range []bool{schema != nil, said.JSONObject, said.Regex != "", said.Choice != nil, said.Grammar != ""} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return f, refusal.Invalid(field, "structured_outputs has %d of json, json_object, regex, choice and grammar; it must have one", given)
	case said.Choice != nil && len(said.Choice) == 0:
		return f, refusal.Invalid(field+".choice", "structured_outputs.choice is empty; it must have the texts that an answer may be")
	}
	f.Field = field
	switch {
	case schema != nil:
		f.JSONSchema, f.In = schema, ".json"
	case said.JSONObject:
		f.JSONSchema, f.In = completion.AnyObject, ".json_object"
	case said.Grammar != "":
		f.Grammar, f.In = grammarOf(said.Grammar), ".grammar"
	case said.Choice != nil:
		for i, text := range said.Choice {
			said.Choice[i] = regexp.QuoteMeta(text)
		}
		f.Regex, f.In = strings.Join(said.Choice, "|"), ".choice"
	default:
		f.Regex, f.In = said.Regex, ".regex"
	}
	return f, nil
}
