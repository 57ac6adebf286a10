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
	"github.com/penstock/penstock/host/media"
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

// ParseMessages reads OpenAI's messages array. Content may be a text or a list of parts. Their
// texts are joined by line breaks, and where there is a picture or a sound, of which the second
// result has all in their order, there is a media.Marker. Errors are *Invalid.
func ParseMessages(raw []json.RawMessage) ([]Message, []media.Part, error) {
	return parseMessages(raw, ParsePart)
}

// partReader reads a part that is no text, as ParsePart does.
type partReader func(raw json.RawMessage, field string) (_ media.Part, ok bool, _ error)

func parseMessages(raw []json.RawMessage, read partReader) ([]Message, []media.Part, error) {
	if len(raw) == 0 {
		return nil, nil, &Invalid{Field: "messages", Reason: "is empty; at least one message is needed"}
	}
	messages := make([]Message, len(raw))
	var all []media.Part
	for i, r := range raw {
		m, found, err := parseMessage(r, read, fmt.Sprintf("messages[%d]", i))
		if err != nil {
			return nil, nil, err
		}
		messages[i], all = m, append(all, found...)
	}
	return messages, all, nil
}

func parseMessage(raw json.RawMessage, read partReader, field string) (Message, []media.Part, error) {
	var m struct {
		Message
		Content   json.RawMessage   `json:"content"` // these two shadow the embedded ones
		ToolCalls []json.RawMessage `json:"tool_calls"`
	}
	if err := unmarshal(raw, &m, field, "a message object"); err != nil {
		return Message{}, nil, err
	}
	if !slices.Contains(Roles, m.Role) {
		return Message{}, nil, &Invalid{Field: field + ".role", Reason: fmt.Sprintf("is %q; it must be one of %s", excerpt.Of(m.Role, 40), strings.Join(Roles, ", "))}
	}
	for i, call := range m.ToolCalls {
		c, err := parseCall(call, fmt.Sprintf("%s.tool_calls[%d]", field, i))
		if err != nil {
			return Message{}, nil, err
		}
		m.Message.ToolCalls = append(m.Message.ToolCalls, c)
	}
	content, thought := apartThinking(m.Content, m.Role)
	text, parts, found, err := parseContent(content, read, field+".content")
	if err != nil {
		return Message{}, nil, err
	}
	if m.Reasoning == "" {
		m.Reasoning = thought
	}
	present := text != nil
	if empty := len(m.ToolCalls) == 0 && m.Reasoning == ""; !present && (m.Role != "assistant" || empty) {
		return Message{}, nil, &Invalid{Field: field + ".content", Reason: "is missing"}
	}
	if present {
		m.Message.Content, m.Parts = *text, parts
	}
	return m.Message, found, nil
}

// apartThinking takes the parts of an assistant's content that are its reasoning out of a list, and
// returns their text: Mistral's and Anthropic's clients send it so.
func apartThinking(content json.RawMessage, role string) (rest json.RawMessage, thought string) {
	var list []json.RawMessage
	if role != "assistant" || json.Unmarshal(content, &list) != nil {
		return content, ""
	}
	kept := slices.DeleteFunc(slices.Clone(list), func(item json.RawMessage) bool {
		var p struct {
			Type     string          `json:"type"`
			Thinking json.RawMessage `json:"thinking"`
		}
		if json.Unmarshal(item, &p) != nil || p.Type != "thinking" {
			return false
		}
		var text string
		var texts []struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(p.Thinking, &text) != nil && json.Unmarshal(p.Thinking, &texts) != nil {
			return false
		}
		for _, t := range texts {
			text += t.Text
		}
		thought += text
		return true
	})
	if len(kept) == len(list) {
		return content, ""
	}
	rest, _ = json.Marshal(kept) // of which nothing can fail
	return rest, thought
}

// parseCall reads a tool call of a message. Its arguments may be the text of an object, or the
// object. An empty text is no arguments: clients send it for a function that takes none.
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
	case c.Type != typeFunction && c.Type != "":
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

// parseContent flattens content. text is nil if there is none, as with an assistant's tool calls;
// parts are those of a list, with a media.Marker for each that was found to be a picture or a
// sound.
func parseContent(raw json.RawMessage, read partReader, field string) (text *string, parts []string, found []media.Part, err error) {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, nil, nil, nil
	}
	text = new(string)
	if json.Unmarshal(raw, text) == nil {
		return text, nil, nil, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, nil, nil, &Invalid{Field: field, Reason: "must be a text or a list of parts"}
	}
	parts = make([]string, len(list))
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		var p struct {
			Type    string  `json:"type"`
			Text    *string `json:"text"`
			Refusal *string `json:"refusal"`
		}
		switch known := json.Unmarshal(item, &p) == nil; {
		case known && p.Type == "text" && p.Text != nil:
			parts[i] = *p.Text
			continue
		case known && p.Type == "refusal" && p.Refusal != nil: // what the assistant has said
			parts[i] = *p.Refusal
			continue
		}
		m, ok, err := read(item, at)
		switch {
		case err != nil:
			return nil, nil, nil, err
		case !ok:
			return nil, nil, nil, &Invalid{Field: at, Reason: fmt.Sprintf("has type %q; only parts of type %s are supported", excerpt.Of(p.Type, 40), PartTypes)}
		}
		parts[i], found = media.Marker, append(found, m)
	}
	*text = media.Join(parts)
	return text, parts, found, nil
}

// unmarshal reads what a field must hold into v. Errors are *Invalid, of the field within it that
// is wrong where that is known.
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
