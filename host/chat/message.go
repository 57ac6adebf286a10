// SPDX-License-Identifier: MIT

// Package chat turns conversations and texts into prompts, which are tokens, and takes the answers
// to conversations apart. Its messages and tools have OpenAI's JSON, which parse.go, part.go and
// tool.go read: other dialects are translated into it.
package chat

// Message is one turn of a conversation, in OpenAI's shape with its content flattened to text.
type Message struct {
	Role       string     `json:"role"` // system, developer, user, assistant, tool
	Content    string     `json:"content"`
	Parts      []string   `json:"-"`                           // the parts of Content where it came as a list: some templates render those one by one
	Reasoning  string     `json:"reasoning_content,omitempty"` // what an assistant turn thought before it answered
	Name       string     `json:"name,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	Field      string     `json:"-"` // of the request that says it; "": its place in messages
}

// ToolCall is a function call an assistant turn made.
type ToolCall struct {
	ID       string   `json:"id,omitempty"`
	Type     string   `json:"type"` // function
	Function Function `json:"function"`
}

// Function is what a ToolCall calls.
type Function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // a JSON object's text
}

// NewToolCall is the call of a function with a JSON object's text.
func NewToolCall(id, name, arguments string) ToolCall {
	return ToolCall{ID: id, Type: typeFunction, Function: Function{Name: name, Arguments: arguments}}
}

const typeFunction = "function"
