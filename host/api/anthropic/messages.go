// SPDX-License-Identifier: MIT

package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/excerpt"
)

// longestWord is how much of a wrong word an error repeats.
const longestWord = 40

// billing is a note of Anthropic's own programs at the beginning of a system prompt. It differs in each request, so with it no prompt
// would begin like one that is cached already.
var billing = regexp.MustCompile(`^x-anthropic-billing-header:(\s*\w+=[^;\n]*;)*\s*`)

// readMessages turns the system prompt and the messages into a conversation.
func readMessages(system json.RawMessage, raw []json.RawMessage) ([]chat.Message, error) {
	if len(raw) == 0 {
		return nil, &chat.Invalid{Field: "messages", Reason: "is empty; at least one message is needed"}
	}
	var messages []chat.Message
	texts, err := readTexts(system, "system")
	if err != nil {
		return nil, err
	}
	for i := range texts {
		texts[i] = billing.ReplaceAllString(texts[i], "")
	}
	if text := strings.TrimSpace(strings.Join(texts, "\n")); text != "" {
		messages = append(messages, chat.Message{Role: "system", Content: text})
	}
	for i, r := range raw {
		more, err := readMessage(r, fmt.Sprintf("messages[%d]", i))
		if err != nil {
			return nil, err
		}
		messages = append(messages, more...)
	}
	return messages, nil
}

// readMessage turns one message into one or several: each result of a tool is a message of its own, before what else is said.
func readMessage(raw json.RawMessage, field string) ([]chat.Message, error) {
	var m struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(raw, &m); err != nil || isNull(raw) {
		return nil, &chat.Invalid{Field: field, Reason: "is not an object with a role and a content"}
	}
	if m.Role != "user" && m.Role != "assistant" && m.Role != "system" {
		return nil, &chat.Invalid{Field: field + ".role", Reason: fmt.Sprintf("is %q; it must be user, assistant or system", excerpt.Of(m.Role, longestWord))}
	}
	blocks, err := readBlocks(m.Content, field+".content")
	if err != nil {
		return nil, err
	}
	turn := turn{said: chat.Message{Role: m.Role}, listed: m.Content[0] == '['}
	for i, b := range blocks {
		if err := turn.add(b, fmt.Sprintf("%s.content[%d]", field, i)); err != nil {
			return nil, err
		}
	}
	return turn.messages(), nil
}

// readTexts reads a text or a list of blocks that are texts; nothing for null.
func readTexts(raw json.RawMessage, field string) ([]string, error) {
	if isNull(raw) {
		return nil, nil
	}
	blocks, err := readBlocks(raw, field)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(blocks))
	for i, b := range blocks {
		if b.Type != "text" {
			return nil, b.refused(fmt.Sprintf("%s[%d]", field, i), "text")
		}
		texts[i] = b.Text
	}
	return texts, nil
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || bytes.Equal(raw, []byte("null")) }
