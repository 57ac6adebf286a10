// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"encoding/json"
	"fmt"
)

// What a request may give to the template besides messages: how many values, each of which
// llama.cpp compares with all others by its name, several times, and how many bytes.
const (
	maxArgs     = 256
	maxArgBytes = 256 << 10
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

// checkConversation refuses JSON that would take llama.cpp too long, or crash it. Errors are
// *BadField.
func checkConversation(c Conversation) error {
	parts := map[string]string{"messages": string(c.Messages), "tools": string(c.Tools), "json_schema": c.JSONSchema}
	if n := len(c.TemplateArgs); n > maxArgs {
		return &BadField{"template_args", fmt.Errorf("%w: it has %d values; at most %d are taken", ErrInvalid, n, maxArgs)}
	}
	size := 0
	for name, value := range c.TemplateArgs {
		parts["template_args."+name] = string(value)
		if size += len(name) + len(value); size > maxArgBytes {
			return &BadField{"template_args", fmt.Errorf("%w: more than %d bytes", ErrInvalid, maxArgBytes)}
		}
	}
	for name, text := range parts {
		if err := checkJSON("it", text); err != nil {
			return &BadField{name, err}
		}
	}
	return nil
}

// checkJSON refuses a text that has more than llama.cpp is given to parse: what nests deep, has
// many keys, or many values. llama.cpp itself refuses invalid JSON. All that it parses passes this
// check, also what stands as JSON within a text of the JSON that it is given: see parse.h in
// native/llama.cpp; the bounds are in shim/json_limits.cpp there.
func checkJSON(what, text string) error {
	var e C.ps_error
	if code := C.ps_json_check(textPointer(text), C.size_t(len(text)), &e); code != C.PS_OK {
		return fmt.Errorf("%w: %s %s", ErrInvalid, what, C.GoString(&e.text[0]))
	}
	return nil
}

// checkArguments says which arguments of a call llama.cpp was not given to parse. Only some
// templates have it parse them, so this asks after a template has failed.
func checkArguments(messages json.RawMessage) error {
	var list []struct {
		Calls []struct {
			Function struct{ Arguments any }
		} `json:"tool_calls"`
	}
	if json.Unmarshal(messages, &list) != nil {
		return nil //nolint:nilerr // the template's own complaint is the better one
	}
	for i, message := range list {
		for k, call := range message.Calls {
			arguments, _ := call.Function.Arguments.(string)
			if err := checkJSON("it", arguments); err != nil {
				return &BadField{fmt.Sprintf("messages[%d].tool_calls[%d].function.arguments", i, k), err}
			}
		}
	}
	return nil
}
