// SPDX-License-Identifier: MIT

package openai

import (
	"cmp"
	"encoding/json"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/refusal"
)

// schemaOf reads response_format: the JSON schema that an answer must fit; nil: it is text.
func schemaOf(raw json.RawMessage) (json.RawMessage, error) {
	if !completion.IsSet(raw) {
		return nil, nil
	}
	var format struct {
		Type       string          `json:"type"`
		Schema     json.RawMessage `json:"schema"` // of a json_object, llama-server's addition
		JSONSchema *struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	if err := json.Unmarshal(raw, &format); err != nil {
		return nil, refusal.Invalid("response_format", `response_format must be an object such as {"type": "json_schema", "json_schema": {"schema": …}}`)
	}
	switch format.Type {
	case "text":
		return nil, nil
	case "json_object":
		if len(format.Schema) == 0 || string(format.Schema) == "null" {
			return completion.AnyObject, nil
		}
		return format.Schema, nil
	case "json_schema":
		if format.JSONSchema == nil || len(format.JSONSchema.Schema) == 0 || string(format.JSONSchema.Schema) == "null" {
			return nil, refusal.Invalid("response_format.json_schema.schema", "response_format.json_schema.schema is missing; response_format.type is json_schema")
		}
		return format.JSONSchema.Schema, nil
	}
	return nil, refusal.Invalid("response_format.type", "response_format.type is %q; it must be text, json_object or json_schema", excerpt.Of(format.Type, 40))
}

// takeFormat gives a request the schema of response_format.
func (b *Common) takeFormat(r *completion.Request) error {
	schema, err := schemaOf(b.ResponseFormat)
	if err != nil || schema == nil {
		return err
	}
	field := cmp.Or(b.FormatField, "response_format")
	return r.RequireSchema(schema, field, field)
}
