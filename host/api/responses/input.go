// SPDX-License-Identifier: MIT

package responses

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
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
}

// message is a message of a chat completion.
type message struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	Reasoning  string `json:"reasoning_content,omitempty"`
	ToolCalls  []call `json:"tool_calls,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

type call struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// messages are the messages that the instructions and the input are in a chat completion.
func (b *body) messages() ([]json.RawMessage, error) {
	var all []message
	if b.Instructions != nil && *b.Instructions != "" {
		all = append(all, message{Role: "system", Content: *b.Instructions})
	}
	var text string
	var items []json.RawMessage
	switch {
	case !completion.IsSet(b.Input):
		return nil, refusal.Invalid("input", "input is missing: a text or a list of items")
	case json.Unmarshal(b.Input, &text) == nil:
		all = append(all, message{Role: "user", Content: text})
	case json.Unmarshal(b.Input, &items) != nil:
		return nil, refusal.Invalid("input", "input must be a text or a list of items")
	}
	for i, raw := range items {
		field := fmt.Sprintf("input[%d]", i)
		var it item
		if err := json.Unmarshal(raw, &it); err != nil {
			return nil, refusal.Invalid(field, "%s is not an item; it must be an object such as {\"role\": \"user\", \"content\": …}, with fields of OpenAI's types", field)
		}
		var err error
		if all, err = it.appendTo(all, field); err != nil {
			return nil, err
		}
	}
	out := make([]json.RawMessage, len(all))
	for i, m := range all {
		data, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		out[i] = data
	}
	return out, nil
}

// appendTo appends the message that an item is. What the assistant thought, said and called in one turn is one message.
func (it *item) appendTo(all []message, field string) ([]message, error) {
	switch it.Type {
	case "", "message":
		if !slices.Contains(chat.Roles, it.Role) || it.Role == "tool" {
			return nil, refusal.Invalid(field+".role", "%s.role is %q; it must be user, assistant, system or developer", field, excerpt.Of(it.Role, 40))
		}
		text, err := texts(it.Content, field+".content")
		if err != nil {
			return nil, err
		}
		if it.Role != "assistant" {
			return append(all, message{Role: it.Role, Content: text}), nil
		}
		all = turn(all)
		m := &all[len(all)-1]
		if m.Content != "" {
			text = join([]string{m.Content, text})
		}
		m.Content = text
		return all, nil
	case "reasoning":
		text, err := texts(it.Content, field+".content")
		if err == nil && text == "" {
			text, err = texts(it.Summary, field+".summary")
		}
		all = turn(all)
		all[len(all)-1].Reasoning += text
		return all, err
	case "function_call":
		if it.CallID == "" || it.Name == "" {
			return nil, refusal.Invalid(field, "%s is a function_call; it needs call_id, name and arguments", field)
		}
		all = turn(all)
		m := &all[len(all)-1]
		m.ToolCalls = append(m.ToolCalls, call{it.CallID, "function", function{it.Name, it.Arguments}})
		return all, nil
	case "function_call_output":
		text, err := texts(it.Output, field+".output")
		if err == nil && it.CallID == "" {
			err = refusal.Invalid(field+".call_id", "%s.call_id is missing: the function_call whose output it is", field)
		}
		return append(all, message{Role: "tool", Content: text, ToolCallID: it.CallID}), err
	}
	return nil, refusal.Unsupported(field+".type",
		"%s.type is %q; message, reasoning, function_call and function_call_output are supported", field, excerpt.Of(it.Type, 40))
}

// turn makes the last message one of the assistant.
func turn(all []message) []message {
	if n := len(all); n > 0 && all[n-1].Role == "assistant" {
		return all
	}
	return append(all, message{Role: "assistant"})
}

// texts joins the texts of a content: a text or a list of parts.
func texts(raw json.RawMessage, field string) (string, error) {
	var text string
	if !completion.IsSet(raw) || json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Type    string  `json:"type"`
		Text    *string `json:"text"`
		Refusal *string `json:"refusal"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", refusal.Invalid(field, "%s must be a text or a list of parts", field)
	}
	var all []string
	for i, p := range parts {
		switch {
		case slices.Contains([]string{"input_text", "output_text", "text", "summary_text", "reasoning_text"}, p.Type) && p.Text != nil:
			all = append(all, *p.Text)
		case p.Type == "refusal" && p.Refusal != nil:
			all = append(all, *p.Refusal)
		default:
			at := fmt.Sprintf("%s[%d]", field, i)
			return "", refusal.Unsupported(at, "%s has type %q; only parts with text are supported", at, excerpt.Of(p.Type, 40))
		}
	}
	return join(all), nil
}
