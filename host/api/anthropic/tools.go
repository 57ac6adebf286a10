// SPDX-License-Identifier: MIT

package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/excerpt"
)

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
