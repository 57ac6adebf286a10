// SPDX-License-Identifier: MIT

package completion

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/penstock/penstock/host/refusal"
)

// AnyObject is the schema of every JSON object. An empty schema would be no format to a chat
// template.
var AnyObject = json.RawMessage(`{"type":"object"}`)

// RequireSchema has the answers be JSON that a schema allows. The body asks for that with field,
// and has the schema in schemaField.
func (r *TextRequest) RequireSchema(text json.RawMessage, field, schemaField string) error {
	if r.Params.Constraint.IsSet() {
		return refusal.Invalid(field, "%s and %s cannot be used together", field, r.Params.Constraint.Field())
	}
	r.Params.JSONSchema, r.ConstraintField = text, schemaField
	return nil
}

// relax notes what of the schemas is not enforced. They are known to the engine already.
func (r *TextRequest) relax() error {
	all, err := r.Model.Engine.Relaxed(r.Params.Constraint)
	r.Relaxed = nil
	for _, part := range all {
		place := part.Pointer
		if part.More > 0 {
			r.Relaxed = append(r.Relaxed, part.Why)
			continue
		}
		if strings.HasPrefix(place, "#") { // it does not name its field
			place = cmp.Or(r.ConstraintField, "json_schema") + place
		}
		r.Relaxed = append(r.Relaxed, place+": "+part.Why)
	}
	return err
}
