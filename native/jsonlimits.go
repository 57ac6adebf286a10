// SPDX-License-Identifier: MIT

package native

import (
	"encoding/json"
	"fmt"
)

// The bounds of JSON that llama.cpp reads: it walks values recursively, and looks for each key of an object among all before it.
const (
	maxNesting = 100
	maxKeys    = 2000
	maxArgs    = 256 << 10 // bytes of what a request gives to the template besides messages
)

// checkConversation refuses what llama.cpp would not come through.
func checkConversation(c Conversation) error {
	parts := map[string]string{"messages": string(c.Messages), "tools": string(c.Tools), "json_schema": c.JSONSchema}
	size := 0
	for name, value := range c.TemplateArgs {
		parts["template_args."+name] = string(value)
		if size += len(name) + len(value); size > maxArgs {
			return fmt.Errorf("%w: template_args have more than %d bytes", ErrInvalid, maxArgs)
		}
	}
	for name, text := range parts {
		if err := checkJSON(name, text); err != nil {
			return err
		}
	}
	if c.JSONSchema != "" {
		if err := checkSchema(c.JSONSchema); err != nil {
			return err
		}
	}
	return checkTools(c.Tools)
}

// checkTools looks at the schemas of tools, which become grammars.
func checkTools(tools json.RawMessage) error {
	var list []struct {
		Function struct{ Parameters json.RawMessage }
	}
	if len(tools) == 0 || json.Unmarshal(tools, &list) != nil {
		return nil //nolint:nilerr // llama.cpp refuses what is no list of tools, with its own words
	}
	for i, tool := range list {
		if len(tool.Function.Parameters) == 0 {
			continue
		}
		if err := checkSchema(string(tool.Function.Parameters)); err != nil {
			return fmt.Errorf("tools[%d].function.parameters: %w", i, err)
		}
	}
	return nil
}

// checkJSON bounds how deep a text nests and how many keys its objects have. What is no JSON is llama.cpp's to refuse.
func checkJSON(name, text string) error {
	var keys []int // of each object around, a list counts as one without
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
			return fmt.Errorf("%w: %s nests more than %d deep", ErrInvalid, name, maxNesting)
		}
		if len(keys) > 0 && keys[len(keys)-1] > maxKeys {
			return fmt.Errorf("%w: %s has an object of more than %d keys", ErrInvalid, name, maxKeys)
		}
	}
	return nil
}
