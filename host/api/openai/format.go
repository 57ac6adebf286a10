// SPDX-License-Identifier: MIT

package openai

import (
	"encoding/json"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
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
