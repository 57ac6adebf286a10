// SPDX-License-Identifier: MIT

package config

import (
	"strings"

	"github.com/penstock/penstock/host/sampling"
)

// schemaKeys are the section schema: how JSON schemas are read, by the names of a request.
var schemaKeys = []Key{
	{Name: "schema.property_order", Flag: "schema-property-order", Kind: Text, Default: "auto", check: oneOf(sampling.Orders...),
		Allowed: strings.Join(sampling.Orders[:2], ", ") + " or " + sampling.Orders[2],
		Help:    "order of an object's members: as the schema lists them, any, or auto: as it lists them where it forbids others, else any, but members of which it says nothing only after those that it requires"},
	{Name: "schema.additional_properties", Flag: "schema-additional-properties", Kind: Switch, Default: true,
		Allowed: "true or false", Help: "objects may have members that their schema does not list, unless it forbids them; false: only where it says so"},
	{Name: "schema.white_space", Flag: "schema-white-space", Kind: Text, Default: "free", check: oneOf(sampling.Spacings...),
		Allowed: strings.Join(sampling.Spacings, " or "), Help: "white space between the parts of JSON: free within a bound, or compact: none"},
}
