// SPDX-License-Identifier: MIT

package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
)

// Roles are the roles a message may have.
var Roles = []string{"system", "developer", "user", "assistant", "tool"}

// Invalid is a message that cannot be used.
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
		Content json.RawMessage `json:"content"` // shadows the embedded text
	}
	if err := json.Unmarshal(raw, &m); err != nil || bytes.Equal(raw, []byte("null")) {
		return Message{}, &Invalid{Field: field, Reason: "is not a message object" + detail(err)}
	}
	if !slices.Contains(Roles, m.Role) {
		return Message{}, &Invalid{Field: field + ".role", Reason: fmt.Sprintf("is %q; it must be one of %s", excerpt.Of(m.Role, 40), strings.Join(Roles, ", "))}
	}
	text, present, err := parseContent(m.Content, field+".content")
	if err != nil {
		return Message{}, err
	}
	if !present && len(m.ToolCalls) == 0 {
		return Message{}, &Invalid{Field: field + ".content", Reason: "is missing"}
	}
	m.Message.Content = text
	return m.Message, nil
}

// parseContent flattens content. present is false if there is none, as with an assistant's tool calls.
func parseContent(raw json.RawMessage, field string) (text string, present bool, err error) {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return "", false, nil
	}
	if json.Unmarshal(raw, &text) == nil {
		return text, true, nil
	}
	var parts []struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", false, &Invalid{Field: field, Reason: "must be a text or a list of parts"}
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		if p.Type != "text" || p.Text == nil {
			return "", false, &Invalid{Field: fmt.Sprintf("%s[%d]", field, i),
				Reason: fmt.Sprintf("has type %q; only parts of type text, with a text, are supported", excerpt.Of(p.Type, 40))}
		}
		texts[i] = *p.Text
	}
	return strings.Join(texts, "\n"), true, nil
}

func detail(err error) string {
	if err == nil {
		return ""
	}
	return ": " + strings.TrimPrefix(err.Error(), "json: ")
}
