// SPDX-License-Identifier: MIT

package responses

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
)

// item is an entry of input.
type item struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Summary   json.RawMessage `json:"summary"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Input     string          `json:"input"`  // of a custom_tool_call
	ID        string          `json:"id"`     // of a local_shell_call without a call_id
	Action    json.RawMessage `json:"action"` // of a local_shell_call
}

// message is a message of the conversation.
type message struct {
	chat.Message
	said, thought []string // by the assistant, of which its content and its reasoning are made
}

// elsewhere are the types of items that tell what OpenAI has done, or that only OpenAI can read.
// An answer is made without them, of which the client is told.
var elsewhere = []string{"web_search_call", "file_search_call", "image_generation_call", "code_interpreter_call", "mcp_list_tools", "additional_tools", "tool_search_call",
	"tool_search_output", "compaction", "compaction_summary", "compaction_trigger", "context_compaction"}

// reader turns items into messages.
type reader struct {
	messages []message
	media    []media.Part // in the order of their markers
	leftOut  []string     // the fields of items that are left out
	fields   []string     // of the messages, each the first
}

// conversation is what the instructions, the input and the tools are.
func (b *body) conversation() (c chat.Conversation, err error) {
	r, err := b.read()
	if err != nil {
		return c, err
	}
	c = chat.Conversation{ParallelToolCalls: b.ParallelToolCalls, TemplateArgs: b.TemplateArgs}
	if c.Echo = !b.Stream; b.Reasoning.Effort != nil { // as llama-server: a whole message is told whole
		c.ReasoningEffort = *b.Reasoning.Effort
	}
	if err := b.tools(&c); err != nil {
		return c, err
	}
	c.LeftOut = append(c.LeftOut, r.leftOut...)
	if completion.IsSet(b.ContextManagement) {
		c.LeftOut = append(c.LeftOut, "context_management")
	}
	if len(r.messages) == 0 {
		return c, &chat.Invalid{Field: "messages", Reason: "is empty; at least one message is needed"}
	}
	for i, m := range r.messages {
		if m.Role == "assistant" {
			m.Content, m.Reasoning = media.Join(m.said), strings.Join(m.thought, "")
		}
		m.Field = r.fields[i]
		c.Messages = append(c.Messages, m.Message)
	}
	c.Media = r.media
	return c, nil
}

// onlyLoads reports whether a request asks for nothing but its model: its input is an empty text.
// LM Studio's clients have a model loaded so.
func (b *body) onlyLoads() bool {
	return !b.Stream && string(bytes.TrimSpace(b.Input)) == `""` && (b.Instructions == nil || *b.Instructions == "") && len(b.Tools) == 0 && !completion.IsSet(b.Plugins)
}

func (b *body) read() (*reader, error) {
	r := &reader{}
	if b.Instructions != nil && *b.Instructions != "" {
		r.say("system", *b.Instructions)
		r.fields = append(r.fields, "instructions")
	}
	var text string
	var items []json.RawMessage
	switch {
	case !completion.IsSet(b.Input) && !b.onlyLoads():
		return nil, refusal.Invalid("input", "input is missing: a text or a list of items")
	case json.Unmarshal(b.Input, &text) == nil:
		r.say("user", text)
		r.fields = append(r.fields, "input")
	case json.Unmarshal(b.Input, &items) != nil:
		return nil, refusal.Invalid("input", "input must be a text or a list of items")
	}
	for i, raw := range items {
		field := fmt.Sprintf("input[%d]", i)
		if isElsewhere(raw) {
			r.leftOut = append(r.leftOut, field)
			continue
		}
		var it item
		if err := json.Unmarshal(raw, &it); err != nil {
			return nil, refusal.Invalid(field, "%s is not an item; it must be an object such as {\"role\": \"user\", \"content\": …}, with fields of OpenAI's types", field)
		}
		if err := r.add(&it, field); err != nil {
			return nil, err
		}
		if len(r.fields) < len(r.messages) {
			r.fields = append(r.fields, field)
		}
	}
	return r, nil
}

func isElsewhere(raw json.RawMessage) bool {
	var it struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(raw, &it) == nil && slices.Contains(elsewhere, it.Type)
}

// add appends the message that an item is. What the assistant thought, said and called in one turn
// is one message.
func (r *reader) add(it *item, field string) error {
	switch it.Type {
	case "", "message":
		if !slices.Contains(chat.Roles, it.Role) || it.Role == "tool" {
			return refusal.Invalid(field+".role", "%s.role is %q; it must be user, assistant, system or developer", field, excerpt.Of(it.Role, 40))
		}
		text, err := r.texts(it.Content, field+".content")
		if err != nil {
			return err
		}
		if it.Role != "assistant" {
			r.say(it.Role, text)
			return nil
		}
		if m := r.assistantTurn(); text != "" || len(m.said) > 0 {
			m.said = append(m.said, text)
		}
		return nil
	case "reasoning":
		text, err := r.texts(it.Content, field+".content")
		if err == nil && text == "" {
			text, err = r.texts(it.Summary, field+".summary")
		}
		m := r.assistantTurn()
		m.thought = append(m.thought, text)
		return err
	case functionCall, customCall, "local_shell_call":
		made, err := it.call(field)
		if err != nil {
			return err
		}
		m := r.assistantTurn()
		m.ToolCalls = append(m.ToolCalls, made)
		return nil
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		text, err := r.texts(it.Output, field+".output")
		if err == nil && it.CallID == "" {
			err = refusal.Invalid(field+".call_id", "%s.call_id is missing: the call whose output it is", field)
		}
		r.say("tool", text).ToolCallID = it.CallID
		return err
	}
	return refusal.Unsupported(field+".type",
		"%s.type is %q; message, reasoning, and calls of functions and custom tools with their outputs are supported", field, excerpt.Of(it.Type, 40))
}

// call is the call of a function that an item is. What a custom tool was given is the
// argument of the function that it is to the model.
func (it *item) call(field string) (chat.ToolCall, error) {
	id, name, arguments := it.CallID, it.Name, it.Arguments
	switch it.Type {
	case customCall:
		arguments = chat.NewCustomCall(id, name, it.Input).Function.Arguments
	case "local_shell_call":
		id, name, arguments = cmp.Or(id, it.ID), "local_shell", string(it.Action)
	}
	if id == "" || name == "" {
		return chat.ToolCall{}, refusal.Invalid(field, "%s is a %s; it needs call_id, name and what the call gives", field, it.Type)
	}
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}" // clients send nothing for a function that takes nothing
	}
	return chat.NewToolCall(id, name, arguments), nil
}

// say adds a message.
func (r *reader) say(role, text string) *message {
	r.messages = append(r.messages, message{Message: chat.Message{Role: role, Content: text}})
	return &r.messages[len(r.messages)-1]
}

// assistantTurn returns the last message, which it makes one of the assistant.
func (r *reader) assistantTurn() *message {
	if n := len(r.messages); n > 0 && r.messages[n-1].Role == "assistant" {
		return &r.messages[n-1]
	}
	return r.say("assistant", "")
}

// texts joins the texts of a content: a text or a list of parts. Pictures and sounds go to the
// reader, and have a marker in the text.
func (r *reader) texts(raw json.RawMessage, field string) (string, error) {
	var text string
	if !completion.IsSet(raw) || json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return "", refusal.Invalid(field, "%s must be a text or a list of parts", field)
	}
	var all []string
	for i, raw := range parts {
		at := fmt.Sprintf("%s[%d]", field, i)
		var p struct {
			Type    string  `json:"type"`
			Text    *string `json:"text"`
			Refusal *string `json:"refusal"`
		}
		if json.Unmarshal(raw, &p) != nil {
			return "", refusal.Invalid(at, "%s must be a part: an object with a type and the fields of that type", at)
		}
		switch {
		case slices.Contains([]string{"input_text", "output_text", "text", "summary_text", "reasoning_text"}, p.Type) && p.Text != nil:
			all = append(all, *p.Text)
			continue
		case p.Type == "refusal" && p.Refusal != nil:
			all = append(all, *p.Refusal)
			continue
		}
		found, ok, err := chat.ParsePart(raw, at)
		if err != nil {
			return "", completion.AsError(err, field)
		}
		if !ok {
			return "", refusal.Unsupported(at, "%s has type %q; parts with text, input_image, input_audio and input_file are supported", at, excerpt.Of(p.Type, 40))
		}
		all, r.media = append(all, media.Marker), append(r.media, found)
	}
	return media.Join(all), nil
}
