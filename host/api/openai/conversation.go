// SPDX-License-Identifier: MIT

package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
)

// Conversation are the fields of a body that become its prompt and say how the answer is taken
// apart.
type Conversation struct {
	Messages          []json.RawMessage `json:"messages"`
	Tools             []json.RawMessage `json:"tools"`
	ToolChoice        json.RawMessage   `json:"tool_choice"`
	ParallelToolCalls *bool             `json:"parallel_tool_calls"`

	ReasoningEffort string `json:"reasoning_effort"`
	ReasoningFormat string `json:"reasoning_format"`

	EnableThinking       *bool                      `json:"enable_thinking"` // as in chat_template_kwargs: DashScope's clients have it here
	TemplateArgs         map[string]json.RawMessage `json:"chat_template_kwargs"`
	AddGenerationPrompt  *bool                      `json:"add_generation_prompt"`
	ContinueFinalMessage json.RawMessage            `json:"continue_final_message"`

	// Left out: what a server does with a conversation that it keeps.
	ContextManagement json.RawMessage `json:"context_management" api:"left out"`
	LeftOut           []string        `json:"-"` // by a dialect that makes this body of its own
	Media             []media.Part    `json:"-"` // likewise, of which the messages have markers
	Fields            []string        `json:"-"` // likewise, which say the messages

	// Refused: they are what tools and tool_choice were before.
	Functions    json.RawMessage `json:"functions" api:"refused"`
	FunctionCall json.RawMessage `json:"function_call" api:"refused"`
}

// read checks the fields. Errors are *refusal.Error or *chat.Invalid.
func (b *Conversation) read() (c chat.Conversation, err error) {
	if completion.IsSet(b.Functions) {
		return c, refusal.Unsupported("functions", "functions are not supported by this server; use tools, each as {\"type\": \"function\", \"function\": ...}")
	}
	if completion.IsSet(b.FunctionCall) {
		return c, refusal.Unsupported("function_call", "function_call is not supported by this server; use tool_choice")
	}
	c = chat.Conversation{ParallelToolCalls: b.ParallelToolCalls, ReasoningEffort: b.ReasoningEffort, ReasoningFormat: b.ReasoningFormat,
		TemplateArgs: b.TemplateArgs, AddGenerationPrompt: b.AddGenerationPrompt, EnableThinking: b.EnableThinking}
	if c.Continue, c.Fresh, err = b.goesOn(); err != nil {
		return c, err
	}
	if c.Tools, c.LeftOut, err = chat.ParseTools(b.Tools, true); err != nil {
		return c, err
	}
	c.LeftOut = slices.Concat(c.LeftOut, b.LeftOut)
	if completion.IsSet(b.ContextManagement) {
		c.LeftOut = append(c.LeftOut, "context_management")
	}
	if c.ToolChoice, err = chat.ParseToolChoice(b.ToolChoice, c.Tools); err != nil {
		return c, err
	}
	c.Messages, c.Media, err = chat.ParseMessages(b.Messages)
	if b.Media != nil {
		c.Media = b.Media
	}
	for i := range min(len(b.Fields), len(c.Messages)) {
		c.Messages[i].Field = b.Fields[i]
	}
	return c, err
}

// goesOn reads continue_final_message: true, or what of the message the answer goes on with; or
// false, where the answer begins a fresh one whoever the last one is by.
func (b *Conversation) goesOn() (on chat.Continuation, fresh bool, err error) {
	switch text := string(b.ContinueFinalMessage); text {
	case "", "null":
		return "", false, nil
	case "false":
		return "", true, nil
	case "true":
		return chat.ContinueAuto, false, nil
	case `"content"`, `"reasoning_content"`:
		return chat.Continuation(strings.Trim(text, `"`)), false, nil
	}
	return "", false, &chat.Invalid{Field: "continue_final_message", Reason: fmt.Sprintf("must be true, false, %q or %q", chat.ContinueContent, chat.ContinueReasoning)}
}
