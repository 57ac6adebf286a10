// SPDX-License-Identifier: MIT

package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/plugin"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// mostValues bounds a schema. Compiling takes time in proportion to the square of its subschemas:
// a second for so many.
const mostValues = 10_000

// compileSchema compiles a manifest's schema; none is nil.
func compileSchema(raw json.RawMessage) (*jsonschema.Schema, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("%w: config_schema: %w", plugin.ErrManifest, err)
	}
	if size := sizeOf(document); size > mostValues {
		return nil, fmt.Errorf("%w: config_schema: it has %d values, where %d bytes of a text count as one; it may have %d", plugin.ErrManifest, size, bytesOfAStep, mostValues)
	}
	const name = "penstock:///config_schema"
	c := jsonschema.NewCompiler()
	x := expressions{left: mostInstructions, made: map[string]*expression{}}
	defer x.close()
	c.UseRegexpEngine(x.compile)
	c.UseLoader(noLoader{})
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource(name, document); err != nil {
		return nil, fmt.Errorf("%w: config_schema: %w", plugin.ErrManifest, err)
	}
	schema, err := c.Compile(name)
	var invalid *jsonschema.ValidationError
	if s := new(jsonschema.SchemaValidationError); errors.As(err, &s) && errors.As(s.Err, &invalid) {
		wrong := describeInvalid(invalid)
		return nil, fmt.Errorf("%w: config_schema%s: %s", plugin.ErrManifest, wrong.Field, wrong.Message)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: config_schema: %w", plugin.ErrManifest, err)
	}
	return schema, nil
}

// noLoader refuses references from a schema to files and addresses.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a reference to %s: a schema must be complete in itself", url)
}

// Schema is a compiled schema of configurations. It is safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema // nil: any object fits
	defaults bool               // it has some
}

// NewSchema compiles a schema as a manifest has it; none allows any object. The error wraps
// plugin.ErrManifest.
func NewSchema(raw json.RawMessage) (*Schema, error) {
	compiled, err := compileSchema(raw)
	if err != nil {
		return nil, err
	}
	defaults, err := checkDefaults(compiled)
	if err != nil {
		return nil, err
	}
	return &Schema{compiled, defaults}, nil
}

// CheckConfig checks the configuration of a request, a JSON object or nothing, against the
// plugin's schema. It returns it as the plugin sees it: with the schema's defaults. The error is a
// *plugin.ConfigError.
func (p *Plugin) CheckConfig(config []byte) ([]byte, error) { return p.schema.Check(config) }

// Check is Plugin.CheckConfig for a schema.
func (s *Schema) Check(config []byte) ([]byte, error) {
	if len(config) == 0 {
		config = []byte("{}")
	}
	if checkDepth(config) != nil {
		return nil, &plugin.ConfigError{Message: "it must be one JSON object that is not deeply nested"}
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(config))
	if _, ok := value.(map[string]any); err != nil || !ok {
		return nil, &plugin.ConfigError{Message: "it must be a JSON object"}
	}
	if s.compiled == nil {
		return config, nil
	}
	var invalid *jsonschema.ValidationError
	if err := (&budget{mostWork}).check(s.compiled, value); errors.As(err, &invalid) {
		return nil, s.describe(invalid)
	} else if err != nil {
		return nil, &plugin.ConfigError{Message: err.Error()}
	}
	if !s.defaults {
		return config, nil
	}
	if config, err = filled(config, value, s.compiled); err != nil {
		return nil, &plugin.ConfigError{Message: err.Error()}
	}
	return config, nil
}

// describeInvalid describes the first of the innermost causes, since outer ones only say that
// something within is wrong.
func describeInvalid(e *jsonschema.ValidationError) *plugin.ConfigError {
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	var field strings.Builder
	for _, part := range e.InstanceLocation {
		if _, err := strconv.Atoi(part); err == nil {
			field.WriteString("[" + part + "]")
		} else {
			field.WriteString("." + part)
		}
	}
	return &plugin.ConfigError{Field: field.String(), Message: e.ErrorKind.LocalizedString(message.NewPrinter(language.English))}
}

// describe is describeInvalid without the value of what is writeOnly: a secret, which errors and
// the log are not to have.
func (s *Schema) describe(e *jsonschema.ValidationError) *plugin.ConfigError {
	told := describeInvalid(e)
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	if left := mostLookedAt; isSecret(s.compiled, e.InstanceLocation, &left) {
		told.Message = "it does not fit the plugin's schema; it is writeOnly, so it is not shown here"
	}
	return told
}

// mostLookedAt bounds the schemas within schemas that isSecret looks at: they can refer to each
// other.
const mostLookedAt = 1000

// isSecret reports whether a schema says of the value at a place, or of what that is a part of,
// that it is writeOnly. Where too many say something about it, it counts as if one did.
func isSecret(s *jsonschema.Schema, at []string, left *int) bool {
	if *left--; s.WriteOnly || *left < 0 {
		return true
	}
	for _, also := range slices.Concat([]*jsonschema.Schema{s.Ref}, s.AllOf, s.AnyOf, s.OneOf) {
		if also != nil && isSecret(also, at, left) {
			return true
		}
	}
	if len(at) == 0 {
		return false
	}
	part, _ := s.AdditionalProperties.(*jsonschema.Schema)
	if n, err := strconv.Atoi(at[0]); err == nil && s.Items2020 != nil {
		if part = s.Items2020; n < len(s.PrefixItems) {
			part = s.PrefixItems[n]
		}
	}
	if named := s.Properties[at[0]]; named != nil {
		part = named
	}
	return part != nil && isSecret(part, at[1:], left)
}
