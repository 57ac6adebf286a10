// SPDX-License-Identifier: MIT

package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/media"
)

// block is a part of a message's content. Which fields it has depends on its type.
type block struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`        // of type text
	Thinking string          `json:"thinking"`    // of type thinking
	ID       string          `json:"id"`          // of type tool_use
	Name     string          `json:"name"`        // of type tool_use
	Input    json.RawMessage `json:"input"`       // of type tool_use: an object
	Call     string          `json:"tool_use_id"` // of type tool_result
	Content  json.RawMessage `json:"content"`     // of type tool_result: a text or blocks of texts and pictures
	Source   source          `json:"source"`      // of type image and document
}

// source is where the file of a block is.
type source struct {
	Type string `json:"type"` // base64, url or file
	Data string `json:"data"`
	URL  string `json:"url"`
}

// file is the picture, or the document, that a block is. What a document is, its bytes say.
func (b block) file(field string) (media.Part, error) {
	p := media.Part{Field: field, Kind: media.Image}
	if b.Type == "document" {
		p.Kind = media.Any
	}
	switch at := field + ".source"; {
	case b.Source.Type == "base64" && b.Source.Data != "":
		p.Source, p.Base64 = b.Source.Data, true
	case b.Source.Type == "url" && b.Source.URL != "":
		p.Source = b.Source.URL
	case b.Source.Type == "base64" || b.Source.Type == "url":
		return p, &chat.Invalid{Field: at, Reason: "has no file: data in base64, or a url"}
	default:
		return p, &chat.Invalid{Field: at + ".type", Reason: fmt.Sprintf("is %q; it must be base64 or url", excerpt.Of(b.Source.Type, longestWord))}
	}
	return p, nil
}

// isFile reports whether a block is a picture or a document.
func (b block) isFile() bool { return b.Type == "image" || b.Type == "document" }

// readBlocks reads a content: a text, or a list of blocks.
func readBlocks(raw json.RawMessage, field string) ([]block, error) {
	var text string
	if isNull(raw) {
		return nil, &chat.Invalid{Field: field, Reason: "is missing"}
	}
	if json.Unmarshal(raw, &text) == nil {
		return []block{{Type: "text", Text: text}}, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, &chat.Invalid{Field: field, Reason: "must be a text or a list of content blocks"}
	}
	blocks := make([]block, len(items))
	for i, item := range items {
		if err := json.Unmarshal(item, &blocks[i]); err != nil || isNull(item) {
			return nil, &chat.Invalid{Field: fmt.Sprintf("%s[%d]", field, i), Reason: "is not a content block: an object with a type and the fields of that type"}
		}
	}
	return blocks, nil
}

// refused tells that a block of this type cannot stand here.
func (b block) refused(field, taken string) error {
	return &chat.Invalid{Field: field, Reason: fmt.Sprintf("has type %q; here this server takes %s", excerpt.Of(b.Type, longestWord), taken)}
}

// turn gathers the blocks of one message.
type turn struct {
	said    chat.Message // by the message's role
	texts   []string
	listed  bool // the content came as a list
	results []chat.Message
	files   []media.Part // in the order of their markers
	shown   []media.Part // likewise, in the results
}

// add takes the next block, which stands in field.
func (t *turn) add(b block, field string) error {
	switch role := t.said.Role; {
	case b.Type == "text":
		t.texts = append(t.texts, b.Text)
	case b.isFile() && role == "user":
		p, err := b.file(field)
		t.texts, t.files = append(t.texts, media.Marker), append(t.files, p)
		return err
	case b.Type == "thinking" && role == "assistant":
		t.said.Reasoning += b.Thinking
	case b.Type == "redacted_thinking" && role == "assistant": // ciphertext of Anthropic's: no model here can read it
	case b.Type == "tool_use" && role == "assistant":
		return t.addCall(b, field)
	case b.Type == "tool_result" && role == "user":
		return t.addResult(b, field)
	default:
		return b.refused(field, takenFrom[role])
	}
	return nil
}

// takenFrom says which blocks a message may have, by its role.
var takenFrom = map[string]string{
	"system": "text", "user": "text, image, document and tool_result", "assistant": "text, thinking and tool_use",
}

func (t *turn) addCall(b block, field string) error {
	switch {
	case b.Name == "":
		return &chat.Invalid{Field: field + ".name", Reason: "is missing"}
	case !isObject(b.Input):
		return &chat.Invalid{Field: field + ".input", Reason: "must be an object"}
	}
	t.said.ToolCalls = append(t.said.ToolCalls, chat.NewToolCall(b.ID, b.Name, string(b.Input)))
	return nil
}

func (t *turn) addResult(b block, field string) error {
	if b.Call == "" {
		return &chat.Invalid{Field: field + ".tool_use_id", Reason: "is missing"}
	}
	texts, files, err := readContent(b.Content, field+".content", true)
	t.results = append(t.results, chat.Message{Role: "tool", ToolCallID: b.Call, Content: media.Join(texts)})
	t.shown = append(t.shown, files...)
	return err
}

// messages are what the blocks have become.
func (t *turn) messages() []chat.Message {
	t.said.Content = media.Join(t.texts)
	if t.listed {
		t.said.Parts = t.texts
	}
	if len(t.results) > 0 && len(t.texts) == 0 {
		return t.results
	}
	return append(t.results, t.said)
}

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{'
}
