// SPDX-License-Identifier: MIT

package schematest

import (
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Fits tells what is wrong with a text that should be one JSON value that fits a schema.
func Fits(schema []byte, text string) error {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		return fmt.Errorf("the schema is no JSON: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		return err
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("%q is no JSON: %w\nschema %s", text, err, schema)
	}
	if err := compiled.Validate(value); err != nil {
		return fmt.Errorf("%q does not fit %s: %w", text, schema, err)
	}
	return nil
}
