// SPDX-License-Identifier: MIT

// Package chat turns conversations and texts into prompts, which are tokens.
package chat

import "encoding/json"

// Message is one turn of a conversation, in OpenAI's shape with its content flattened to text.
type Message struct {
	Role       string     `json:"role"` // system, developer, user, assistant, tool
	Content    string     `json:"content"`
	Name       string     `json:"name,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

// ToolCall is a function call an assistant turn made.
type ToolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// Conversation is what becomes a prompt.
type Conversation struct {
	Messages     []Message
	TemplateArgs map[string]json.RawMessage // chat_template_kwargs
	Written      *string                    // the prompt's text by a template plugin; nil: the model's template makes it
}

// Prompt is what a conversation has become. The assistant's turn is open at its end.
type Prompt struct {
	Text   string
	Stops  []string // texts that end an answer by the template's word, besides the model's own tokens
	Tokens []int32  // of the text; a Renderer leaves them out
}
