// SPDX-License-Identifier: MIT

package anthropic

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/integer"
	"github.com/penstock/penstock/host/refusal"
)

// messagesBody is POST /v1/messages.
type messagesBody struct {
	completion.CommonFields

	Model         string                     `json:"model"`
	Messages      []json.RawMessage          `json:"messages"`
	System        json.RawMessage            `json:"system"`
	MaxTokens     *int                       `json:"max_tokens"`
	StopSequences []string                   `json:"stop_sequences"`
	Stream        bool                       `json:"stream"`
	Tools         []json.RawMessage          `json:"tools"`
	ToolChoice    json.RawMessage            `json:"tool_choice"`
	Thinking      json.RawMessage            `json:"thinking"`
	OutputConfig  outputConfig               `json:"output_config"`
	OutputFormat  *outputFormat              `json:"output_format"`        // an older name of output_config.format
	TemplateArgs  map[string]json.RawMessage `json:"chat_template_kwargs"` // an addition of ours

	// Refused: nothing acts on them.
	Container  json.RawMessage `json:"container" api:"refused"`
	MCPServers json.RawMessage `json:"mcp_servers" api:"refused"`

	// Left out: it edits a conversation that has grown long, which this server does not.
	ContextManagement json.RawMessage `json:"context_management" api:"left out"`
}

// hottest is the highest temperature that Anthropic's API takes.
const hottest = 1

// check refuses what this server does not do and what is out of range, besides the common fields.
func (b *messagesBody) check() error {
	for _, f := range []struct {
		name string
		raw  json.RawMessage
	}{{"container", b.Container}, {"mcp_servers", b.MCPServers}} {
		if completion.IsSet(f.raw) {
			return refusal.Unsupported(f.name, "%s is not supported by this server", f.name)
		}
	}
	if b.Temperature < 0 || b.Temperature > hottest { // neither where it is not said
		return refusal.Invalid("temperature", "temperature is %v; it must be a number from 0 to %d", b.Temperature, hottest)
	}
	if len(b.StopSequences) > completion.MaxStops {
		return refusal.Invalid("stop_sequences", "stop_sequences has %d texts; at most %d are allowed", len(b.StopSequences), completion.MaxStops)
	}
	for i, stop := range b.StopSequences {
		if strings.TrimSpace(stop) == "" {
			field := "stop_sequences[" + strconv.Itoa(i) + "]"
			return refusal.Invalid(field, "%s is %q; it must have more than white space", field, stop)
		}
	}
	if b.OutputConfig.Format == nil {
		return b.OutputFormat.check("output_format")
	}
	return b.OutputConfig.Format.check("output_config.format")
}

// checkAnswer is for the route that answers: counting takes no max_tokens.
func (b *messagesBody) checkAnswer() error {
	switch {
	case b.MaxTokens == nil:
		return refusal.Invalid("max_tokens", "max_tokens is missing; say how many tokens the message may have at most")
	case *b.MaxTokens < 1:
		return refusal.Invalid("max_tokens", "max_tokens is %d; it must be at least 1", *b.MaxTokens)
	}
	return nil
}

// asked is the request that a body of size bytes is.
func (b *messagesBody) asked(from completion.Caller, size int) (completion.Asked, error) {
	c, err := b.conversation()
	a := completion.Asked{Caller: from, ModelName: b.Model, PromptField: "messages", Common: b.CommonFields, Size: size,
		Source: completion.Chat{Conversation: c}, Answers: completion.OneAnswer()}
	a.Limit, a.Stops = b.MaxTokens, b.StopSequences
	switch f := b.OutputConfig.Format; {
	case f != nil:
		a.Format = completion.Format{Field: "output_config.format", In: ".schema", JSONSchema: f.Schema}
	case b.OutputFormat != nil:
		a.Format = completion.Format{Field: "output_format", In: ".schema", JSONSchema: b.OutputFormat.Schema}
	}
	return a, err
}

// conversation reads what becomes the prompt, and puts how long the model may think among the
// common fields.
func (b *messagesBody) conversation() (c chat.Conversation, err error) {
	c = chat.Conversation{ReasoningEffort: b.OutputConfig.Effort, TemplateArgs: b.TemplateArgs}
	thinks, budget, err := readThinking(b.Thinking)
	if err != nil {
		return c, err
	}
	if _, told := b.TemplateArgs["enable_thinking"]; !told || thinks {
		c.EnableThinking = &thinks
	}
	if budget != nil {
		b.ThinkingBudget = budget
	}
	if c.Tools, c.LeftOut, err = readTools(b.Tools); err != nil {
		return c, err
	}
	if completion.IsSet(b.ContextManagement) {
		c.LeftOut = append(c.LeftOut, "context_management")
	}
	if c.ToolChoice, c.ParallelToolCalls, err = readToolChoice(b.ToolChoice, c.Tools); err != nil {
		return c, err
	}
	var leftOut []string
	if c.Messages, c.Media, leftOut, err = readMessages(b.System, b.Messages); err != nil {
		return c, err
	}
	c.LeftOut = append(c.LeftOut, leftOut...)
	if last := c.Messages[len(c.Messages)-1]; last.Role == "assistant" {
		c.Continue, c.AddGenerationPrompt = chat.ContinueAuto, new(bool)
		if len(last.ToolCalls) > 0 {
			return c, &chat.Invalid{Field: "messages", Reason: "end with a tool_use block; the tool_result block for it is missing"}
		}
	}
	return c, nil
}

// readThinking reads whether the model thinks before it answers, and for how many tokens at most;
// nil: as it likes. Without the field it does not, as with Anthropic: their clients then look for
// a text in the first block.
func readThinking(raw json.RawMessage) (on bool, budget *int, err error) {
	if isNull(raw) {
		return false, nil, nil
	}
	var t struct {
		Type   string `json:"type"`
		Budget *int   `json:"budget_tokens"`
	}
	if err := integer.Unmarshal(raw, &t); err != nil {
		return false, nil, refusal.Invalid("thinking", "thinking is not an object with a type (enabled, disabled or adaptive) and budget_tokens, an integer")
	}
	switch t.Type {
	case "disabled":
		return false, nil, nil
	case "adaptive":
		return true, nil, nil
	case "enabled":
		if t.Budget == nil || *t.Budget < 1 {
			return false, nil, refusal.Invalid("thinking.budget_tokens", "thinking.budget_tokens must be at least 1 where thinking is enabled")
		}
		return true, t.Budget, nil
	}
	return false, nil, refusal.Invalid("thinking.type", "thinking.type is %q; it must be enabled, disabled or adaptive", excerpt.Of(t.Type, longestWord))
}

// outputConfig is what the answer must look like, and with how much effort it is made.
type outputConfig struct {
	Effort string        `json:"effort"`
	Format *outputFormat `json:"format"`
}

// outputFormat is the schema of an answer.
type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// check refuses a format in a field that is not a schema.
func (f *outputFormat) check(field string) error {
	switch {
	case f == nil:
	case f.Type != "json_schema":
		return refusal.Invalid(field+".type", "%s.type is %q; it must be json_schema", field, excerpt.Of(f.Type, longestWord))
	case !isObject(f.Schema):
		return &chat.Invalid{Field: field + ".schema", Reason: "must be a JSON schema, which is an object"}
	}
	return nil
}
