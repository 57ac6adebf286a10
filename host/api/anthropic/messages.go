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
// pictures, and the fields of what is left out.
func readMessages(system json.RawMessage, raw []json.RawMessage) (messages []chat.Message, parts []media.Part, leftOut []string, _ error) {
	if len(raw) == 0 {
		return nil, nil, nil, &chat.Invalid{Field: "messages", Reason: "is empty; at least one message is needed"}
	}
	texts, _, _, err := readContent(system, "system", false)
	if err != nil {
		return nil, nil, nil, err
	}
	for i := range texts {
		texts[i] = billing.ReplaceAllString(texts[i], "")
	}
	if text := strings.TrimSpace(strings.Join(texts, "\n")); text != "" {
		messages = append(messages, chat.Message{Role: "system", Content: text, Field: "system"})
	}
	for i, r := range raw {
		turn, err := readMessage(r, fmt.Sprintf("messages[%d]", i))
		if err != nil {
			return nil, nil, nil, err
		}
		more := turn.messages()
		for k := range more {
			more[k].Field = fmt.Sprintf("messages[%d].content", i)
		}
		messages, parts, leftOut = append(messages, more...), append(append(parts, turn.shown...), turn.files...), append(leftOut, turn.leftOut...)
	}
	return messages, parts, leftOut, nil
}

// readMessage turns one message into one or several: each result of a tool is a message of its
// own, before what else is said.
func readMessage(raw json.RawMessage, field string) (*turn, error) {
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
	made := &turn{said: chat.Message{Role: m.Role}, listed: m.Content[0] == '['}
	for i, b := range blocks {
		if err := made.add(b, fmt.Sprintf("%s.content[%d]", field, i)); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// readContent reads a text or a list of blocks that are texts, and pictures if they are allowed,
// with a media.Marker for each; nothing for null. The third result has the fields of what is left
// out.
func readContent(raw json.RawMessage, field string, pictures bool) (texts []string, found []media.Part, leftOut []string, _ error) {
	if isNull(raw) {
		return nil, nil, nil, nil
	}
	blocks, err := readBlocks(raw, field)
	if err != nil {
		return nil, nil, nil, err
	}
	for i, b := range blocks {
		at := fmt.Sprintf("%s[%d]", field, i)
		if b.Type != "text" && !pictures {
			return nil, nil, nil, b.refused(at, "text")
		}
		text, is, err := b.said(at)
		switch {
		case err != nil:
			return nil, nil, nil, err
		case is:
			texts = append(texts, text)
		case b.isElsewhere():
			leftOut = append(leftOut, at)
		case b.isFile():
			p, err := b.file(at)
			if err != nil {
				return nil, nil, nil, err
			}
			texts, found = append(texts, media.Marker), append(found, p)
		default:
			return nil, nil, nil, b.refused(at, "text, image, document, search_result and tool_reference")
		}
	}
	return texts, found, leftOut, nil
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || bytes.Equal(raw, []byte("null")) }
