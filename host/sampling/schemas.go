// SPDX-License-Identifier: MIT

package sampling

import (
	"slices"
	"strings"

	"github.com/penstock/penstock/host/grammar/schema"
)

// Orders are what property_order may be.
var Orders = []string{"auto", "schema", "any"}

// orders are those, by their names.
var orders = map[string]schema.Order{"auto": schema.ByKind, "schema": schema.SchemaOrder, "any": schema.AnyOrder}

// Spacings are what white_space may be: some that many people write, or none.
var Spacings = []string{"free", "compact"}

// SchemaOptions are how schemas are read by the words of a request.
func SchemaOptions(order string, additional bool, spacing string) schema.Options {
	return schema.Options{Order: orders[order], Closed: !additional, Compact: spacing == "compact"}
}

// schemaFields are how JSON schemas are read, as it stands in a JSON object. What the object
// leaves out keeps its value.
type schemaFields struct {
	PropertyOrder        *string `json:"property_order"`
	AdditionalProperties *bool   `json:"additional_properties"` // false: members are only those that properties lists, where a schema says nothing of others
	WhiteSpace           *string `json:"white_space"`
	Strict               *bool   `json:"strict"` // false: what of a schema cannot be enforced is left out
}

func (f schemaFields) options(base schema.Options) (schema.Options, error) {
	o := base
	if f.PropertyOrder != nil {
		if !slices.Contains(Orders, *f.PropertyOrder) {
			return o, invalid("property_order", *f.PropertyOrder, oneOf(Orders))
		}
		o.Order = orders[*f.PropertyOrder]
	}
	if f.AdditionalProperties != nil {
		o.Closed = !*f.AdditionalProperties
	}
	if f.WhiteSpace != nil {
		if !slices.Contains(Spacings, *f.WhiteSpace) {
			return o, invalid("white_space", *f.WhiteSpace, oneOf(Spacings))
		}
		o.Compact = *f.WhiteSpace == "compact"
	}
	if f.Strict != nil {
		o.Loose = !*f.Strict
	}
	return o, nil
}

func oneOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
