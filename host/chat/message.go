// SPDX-License-Identifier: MIT

// Package chat turns conversations and texts into prompts, which are tokens, and takes the answers
// to conversations apart. Its messages and tools have OpenAI's JSON, which parse.go, part.go and
// tool.go read: other dialects are translated into it.
package chat

import (
	"encoding/json"

	"github.com/penstock/penstock/host/grammar/peg"
	"github.com/penstock/penstock/host/grammar/schema"
	"github.com/penstock/penstock/host/media"
)

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

// Conversation is what becomes a prompt. What is nil or empty is as the server is configured, or
// else as llama-server has it.
type Conversation struct {
	Messages []Message
	Media    []media.Part // the pictures and sounds, in the order of their markers in the messages
	Written  *string      // the prompt's text by a template plugin; nil: the model's template makes it

	Tools             []Tool
	ToolChoice        ToolChoice
	LeftOut           []string // the fields of the request that are ignored, though they ask for something
	ParallelToolCalls *bool    // nil: as the template can

	Format // what the answer looks like, beside tools: one without calls

	EnableThinking  *bool                      // nil: where the template does
	ReasoningEffort string                     // none, or a level that the template knows
	ReasoningFormat string                     // auto, none, deepseek or deepseek-legacy, which are llama-server's
	TemplateArgs    map[string]json.RawMessage // chat_template_kwargs

	Beginning // how the answer begins
}

// Format is what an answer looks like. One of JSONSchema, Grammar and Regex may be set.
type Format struct {
	JSONSchema string         // "": none
	Schemas    schema.Options // how it, and those of tools, are read
	Grammar    string         // in GBNF
	Regex      string         // that it matches as a whole, in Go's syntax
	OwnBegin   bool           // these begin where they say, and not with the answer's content; a Grammar not beside tools
}

// Beginning is how an answer begins.
type Beginning struct {
	// Continue is whether the answer goes on with the last message instead of beginning a new one.
	// Where it is empty, it does so with one of the assistant's, and then tells that message's
	// part of the answer too.
	Continue            Continuation
	AddGenerationPrompt *bool // nil: unless the answer goes on with the last message
	Fresh               bool  // the answer begins a new message, whoever the last one is by
	Echo                bool  // tell the last message's part in any case
}

// Continuation is what of the last message an answer goes on with.
type Continuation string

// The values of a Continuation. ContinueAuto is the reasoning of a message that has nothing else,
// or else its content.
const (
	ContinueAuto      Continuation = "auto"
	ContinueContent   Continuation = "content"
	ContinueReasoning Continuation = "reasoning_content"
)

// Prompt is what a conversation has become. The assistant's turn is open at its end.
type Prompt struct {
	Text   string
	Tokens []int32 // of the text; a Renderer leaves them out

	Custom    []string // the names of the custom tools that the answer may call
	Stops     []string // texts that end an answer by the template's word, besides the model's own tokens
	Preserved []string // control tokens whose text belongs to the answer

	Rules    *peg.Format // what the answer must look like, with the schemas of the conversation; nil: the template leaves that open
	Lazy     bool        // it applies from the first trigger on
	Triggers []Trigger

	GenerationPrompt string   // the end of Text, where the assistant's turn begins
	ThinkingStart    string   // what begins reasoning; "": the template has none
	ThinkingEnds     []string // what ends it, the usual one first

	Format          string // llama.cpp's name of the answer's format; "": the template's text is a plugin's
	ReasoningFormat string // as in the conversation, settled

	HasParts  bool                   // the answer may have others than content, which a parser tells apart
	NewParser func() (Parser, error) // makes one for an answer that has
}

// Trigger starts a lazy grammar.
type Trigger struct {
	Kind  string // token, word, pattern, pattern_full
	Value string
	Token int32 // where Kind is token
}

// WithoutEmptyEnd is the conversation without a last message of the assistant that says nothing:
// coding agents send one where they ask for a new answer. There is nothing in it to go on with,
// and a prompt that did would lack what begins the assistant's turn. Who asks for a fresh answer by
// name means the message.
func (c Conversation) WithoutEmptyEnd() Conversation {
	last := len(c.Messages) - 1
	if c.Fresh || last < 1 || !c.Messages[last].saysNothing() {
		return c
	}
	c.Messages, c.Continue, c.AddGenerationPrompt = c.Messages[:last:last], "", nil
	c.Fresh = true
	return c
}

// saysNothing reports whether a message is the assistant's and has neither text nor calls.
func (m Message) saysNothing() bool {
	for _, part := range m.Parts {
		if part != "" {
			return false
		}
	}
	return m.Role == "assistant" && (m.Content == "" || m.Parts != nil) && m.Reasoning == "" && len(m.ToolCalls) == 0
}
