// SPDX-License-Identifier: MIT

package native

import (
	"encoding/json"
	"fmt"
)

// The bounds of JSON that llama.cpp reads: it walks values recursively, and compares each key of an object with all before it.
const (
	maxNesting = 100
	maxKeys    = 2000
	maxArgs    = 256 << 10 // bytes of what a request gives to the template besides messages
)

// BadField is an ErrInvalid in a field of a Conversation.
type BadField struct {
	Field string // such as tools or template_args.name
	err   error
}

// Error names the field.
func (e *BadField) Error() string { return e.Field + ": " + e.err.Error() }

// Unwrap returns the reason.
func (e *BadField) Unwrap() error { return e.err }

// checkConversation refuses JSON that would take llama.cpp too long, or crash it. Errors are *BadField.
func checkConversation(c Conversation) error {
	parts := map[string]string{"messages": string(c.Messages), "tools": string(c.Tools), "json_schema": c.JSONSchema}
	size := 0
	for name, value := range c.TemplateArgs {
		parts["template_args."+name] = string(value)
		if size += len(name) + len(value); size > maxArgs {
			return &BadField{"template_args", fmt.Errorf("%w: more than %d bytes", ErrInvalid, maxArgs)}
		}
	}
	for name, text := range parts {
		if err := checkJSON("it", text); err != nil {
			return &BadField{name, err}
		}
	}
	if c.JSONSchema != "" {
		if err := checkSchema(c.JSONSchema); err != nil {
			return &BadField{"json_schema", err}
		}
	}
	return checkTools(c.Tools)
}

// checkTools checks the schemas of tools, which become one grammar.
func checkTools(tools json.RawMessage) error {
	var list []struct {
		Function struct{ Parameters json.RawMessage }
	}
	if len(tools) == 0 || json.Unmarshal(tools, &list) != nil {
		return nil //nolint:nilerr // llama.cpp refuses what is not a list of tools, with its own reason
	}
	cost := newConversionCost()
	for i, tool := range list {
		if len(tool.Function.Parameters) == 0 {
			continue
		}
		if err := cost.add(string(tool.Function.Parameters)); err != nil {
			return &BadField{fmt.Sprintf("tools[%d].function.parameters", i), err}
		}
	}
	return nil
}

// checkJSON bounds how deep a text nests and how many keys its objects have. llama.cpp itself refuses what is not JSON.
func checkJSON(what, text string) error {
	var keys []int // of each enclosing object; a list counts as an object without keys
	quoted := false
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case quoted && ch == '\\':
			i++
		case ch == '"':
			quoted = !quoted
		case quoted:
		case ch == '[' || ch == '{':
			keys = append(keys, 0)
		case (ch == ']' || ch == '}') && len(keys) > 0:
			keys = keys[:len(keys)-1]
		case ch == ':' && len(keys) > 0:
			keys[len(keys)-1]++
		}
		if len(keys) > maxNesting {
			return fmt.Errorf("%w: %s nests more than %d deep", ErrInvalid, what, maxNesting)
		}
		if len(keys) > 0 && keys[len(keys)-1] > maxKeys {
			return fmt.Errorf("%w: %s has an object of more than %d keys", ErrInvalid, what, maxKeys)
		}
	}
	return nil
}
