// SPDX-License-Identifier: MIT

package chat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/media"
)

// Roles are the roles a message may have.
var Roles = []string{"system", "developer", "user", assistant, "tool"}

const assistant = "assistant"

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

// CheckRole refuses a role that no message has.
func CheckRole(role, field string) error {
	if slices.Contains(Roles, role) {
		return nil
	}
	return &Invalid{Field: field, Reason: fmt.Sprintf("is %q; it must be one of %s", excerpt.Of(role, 40), strings.Join(Roles, ", "))}
}

func parseMessage(raw json.RawMessage, read partReader, field string) (Message, []media.Part, error) {
	var m struct {
		Message
		Content   json.RawMessage   `json:"content"` // these two shadow the embedded ones
		ToolCalls []json.RawMessage `json:"tool_calls"`
		Thought   json.RawMessage   `json:"reasoning"` // OpenRouter's and vLLM's name of reasoning_content
		Refusal   json.RawMessage   `json:"refusal"`   // what an answer says instead of a content
	}
	if err := unmarshal(raw, &m, field, "a message object"); err != nil {
		return Message{}, nil, err
	}
	if err := CheckRole(m.Role, field+".role"); err != nil {
		return Message{}, nil, err
	}
	for i, call := range m.ToolCalls {
		c, err := parseCall(call, fmt.Sprintf("%s.tool_calls[%d]", field, i))
		if err != nil {
			return Message{}, nil, err
		}
		m.Message.ToolCalls = append(m.Message.ToolCalls, c)
	}
	c, err := parseContent(m.Content, read, m.Role == assistant, field+".content")
	if err != nil {
		return Message{}, nil, err
	}
	if m.Role == assistant {
		m.Reasoning = cmp.Or(m.Reasoning, textOf(m.Thought), strings.Join(c.thoughts, ""))
	}
	switch {
	case c.text != nil && (*c.text != "" || m.Role != assistant):
		m.Message.Content, m.Parts = *c.text, c.parts
	case m.Role != assistant:
		return Message{}, nil, &Invalid{Field: field + ".content", Reason: "is missing"}
	default: // answers without a content are sent back as they were, with null and no calls
		m.Message.Content = textOf(m.Refusal)
	}
	return m.Message, c.found, nil
}

// textOf is what a field says that may be null or, of some clients, no text.
func textOf(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
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
		Custom struct {
			Name  string  `json:"name"`
			Input *string `json:"input"`
		} `json:"custom"`
	}
	if err := unmarshal(raw, &c, field, "a tool call"); err != nil {
		return ToolCall{}, err
	}
	var arguments string
	switch given := c.Function.Arguments; {
	case c.Type == typeCustom && c.Custom.Name == "":
		return ToolCall{}, &Invalid{field + ".custom.name", "is missing"}
	case c.Type == typeCustom && c.Custom.Input == nil:
		return ToolCall{}, &Invalid{field + ".custom.input", "is missing"}
	case c.Type == typeCustom:
		return NewCustomCall(c.ID, c.Custom.Name, *c.Custom.Input), nil
	case c.Type != typeFunction && c.Type != "":
		return ToolCall{}, &Invalid{field + ".type", fmt.Sprintf("is %q; it must be function or custom", excerpt.Of(c.Type, 40))}
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

// content is what parseContent reads.
type content struct {
	text     *string      // nil: there is none, as with an assistant's tool calls
	parts    []string     // of a list, with a media.Marker for each picture or sound
	found    []media.Part // the pictures and sounds
	thoughts []string     // of an answer, in parts of their own
}

// parseContent flattens content. That of an answer may have parts that only answers have.
func parseContent(raw json.RawMessage, read partReader, ofAnswer bool, field string) (c content, err error) {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return c, nil
	}
	c.text = new(string)
	if json.Unmarshal(raw, c.text) == nil {
		return c, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return c, &Invalid{Field: field, Reason: "must be a text or a list of parts"}
	}
	c.parts = make([]string, 0, len(list))
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		if ofAnswer && c.takeAnswered(item) {
			continue
		}
		var p struct {
			Type string  `json:"type"`
			Text *string `json:"text"`
		}
		if json.Unmarshal(item, &p) == nil && p.Type == "text" && p.Text != nil {
			c.parts = append(c.parts, *p.Text)
			continue
		}
		m, ok, err := read(item, at)
		switch {
		case err != nil:
			return c, err
		case !ok:
			return c, &Invalid{Field: at, Reason: fmt.Sprintf("has type %q; only parts of type %s are supported", excerpt.Of(p.Type, 40), PartTypes)}
		}
		c.parts, c.found = append(c.parts, media.Marker), append(c.found, m)
	}
	*c.text = media.Join(c.parts)
	if len(c.parts) == 0 && len(list) > 0 {
		c.parts = nil
	}
	return c, nil
}

// takeAnswered takes a part that only answers have, if it is one: what was thought, in the shapes
// of Anthropic, Mistral and the AI SDK, or OpenAI's refusal.
func (c *content) takeAnswered(item json.RawMessage) bool {
	var p struct {
		Type     string          `json:"type"`
		Thinking json.RawMessage `json:"thinking"` // a text, or a list of texts
		Text     string          `json:"text"`
		Refusal  *string         `json:"refusal"`
	}
	if json.Unmarshal(item, &p) != nil {
		return false
	}
	switch {
	case p.Type == "refusal" && p.Refusal != nil:
		c.parts = append(c.parts, *p.Refusal)
	case p.Type == "reasoning":
		c.thoughts = append(c.thoughts, p.Text)
	case p.Type == "redacted_thinking": // ciphertext of Anthropic's: no model here can read it
	case p.Type == "thinking":
		var texts []struct {
			Text string `json:"text"`
		}
		c.thoughts = append(c.thoughts, textOf(p.Thinking))
		_ = json.Unmarshal(p.Thinking, &texts) // a text is no list
		for _, t := range texts {
			c.thoughts = append(c.thoughts, t.Text)
		}
	default:
		return false
	}
	return true
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

// filePart is a part of type file of a chat completion, or the like of a response.
type filePart struct {
	Data string `json:"file_data"`
	URL  string `json:"file_url"`
	ID   string `json:"file_id"`
}

// part is a part of a content, in OpenAI's shape. Which fields it has depends on its type.
type part struct {
	Type     string          `json:"type"`
	Text     *string         `json:"text"`
	ImageURL json.RawMessage `json:"image_url"` // of type image_url an object, of some clients and of type input_image a text
	Detail   string          `json:"detail"`    // of type input_image
	Audio    struct {
		Data string `json:"data"`
	} `json:"input_audio"`
	File filePart `json:"file"` // of type file
	filePart
}

// PartTypes says which parts a content may have.
const PartTypes = "text, image_url, input_audio and file"

// ParsePart reads a part that is a picture or a sound: of a message of a chat completion, or of an
// item of a response. A part of another type is not ok. Errors are *Invalid.
func ParsePart(raw json.RawMessage, field string) (_ media.Part, ok bool, _ error) {
	var p part
	if json.Unmarshal(raw, &p) != nil {
		return media.Part{}, false, &Invalid{Field: field, Reason: "is not a part: an object with a type and the fields of that type"}
	}
	m := media.Part{Field: field}
	file := p.filePart
	switch p.Type {
	case "image_url", "input_image":
		m.Kind = media.Image
		if m.Source, m.Detail = imageOf(p); m.Source == "" && p.ID == "" {
			return m, true, &Invalid{Field: field + ".image_url", Reason: "is missing: a data: URL with the picture"}
		}
	case "input_audio":
		if m.Kind, m.Source, m.Base64 = media.Audio, p.Audio.Data, true; m.Source == "" {
			return m, true, &Invalid{Field: field + ".input_audio.data", Reason: "is missing: the sound in base64"}
		}
		m.Base64 = !isFrame(m.Source)
		return m, true, nil
	case "file", "input_file":
		if p.Type == "file" {
			file = p.File
		}
		m.Source, m.Base64 = file.Data, true
		if m.Source == "" {
			m.Source, m.Base64 = file.URL, false
		}
		if m.Source == "" && file.ID == "" {
			return m, true, &Invalid{Field: field, Reason: "has no file_data: the file in base64"}
		}
		m.Base64 = m.Base64 && !isFrame(m.Source)
	default:
		return m, false, nil
	}
	if m.Source == "" {
		return m, true, &Invalid{Field: field + ".file_id", Reason: fmt.Sprintf("is %q; files are not stored here: send the file itself", excerpt.Of(file.ID, 40))}
	}
	return m, true, nil
}

// imageOf is the URL of a picture and how closely to look at it.
func imageOf(p part) (source, detail string) {
	if json.Unmarshal(p.ImageURL, &source) == nil {
		return source, p.Detail
	}
	var image struct {
		URL    string `json:"url"`
		Detail string `json:"detail"`
	}
	_ = json.Unmarshal(p.ImageURL, &image) // what is none has no URL
	return image.URL, image.Detail
}

func isFrame(source string) bool { return strings.HasPrefix(source, media.FrameScheme) }
