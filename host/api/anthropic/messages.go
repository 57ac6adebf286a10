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
	"github.com/penstock/penstock/host/media"
)

// longestWord is how much of a wrong word an error repeats.
const longestWord = 40

// billing is a note of Anthropic's own programs at the beginning of a system prompt. It differs in
// each request, so with it no prompt would begin like one that is cached already.
var billing = regexp.MustCompile(`^x-anthropic-billing-header:(\s*\w+=[^;\n]*;)*\s*`)

// readMessages turns the system prompt and the messages into a conversation, and finds its
// pictures.
func readMessages(system json.RawMessage, raw []json.RawMessage) ([]chat.Message, []media.Part, error) {
	if len(raw) == 0 {
		return nil, nil, &chat.Invalid{Field: "messages", Reason: "is empty; at least one message is needed"}
	}
	var messages []chat.Message
	var parts []media.Part
	texts, _, err := readContent(system, "system", false)
	if err != nil {
		return nil, nil, err
	}
	for i := range texts {
		texts[i] = billing.ReplaceAllString(texts[i], "")
	}
	if text := strings.TrimSpace(strings.Join(texts, "\n")); text != "" {
		messages = append(messages, chat.Message{Role: "system", Content: text, Field: "system"})
	}
	for i, r := range raw {
		more, found, err := readMessage(r, fmt.Sprintf("messages[%d]", i))
		if err != nil {
			return nil, nil, err
		}
		for k := range more {
			more[k].Field = fmt.Sprintf("messages[%d].content", i)
		}
		messages, parts = append(messages, more...), append(parts, found...)
	}
	return messages, parts, nil
}

// readMessage turns one message into one or several: each result of a tool is a message of its
// own, before what else is said.
func readMessage(raw json.RawMessage, field string) ([]chat.Message, []media.Part, error) {
	var m struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(raw, &m); err != nil || isNull(raw) {
		return nil, nil, &chat.Invalid{Field: field, Reason: "is not an object with a role and a content"}
	}
	if m.Role != "user" && m.Role != "assistant" && m.Role != "system" {
		return nil, nil, &chat.Invalid{Field: field + ".role", Reason: fmt.Sprintf("is %q; it must be user, assistant or system", excerpt.Of(m.Role, longestWord))}
	}
	blocks, err := readBlocks(m.Content, field+".content")
	if err != nil {
		return nil, nil, err
	}
	turn := turn{said: chat.Message{Role: m.Role}, listed: m.Content[0] == '['}
	for i, b := range blocks {
		if err := turn.add(b, fmt.Sprintf("%s.content[%d]", field, i)); err != nil {
			return nil, nil, err
		}
	}
	return turn.messages(), append(turn.shown, turn.files...), nil
}

// readContent reads a text or a list of blocks that are texts, and pictures if they are allowed,
// with a media.Marker for each; nothing for null.
func readContent(raw json.RawMessage, field string, pictures bool) (texts []string, found []media.Part, _ error) {
	if isNull(raw) {
		return nil, nil, nil
	}
	blocks, err := readBlocks(raw, field)
	if err != nil {
		return nil, nil, err
	}
	for i, b := range blocks {
		at := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case b.Type == "text":
			texts = append(texts, b.Text)
		case pictures && b.isFile():
			p, err := b.file(at)
			if err != nil {
				return nil, nil, err
			}
			texts, found = append(texts, media.Marker), append(found, p)
		case pictures:
			return nil, nil, b.refused(at, "text, image and document")
		default:
			return nil, nil, b.refused(at, "text")
		}
	}
	return texts, found, nil
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || bytes.Equal(raw, []byte("null")) }
