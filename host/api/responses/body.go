// SPDX-License-Identifier: MIT

package responses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/refusal"
)

// body is POST /v1/responses.
type body struct {
	completion.CommonFields

	Model             string            `json:"model"`
	Input             json.RawMessage   `json:"input"`
	Instructions      *string           `json:"instructions"`
	Stream            bool              `json:"stream"`
	MaxOutputTokens   *int              `json:"max_output_tokens"`
	Tools             []json.RawMessage `json:"tools"`
	ToolChoice        json.RawMessage   `json:"tool_choice"`
	ParallelToolCalls *bool             `json:"parallel_tool_calls"`
	Text              struct {
		Format json.RawMessage `json:"format"`
	} `json:"text"`
	Reasoning struct {
		Effort *string `json:"effort"`
	} `json:"reasoning"`
	TopLogprobs  *int                       `json:"top_logprobs"`
	Include      []string                   `json:"include"`
	Metadata     map[string]json.RawMessage `json:"metadata"`
	TemplateArgs map[string]json.RawMessage `json:"chat_template_kwargs"`

	ContextManagement json.RawMessage `json:"context_management" api:"left out"` // it shortens a conversation that is kept

	// Refused while nothing acts on them.
	PreviousResponse json.RawMessage `json:"previous_response_id" api:"refused"`
	Conversation     json.RawMessage `json:"conversation" api:"refused"`
	Prompt           json.RawMessage `json:"prompt" api:"refused"`
	Background       json.RawMessage `json:"background" api:"refused"`
}

func newBody() *body { return &body{CommonFields: completion.DefaultCommonFields()} }

// maxLogprobs bounds the alternatives reported with each token.
const maxLogprobs = 20

// includeLogprobs is the entry of include that asks for log-probabilities.
const includeLogprobs = "message.output_text.logprobs"

// asked is the request that a body of size bytes is.
func (b *body) asked(from completion.Caller, size int) (a completion.Asked, err error) {
	for _, f := range []struct {
		name, remedy string
		raw          json.RawMessage
	}{
		{"previous_response_id", "responses are not stored: send the earlier items in input", b.PreviousResponse},
		{"conversation", "conversations are not stored: send the earlier items in input", b.Conversation},
		{"prompt", "prompts are not stored: send their text in instructions and input", b.Prompt},
		{"background", "answers are not computed in the background: leave it out", b.Background},
	} {
		if completion.IsSet(f.raw) {
			return a, refusal.Unsupported(f.name, "%s is not supported by this server; %s", f.name, f.remedy)
		}
	}
	if most := b.MaxOutputTokens; most != nil && *most < 1 {
		return a, refusal.Invalid("max_output_tokens", "max_output_tokens is %d; it must be at least 1", *most)
	}
	if top := b.TopLogprobs; top != nil && (*top < 0 || *top > maxLogprobs) {
		return a, refusal.Invalid("top_logprobs", "top_logprobs is %d; it must be from 0 to %d", *top, maxLogprobs)
	}
	a = completion.Asked{Caller: from, ModelName: b.Model, PromptField: "input", Size: size, Common: b.CommonFields, Answers: completion.OneAnswer()}
	c, err := b.conversation()
	if err != nil {
		return a, err
	}
	a.Source, a.Limit = completion.Chat{Conversation: c}, b.MaxOutputTokens
	if slices.Contains(b.Include, includeLogprobs) {
		a.LogprobsField = "include"
		if a.Logprobs = 0; b.TopLogprobs != nil {
			a.Logprobs = *b.TopLogprobs
		}
	}
	a.Format, err = b.format()
	return a, err
}

// format is what text.format says; without a Field where it asks for nothing.
func (b *body) format() (f completion.Format, _ error) {
	const field = "text.format"
	raw := b.Text.Format
	if !completion.IsSet(raw) {
		return f, nil
	}
	var said struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema"`
		Strict *bool           `json:"strict"`
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		return f, refusal.Invalid(field, "text.format must be an object with a type")
	}
	hasSchema := completion.IsSet(said.Schema) || bytes.Equal(bytes.TrimSpace(said.Schema), []byte("{}"))
	switch {
	case said.Type == "text":
		return f, nil
	case said.Type == "json_object" && (len(said.Schema) == 0 || string(said.Schema) == "null"):
		return completion.Format{Field: field, In: ".schema", JSONSchema: completion.AnyObject}, nil
	case said.Type == "json_object":
		return completion.Format{Field: field, In: ".schema", JSONSchema: said.Schema}, nil
	case said.Type != "json_schema":
		return f, refusal.Invalid("text.format.type", "text.format.type is %q; it must be text, json_object or json_schema", excerpt.Of(said.Type, 40))
	case !hasSchema:
		return f, refusal.Invalid("text.format.schema", "text.format.schema is missing; text.format.type is json_schema")
	}
	return completion.Format{Field: field, In: ".schema", JSONSchema: said.Schema, Strict: said.Strict}, nil
}

// tools gives a conversation the tools, which have the function one level deeper in a chat
// completion.
func (b *body) tools(c *chat.Conversation) (err error) {
	tools := make([]json.RawMessage, 0, len(b.Tools))
	for i, raw := range b.Tools {
		field := fmt.Sprintf("tools[%d]", i)
		if kind, err := chat.TypeOfTool(raw, field); err != nil {
			return err
		} else if kind != "function" {
			tools = append(tools, raw) // which a chat completion takes or leaves out as it is
			continue
		}
		var t struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(raw, &t); err != nil {
			return refusal.Invalid(field, "%s is not a tool object", field)
		}
		if t.Name == "" {
			return refusal.Invalid(field+".name", "%s.name is missing", field)
		}
		tools = append(tools, slices.Concat([]byte(`{"type":"function","function":`), raw, []byte("}")))
	}
	if c.Tools, c.LeftOut, err = chat.ParseTools(tools, true); err != nil {
		return err
	}
	choice := b.ToolChoice
	var named struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	if json.Unmarshal(choice, &named) == nil && named.Type == "function" {
		choice, err = json.Marshal(map[string]any{"type": "function", "function": map[string]string{"name": named.Name}})
		if err != nil {
			return err
		}
	}
	c.ToolChoice, err = chat.ParseToolChoice(choice, c.Tools)
	return err
}
