// SPDX-License-Identifier: MIT

package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// Of is the JSON schema of a Go value's type, as encoding/json writes it. What is a schema already,
// a json.RawMessage, stays as it is.
func Of(v any) (json.RawMessage, error) {
	if raw, is := v.(json.RawMessage); is {
		return raw, nil
	}
	if v == nil {
		return nil, errors.New("nil has no JSON schema")
	}
	schema, err := jsonschema.ForType(reflect.TypeOf(v), &jsonschema.ForOptions{})
	if err != nil {
		return nil, fmt.Errorf("the JSON schema of a %T: %w", v, err)
	}
	return json.Marshal(schema)
}
