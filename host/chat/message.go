// SPDX-License-Identifier: MIT

// Package chat holds conversations and how they become prompts.
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

// Conversation is the input of a template.
type Conversation struct {
	Messages            []Message
	Tools               json.RawMessage            // OpenAI's tools array; nil where none
	ToolChoice          string                     // auto, none, required; empty is auto
	JSONSchema          string                     // response_format's schema; empty where none
	AddGenerationPrompt bool                       // end with the opening of an assistant turn
	TemplateArgs        map[string]json.RawMessage // chat_template_kwargs
}

// Prompt is a rendered conversation.
type Prompt struct {
	Text            string
	Stops           []string  // strings the template says end an answer, besides the model's own tokens
	Grammar         string    // GBNF the template wants for tool calls or a schema; empty where none
	GrammarLazy     bool      // the grammar starts at a trigger
	Triggers        []Trigger // of a lazy grammar
	PreservedTokens []string  // special tokens to keep in the text
	Format          string    // llama.cpp's name of the chat format
}

// Trigger starts a lazy grammar.
type Trigger struct {
	Kind  string // token, word, pattern, pattern_full
	Value string
	Token int32 // for kind token
}

// Renderer turns a conversation into a prompt with the model's own template.
type Renderer interface {
	Render(c Conversation) (Prompt, error)
}
