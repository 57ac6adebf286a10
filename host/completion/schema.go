// SPDX-License-Identifier: MIT

package completion

import (
	"encoding/json"

	"github.com/penstock/penstock/host/refusal"
)

// AnyObject is the schema of every JSON object. An empty schema would be no format to a chat template.
var AnyObject = json.RawMessage(`{"type":"object"}`)

// RequireSchema has the answers be JSON that a schema allows. The body asks for that with field, and has the schema in schemaField.
func (r *Request) RequireSchema(schema json.RawMessage, field, schemaField string) error {
	if r.Params.Constraint.IsSet() {
		return refusal.Invalid(field, "%s and %s cannot be used together", field, r.Params.Constraint.Field())
	}
	r.Params.JSONSchema, r.SchemaField = schema, schemaField
	return nil
}
