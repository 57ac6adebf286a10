// SPDX-License-Identifier: MIT

package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/penstock/penstock/host/plugin"
)

// mostValues bounds a schema. Compiling takes time in proportion to the square of its subschemas: a
// second for this many.
const mostValues = 10_000

// compileSchema compiles a manifest's schema; nil: it has none.
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
	defaults bool               // it has defaults
}

// NewSchema compiles a manifest's schema. An empty one allows any object. The error wraps
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

// CheckConfig checks the configuration of a request, a JSON object or nothing, against the plugin's
// schema. It returns the configuration with the schema's defaults, as the plugin sees it. The error
// is a *plugin.ConfigError.
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
		return nil, s.describeMisfit(invalid)
	} else if err != nil {
		return nil, &plugin.ConfigError{Message: err.Error()}
	}
	if !s.defaults {
		return config, nil
	}
	if config, err = fillConfig(config, value, s.compiled); err != nil {
		return nil, &plugin.ConfigError{Message: err.Error()}
	}
	return config, nil
}

// describeInvalid describes the first innermost cause, since outer ones only say that an inner part
// is wrong.
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

// describeMisfit is describeInvalid without the value of what is writeOnly: a secret, which errors
// and the log are not to have.
func (s *Schema) describeMisfit(e *jsonschema.ValidationError) *plugin.ConfigError {
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

// isSecret reports whether a schema marks the value at a path, or a value around it, as writeOnly.
// If more schemas than mostLookedAt are involved, it counts as secret.
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

// mostSteps bounds the work of filling in one configuration, since a schema's defaults may be
// nested in each other, even without end. A step is a schema to look at, a value, or some bytes of
// a text.
const (
	mostSteps    = 250_000
	bytesOfAStep = 64
)

var errTooMany = errors.New("the schema's defaults, within each other, are too many or too deep")

// filler fills a configuration's gaps with the defaults of a schema.
type filler struct {
	left int // steps
	err  error
	work budget
}

// spendSteps counts work, and reports whether it may be done.
func (f *filler) spendSteps(n int) bool {
	if f.left -= n; f.left < 0 {
		f.err = errTooMany
	}
	return f.err == nil
}

// fillDefaults adds the defaults that the objects of value leave out, in place. It looks into
// properties, items and prefixItems, and follows $ref and allOf. Defaults of alternatives (anyOf,
// oneOf, if) are ignored, since it does not choose among them.
func (f *filler) fillDefaults(value any, s *jsonschema.Schema) {
	if s == nil || !f.spendSteps(1) {
		return
	}
	f.fillDefaults(value, s.Ref)
	for _, part := range s.AllOf {
		f.fillDefaults(value, part)
	}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if _, given := value[name]; !given {
				d := f.findDefault(s.Properties[name])
				if d == nil {
					continue
				}
				value[name] = f.copyValue(*d)
			}
			f.fillDefaults(value[name], s.Properties[name])
		}
	case []any:
		for i, item := range value {
			f.fillDefaults(item, itemSchema(s, i))
		}
	}
}

// findDefault returns a schema's default, or that of a schema that it refers to; nil: none.
func (f *filler) findDefault(s *jsonschema.Schema) *any {
	switch {
	case s == nil || !f.spendSteps(1):
		return nil
	case s.Default != nil:
		return s.Default
	}
	if d := f.findDefault(s.Ref); d != nil {
		return d
	}
	for _, part := range s.AllOf {
		if d := f.findDefault(part); d != nil {
			return d
		}
	}
	return nil
}

// itemSchema returns the schema of the item at an index; nil: none.
func itemSchema(s *jsonschema.Schema, i int) *jsonschema.Schema {
	first, rest := s.PrefixItems, s.Items2020
	switch old := s.Items.(type) { // of drafts before 2020-12
	case *jsonschema.Schema:
		rest = old
	case []*jsonschema.Schema:
		first = old
		rest, _ = s.AdditionalItems.(*jsonschema.Schema)
	}
	if i < len(first) {
		return first[i]
	}
	return rest
}

// copyValue copies a JSON value, so that a schema's own is not written to.
func (f *filler) copyValue(value any) any {
	f.spendSteps(1)
	switch value := value.(type) {
	case map[string]any:
		m := make(map[string]any, len(value))
		for name, v := range value {
			m[name] = f.copyValue(v)
		}
		return m
	case []any:
		list := make([]any, len(value))
		for i, v := range value {
			list[i] = f.copyValue(v)
		}
		return list
	case string:
		f.spendSteps(len(value) / bytesOfAStep)
	}
	return value
}

// fillConfig returns a fitting configuration with the schema's defaults. It returns config
// unchanged if it would no longer fit with them.
func fillConfig(config []byte, value any, schema *jsonschema.Schema) ([]byte, error) {
	f := filler{left: mostSteps}
	if f.fillDefaults(value, schema); f.err != nil {
		return nil, f.err
	}
	if err := (&budget{mostWork}).check(schema, value); isMisfit(err) {
		return config, nil
	} else if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	if checkDepth(text.Bytes()) != nil {
		return nil, errTooMany
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// checkDefaults refuses a schema with a default that could be filled in and does not fit. It
// reports whether the schema has any. All defaults together have the steps and the work of one
// configuration, since many large ones would hold up the loading of other modules.
func checkDefaults(schema *jsonschema.Schema) (has bool, err error) {
	if schema == nil {
		return false, nil
	}
	f, seen := filler{left: mostSteps, work: budget{mostWork}}, map[*jsonschema.Schema]bool{}
	for todo := []*jsonschema.Schema{schema}; len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s == nil || seen[s] {
			continue
		}
		seen[s] = true
		todo = append(todo, childSchemas(s)...)
		if s.Default == nil {
			continue
		}
		has = true
		if err := f.checkDefault(s); err != nil {
			_, place, _ := strings.Cut(s.Location, "#")
			return has, fmt.Errorf("%w: config_schema: the default at %s: %w", plugin.ErrManifest, place, err)
		}
	}
	if !has {
		return false, nil
	}
	if err := checkAllDefaults(schema); err != nil {
		return has, fmt.Errorf("%w: config_schema: %w", plugin.ErrManifest, err)
	}
	return has, nil
}

// childSchemas lists the schemas that fillDefaults visits from s.
func childSchemas(s *jsonschema.Schema) []*jsonschema.Schema {
	list := slices.Concat([]*jsonschema.Schema{s.Ref, s.Items2020}, s.AllOf, s.PrefixItems)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		list = append(list, s.Properties[name])
	}
	switch old := s.Items.(type) {
	case *jsonschema.Schema:
		list = append(list, old)
	case []*jsonschema.Schema:
		list = append(list, old...)
	}
	if rest, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
		list = append(list, rest)
	}
	return list
}

// isMisfit reports whether err says that a value does not fit its schema.
func isMisfit(err error) bool {
	var invalid *jsonschema.ValidationError
	return errors.As(err, &invalid)
}

// checkAllDefaults checks that the empty configuration still fits with the defaults, if it fits
// without them.
func checkAllDefaults(schema *jsonschema.Schema) error {
	f, value := filler{left: mostSteps, work: budget{mostWork}}, map[string]any{}
	if err := f.work.check(schema, value); isMisfit(err) {
		return nil
	} else if err != nil {
		return err
	}
	if f.fillDefaults(value, schema); f.err != nil {
		return f.err
	}
	if err := f.checkValue(schema, value); err != nil {
		return fmt.Errorf("with its defaults {} does not fit any more: %w", err)
	}
	return nil
}

// checkValue checks a value, with an error that names the first thing that is wrong.
func (f *filler) checkValue(schema *jsonschema.Schema, value any) error {
	err := f.work.check(schema, value)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	e := describeInvalid(invalid)
	return errors.New(strings.TrimPrefix(strings.TrimPrefix(e.Field+": ", ".")+e.Message, ": "))
}

// checkDefault checks a schema's own default, and the same filled as a request's would be.
func (f *filler) checkDefault(s *jsonschema.Schema) error {
	value := f.copyValue(*s.Default)
	if err := f.checkValue(s, value); err != nil {
		return err
	}
	if f.fillDefaults(value, s); f.err != nil {
		return f.err
	}
	return f.checkValue(s, value)
}
