// SPDX-License-Identifier: MIT

package responses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/penstock/penstock/host/api/openai"
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

// includeLogprobs is the entry of include that asks for log-probabilities.
const includeLogprobs = "message.output_text.logprobs"

// chat is the chat completion that answers the same.
func (b *body) chat() (*openai.ChatBody, error) {
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
			return nil, refusal.Unsupported(f.name, "%s is not supported by this server; %s", f.name, f.remedy)
		}
	}
	if most := b.MaxOutputTokens; most != nil && *most < 1 {
		return nil, refusal.Invalid("max_output_tokens", "max_output_tokens is %d; it must be at least 1", *most)
	}
	if top := b.TopLogprobs; top != nil && (*top < 0 || *top > openai.MaxLogprobs) {
		return nil, refusal.Invalid("top_logprobs", "top_logprobs is %d; it must be from 0 to %d", *top, openai.MaxLogprobs)
	}
	conversation, err := b.conversation()
	if err != nil {
		return nil, err
	}
	conversation.TemplateArgs, conversation.ParallelToolCalls, conversation.ContextManagement = b.TemplateArgs, b.ParallelToolCalls, b.ContextManagement
	c := &openai.ChatBody{AnswerFields: openai.AnswerFields{CommonFields: b.CommonFields, Model: b.Model, Stream: b.Stream, MaxTokens: b.MaxOutputTokens, FormatField: "text.format"},
		Conversation: conversation, TopLogprobs: b.TopLogprobs}
	if effort := b.Reasoning.Effort; effort != nil {
		c.ReasoningEffort = *effort
	}
	if c.Logprobs = slices.Contains(b.Include, includeLogprobs); !c.Logprobs {
		c.TopLogprobs = nil
	}
	if c.ResponseFormat, err = b.format(); err != nil {
		return nil, err
	}
	return c, b.tools(c)
}

// format is response_format of a chat completion, which has the name and the schema one level
// deeper.
func (b *body) format() (json.RawMessage, error) {
	raw := b.Text.Format
	if !completion.IsSet(raw) {
		return nil, nil
	}
	var f struct {
		Type   string          `json:"type"`
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
		Strict *bool           `json:"strict"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, refusal.Invalid("text.format", "text.format must be an object with a type")
	}
	if !slices.Contains([]string{"text", "json_object", "json_schema"}, f.Type) {
		return nil, refusal.Invalid("text.format.type", "text.format.type is %q; it must be text, json_object or json_schema", excerpt.Of(f.Type, 40))
	}
	if f.Type != "json_schema" {
		return raw, nil
	}
	if !completion.IsSet(f.Schema) && !bytes.Equal(bytes.TrimSpace(f.Schema), []byte("{}")) {
		return nil, refusal.Invalid("text.format.schema", "text.format.schema is missing; text.format.type is json_schema")
	}
	return json.Marshal(map[string]any{"type": f.Type, f.Type: map[string]any{"name": f.Name, "schema": f.Schema, "strict": f.Strict}})
}

// tools gives a chat completion the tools, which have the function one level deeper there.
func (b *body) tools(c *openai.ChatBody) error {
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
	c.Tools, c.ToolChoice = tools, b.ToolChoice
	var named struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	if json.Unmarshal(b.ToolChoice, &named) == nil && named.Type == "function" {
		choice, err := json.Marshal(map[string]any{"type": "function", "function": map[string]string{"name": named.Name}})
		c.ToolChoice = choice
		return err
	}
	return nil
}
