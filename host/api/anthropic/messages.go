// SPDX-License-Identifier: MIT

package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
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
			return nil, nil, nil, b.refuse(at, "text")
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
			return nil, nil, nil, b.refuse(at, "text, image, document, search_result and tool_reference")
		}
	}
	return texts, found, leftOut, nil
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || bytes.Equal(raw, []byte("null")) }

// block is a part of a message's content. Which fields it has depends on its type.
type block struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`        // of type text
	Thinking string          `json:"thinking"`    // of type thinking
	ID       string          `json:"id"`          // of type tool_use
	Name     string          `json:"name"`        // of type tool_use
	Input    json.RawMessage `json:"input"`       // of type tool_use: an object
	Call     string          `json:"tool_use_id"` // of type tool_result
	Content  json.RawMessage `json:"content"`     // of type tool_result: a text or blocks of texts and pictures; of type search_result: blocks of texts
	Source   json.RawMessage `json:"source"`      // of type image and document a source, of type search_result a text
	Title    string          `json:"title"`       // of type document and search_result
	Tool     string          `json:"tool_name"`   // of type tool_reference
}

// source is where the file of a block is.
type source struct {
	Type    string          `json:"type"` // base64, url or file; of a document text or content, too
	Data    string          `json:"data"`
	URL     string          `json:"url"`
	Content json.RawMessage `json:"content"` // of type content: a text or blocks
}

// elsewhere are the types of blocks that tell what Anthropic has done, or that only Anthropic can
// read. An answer is made without them, of which the client is told.
var elsewhere = []string{"server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result", "bash_code_execution_tool_result",
	"text_editor_code_execution_tool_result", "tool_search_tool_result", "mcp_tool_use", "mcp_tool_result", "container_upload", "compaction"}

// isElsewhere reports whether a block is left out.
func (b block) isElsewhere() bool { return slices.Contains(elsewhere, b.Type) }

// said is the text of a block that is words, in whichever shape.
func (b block) said(field string) (text string, is bool, err error) {
	var s source
	switch b.Type {
	case "text":
		return b.Text, true, nil
	case "tool_reference": // of a tool that a search has found: the request has it
		return b.Tool, true, nil
	case "search_result":
		var from string
		_ = json.Unmarshal(b.Source, &from) // what is none is not said
		texts, _, _, err := readContent(b.Content, field+".content", false)
		return joinLines(append([]string{b.Title, from}, texts...)...), true, err
	case "document":
		_ = json.Unmarshal(b.Source, &s) // what is none has no type
		switch s.Type {
		case "text":
			return joinLines(b.Title, s.Data), true, nil
		case "content":
			texts, _, _, err := readContent(s.Content, field+".source.content", false)
			return joinLines(append([]string{b.Title}, texts...)...), true, err
		}
	}
	return "", false, nil
}

// joinLines joins texts, of which some may be empty, by line breaks.
func joinLines(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "\n")
}

// file is the picture, or the document, that a block is. What a document is, its bytes say.
func (b block) file(field string) (media.Part, error) {
	p := media.Part{Field: field, Kind: media.Image}
	if b.Type == "document" {
		p.Kind = media.Any
	}
	var s source
	switch at := field + ".source"; {
	case json.Unmarshal(b.Source, &s) != nil && len(b.Source) > 0:
		return p, &chat.Invalid{Field: at, Reason: "must be an object with a type and the fields of that type"}
	case s.Type == "base64" && s.Data != "":
		p.Source, p.Base64 = s.Data, true
	case s.Type == "url" && s.URL != "":
		p.Source = s.URL
	case s.Type == "base64" || s.Type == "url":
		return p, &chat.Invalid{Field: at, Reason: "has no file: data in base64, or a url"}
	default:
		return p, &chat.Invalid{Field: at + ".type", Reason: fmt.Sprintf("is %q; it must be base64 or url", excerpt.Of(s.Type, longestWord))}
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

// refuse tells that a block of this type cannot stand here.
func (b block) refuse(field, taken string) error {
	return &chat.Invalid{Field: field, Reason: fmt.Sprintf("has type %q; here this server takes %s", excerpt.Of(b.Type, longestWord), taken)}
}

// turn gathers the blocks of one message.
type turn struct {
	said     chat.Message // by the message's role
	texts    []string
	thoughts []string
	listed   bool // the content came as a list
	results  []chat.Message
	files    []media.Part // in the order of their markers
	shown    []media.Part // likewise, in the results
	leftOut  []string     // the fields of blocks that are left out
}

// add takes the next block, which stands in field.
func (t *turn) add(b block, field string) error {
	text, is, err := b.said(field)
	switch role := t.said.Role; {
	case err != nil:
		return err
	case is && (b.Type == "text" || role == "user"):
		t.texts = append(t.texts, text)
	case b.isElsewhere() && role != "system":
		t.leftOut = append(t.leftOut, field)
	case b.isFile() && role == "user":
		p, err := b.file(field)
		t.texts, t.files = append(t.texts, media.Marker), append(t.files, p)
		return err
	case b.Type == "thinking" && role == "assistant":
		t.thoughts = append(t.thoughts, b.Thinking)
	case b.Type == "redacted_thinking" && role == "assistant": // ciphertext of Anthropic's: no model here can read it
	case b.Type == "tool_use" && role == "assistant":
		return t.addCall(b, field)
	case b.Type == "tool_result" && role == "user":
		return t.addResult(b, field)
	default:
		return b.refuse(field, takenFrom[role])
	}
	return nil
}

// takenFrom says which blocks a message may have, by its role.
var takenFrom = map[string]string{
	"system": "text", "user": "text, image, document, search_result and tool_result", "assistant": "text, thinking and tool_use",
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
	texts, files, leftOut, err := readContent(b.Content, field+".content", true)
	t.leftOut = append(t.leftOut, leftOut...)
	t.results = append(t.results, chat.Message{Role: "tool", ToolCallID: b.Call, Content: media.Join(texts)})
	t.shown = append(t.shown, files...)
	return err
}

// messages are what the blocks have become.
func (t *turn) messages() []chat.Message {
	t.said.Content, t.said.Reasoning = media.Join(t.texts), strings.Join(t.thoughts, "")
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

// tool is a function that the model may have called. Those of other types are Anthropic's own.
type tool struct {
	Type        string          `json:"type"` // absent or custom
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
	Strict      *bool           `json:"strict"`
}

// readTools turns the tools into OpenAI's shape, which templates know. Those of Anthropic's own
// types are left out, and the fields that hold them are named.
func readTools(raw []json.RawMessage) (tools []chat.Tool, leftOut []string, _ error) {
	tools = make([]chat.Tool, 0, len(raw))
	for i, r := range raw {
		field := fmt.Sprintf("tools[%d]", i)
		var t tool
		bad := (*json.UnmarshalTypeError)(nil)
		if err := json.Unmarshal(r, &t); errors.As(err, &bad) && bad.Field == "strict" {
			return nil, nil, &chat.Invalid{Field: field + ".strict", Reason: "must be true or false"}
		} else if err != nil || isNull(r) {
			return nil, nil, &chat.Invalid{Field: field, Reason: "is not a tool: an object with a name, perhaps a description, and an input_schema"}
		}
		switch {
		case t.Type != "" && t.Type != "custom":
			leftOut = append(leftOut, field)
			continue
		case t.Name == "":
			return nil, nil, &chat.Invalid{Field: field + ".name", Reason: "is missing"}
		case !isObject(t.InputSchema):
			return nil, nil, &chat.Invalid{Field: field + ".input_schema", Reason: "must be a JSON schema, which is an object"}
		}
		tools = append(tools, chat.Tool{Name: t.Name, JSON: t.openAI(), Field: field + ".input_schema", Strict: t.Strict})
	}
	return tools, leftOut, nil
}

// openAI writes the tool in OpenAI's shape. The schema's keys keep their order.
func (t tool) openAI() json.RawMessage {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	text, _ := json.Marshal(struct { // it was decoded from JSON
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", function{t.Name, t.Description, t.InputSchema}})
	return text
}

// readToolChoice reads whether and which tools are called. parallel is nil where that is left to
// the template.
func readToolChoice(raw json.RawMessage, tools []chat.Tool) (choice chat.ToolChoice, parallel *bool, err error) {
	if isNull(raw) {
		return choice, nil, nil
	}
	var c struct {
		Type     string `json:"type"`
		Name     string `json:"name"`
		Parallel *bool  `json:"disable_parallel_tool_use"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return choice, nil, &chat.Invalid{Field: "tool_choice", Reason: "is not an object with a type: auto, any, tool or none"}
	}
	if c.Parallel != nil {
		several := !*c.Parallel
		parallel = &several
	}
	switch c.Type {
	case "auto":
	case "none":
		choice.Mode = "none"
	case "any":
		choice.Mode = "required"
		if len(tools) == 0 {
			err = &chat.Invalid{Field: "tool_choice", Reason: "has type any, but there are no tools"}
		}
	case "tool":
		choice, err = chat.ChooseTool(c.Name, tools, "tool_choice.name")
	default:
		err = &chat.Invalid{Field: "tool_choice.type", Reason: fmt.Sprintf("is %q; it must be auto, any, tool or none", excerpt.Of(c.Type, longestWord))}
	}
	return choice, parallel, err
}
