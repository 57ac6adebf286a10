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

// format is what response_format says.
type format struct {
	schema json.RawMessage // that an answer must fit; nil: it is text
	in     string          // where it stands within response_format
	strict *bool           // nil: nothing is said
}

func formatOf(raw json.RawMessage) (f format, _ error) {
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
			return format{schema: completion.AnyObject}, nil
		}
		return format{schema: said.Schema, in: ".schema"}, nil
	case "json_schema":
		if said.JSONSchema == nil || len(said.JSONSchema.Schema) == 0 || string(said.JSONSchema.Schema) == "null" {
			return f, refusal.Invalid("response_format.json_schema.schema", "response_format.json_schema.schema is missing; response_format.type is json_schema")
		}
		return format{schema: said.JSONSchema.Schema, in: ".json_schema.schema", strict: said.JSONSchema.Strict}, nil
	}
	return f, refusal.Invalid("response_format.type", "response_format.type is %q; it must be text, json_object or json_schema", excerpt.Of(said.Type, 40))
}

// takeFormat gives a request the schema of response_format.
func (b *AnswerFields) takeFormat(r *completion.TextRequest) error {
	f, err := formatOf(b.ResponseFormat)
	if err != nil || f.schema == nil {
		return err
	}
	if f.strict != nil {
		r.Params.Schemas.Loose = !*f.strict
	}
	if b.FormatField != "" { // which has the schema one level higher
		return r.RequireSchema(f.schema, b.FormatField, b.FormatField+".schema")
	}
	return r.RequireSchema(f.schema, "response_format", "response_format"+f.in)
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

// takeStructuredOutputs gives a request the constraint of structured_outputs, which is vLLM's word
// for it.
func (b *AnswerFields) takeStructuredOutputs(r *completion.TextRequest) error {
	const field = "structured_outputs"
	if !completion.IsSet(b.StructuredOutputs) {
		return nil
	}
	var said struct {
		JSON          json.RawMessage `json:"json"`
		JSONObject    bool            `json:"json_object"`
		Regex         string          `json:"regex"`
		Choice        []string        `json:"choice"`
		Grammar       string          `json:"grammar"`
		StructuralTag json.RawMessage `json:"structural_tag"`
	}
	if err := json.Unmarshal(b.StructuredOutputs, &said); err != nil {
		return refusal.Invalid(field, `structured_outputs must be an object with json, json_object, regex, choice or grammar, such as {"choice": ["yes", "no"]}`)
	}
	if completion.IsSet(said.StructuralTag) {
		return refusal.Unsupported(field+".structural_tag", "structured_outputs.structural_tag is not supported by this server; write a grammar instead")
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
		return refusal.Invalid(field, "structured_outputs has %d of json, json_object, regex, choice and grammar; it must have one", given)
	case said.Choice != nil && len(said.Choice) == 0:
		return refusal.Invalid(field+".choice", "structured_outputs.choice is empty; it must have the texts that an answer may be")
	case schema != nil:
		return r.RequireSchema(schema, field, field+".json")
	case said.JSONObject:
		return r.RequireSchema(completion.AnyObject, field, field+".json_object")
	case r.Params.Constraint.IsSet():
		return refusal.Invalid(field, "%s and %s cannot be used together", field, r.Params.Constraint.Field())
	}
	r.Params.Grammar, r.Params.Regex, r.ConstraintField = grammarOf(said.Grammar), said.Regex, field+".regex"
	switch {
	case said.Grammar != "":
		r.ConstraintField = field + ".grammar"
	case said.Choice != nil:
		for i, text := range said.Choice {
			said.Choice[i] = regexp.QuoteMeta(text)
		}
		r.Params.Regex, r.ConstraintField = strings.Join(said.Choice, "|"), field+".choice"
	}
	return nil
}
