// SPDX-License-Identifier: MIT

package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
)

// Roles are the roles a message may have.
var Roles = []string{"system", "developer", "user", "assistant", "tool"}

// Invalid is a part of a conversation that cannot be used.
type Invalid struct {
	Field  string // such as messages[2].role
	Reason string
}

// Error names the field and what is wrong with it.
func (e *Invalid) Error() string { return e.Field + " " + e.Reason }

// ParseMessages reads OpenAI's messages array. Content may be a text or a list of parts of type text, which are joined
// by line breaks. Errors are *Invalid.
func ParseMessages(raw []json.RawMessage) ([]Message, error) {
	if len(raw) == 0 {
		return nil, &Invalid{Field: "messages", Reason: "is empty; at least one message is needed"}
	}
	messages := make([]Message, len(raw))
	for i, r := range raw {
		m, err := parseMessage(r, fmt.Sprintf("messages[%d]", i))
		if err != nil {
			return nil, err
		}
		messages[i] = m
	}
	return messages, nil
}

func parseMessage(raw json.RawMessage, field string) (Message, error) {
	var m struct {
		Message
		Content   json.RawMessage   `json:"content"` // these two shadow the embedded ones
		ToolCalls []json.RawMessage `json:"tool_calls"`
	}
	if err := unmarshal(raw, &m, field, "a message object"); err != nil {
		return Message{}, err
	}
	if !slices.Contains(Roles, m.Role) {
		return Message{}, &Invalid{Field: field + ".role", Reason: fmt.Sprintf("is %q; it must be one of %s", excerpt.Of(m.Role, 40), strings.Join(Roles, ", "))}
	}
	for i, call := range m.ToolCalls {
		c, err := parseCall(call, fmt.Sprintf("%s.tool_calls[%d]", field, i))
		if err != nil {
			return Message{}, err
		}
		m.Message.ToolCalls = append(m.Message.ToolCalls, c)
	}
	text, parts, present, err := parseContent(m.Content, field+".content")
	if err != nil {
		return Message{}, err
	}
	if empty := len(m.ToolCalls) == 0 && m.Reasoning == ""; !present && (m.Role != "assistant" || empty) {
		return Message{}, &Invalid{Field: field + ".content", Reason: "is missing"}
	}
	m.Message.Content, m.Parts = text, parts
	return m.Message, nil
}

// parseCall reads a tool call of a message. Its arguments may be the text of an object, or the object. An empty text is no arguments:
// clients send it for a function that takes none.
func parseCall(raw json.RawMessage, field string) (ToolCall, error) {
	var c struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	}
	if err := unmarshal(raw, &c, field, "a tool call"); err != nil {
		return ToolCall{}, err
	}
	var arguments string
	switch given := c.Function.Arguments; {
	case c.Type != typeFunction:
		return ToolCall{}, &Invalid{field + ".type", fmt.Sprintf("is %q; it must be function", excerpt.Of(c.Type, 40))}
	case c.Function.Name == "":
		return ToolCall{}, &Invalid{field + ".function.name", "is missing"}
	case len(given) == 0:
		return ToolCall{}, &Invalid{field + ".function.arguments", "is missing"}
	case given[0] == '"':
		if err := json.Unmarshal(given, &arguments); err != nil {
			return ToolCall{}, &Invalid{field + ".function.arguments", "must be a text"}
		}
	default:
		var compact bytes.Buffer
		if err := json.Compact(&compact, given); err != nil {
			return ToolCall{}, &Invalid{field + ".function.arguments", "is no JSON"}
		}
		arguments = compact.String()
	}
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	return NewToolCall(c.ID, c.Function.Name, arguments), nil
}

// parseContent flattens content. present is false if there is none, as with an assistant's tool calls.
func parseContent(raw json.RawMessage, field string) (text string, parts []string, present bool, err error) {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return "", nil, false, nil
	}
	if json.Unmarshal(raw, &text) == nil {
		return text, nil, true, nil
	}
	var list []struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return "", nil, false, &Invalid{Field: field, Reason: "must be a text or a list of parts"}
	}
	parts = make([]string, len(list))
	for i, p := range list {
		if p.Type != "text" || p.Text == nil {
			return "", nil, false, &Invalid{Field: fmt.Sprintf("%s[%d]", field, i),
				Reason: fmt.Sprintf("has type %q; only parts of type text, with a text, are supported", excerpt.Of(p.Type, 40))}
		}
		parts[i] = *p.Text
	}
	return strings.Join(parts, "\n"), parts, true, nil
}

// unmarshal reads what a field must hold into v. Errors are *Invalid, of the field within it that is wrong where that is known.
func unmarshal(raw json.RawMessage, v any, field, what string) error {
	err := json.Unmarshal(raw, v)
	if bytes.Equal(raw, []byte("null")) {
		err = errors.New("it is null")
	}
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong) && wrong.Field != "":
		path := strings.TrimPrefix(wrong.Field, "Message.") // Go's, not the client's
		return &Invalid{field + "." + path, "must be no " + wrong.Value}
	}
	if wrong != nil { // what it says of Go is not the client's
		return &Invalid{field, "is not " + what + ": it is no object"}
	}
	return &Invalid{field, "is not " + what + ": " + strings.TrimPrefix(err.Error(), "json: ")}
}
