// SPDX-License-Identifier: MIT

// Package chat turns conversations and texts into prompts, which are tokens, and takes the answers
// to conversations apart. Its messages and tools have OpenAI's JSON: other dialects are translated
// into it.
package chat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/excerpt"
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

// Tool is a function that an answer may call, or a custom tool: a function with one argument, the
// text that the tool is given.
type Tool struct {
	Name   string
	JSON   json.RawMessage // in OpenAI's shape, with the keys in their order; the template sees it
	Field  string          // of the request, that has the JSON schema of its arguments
	Strict *bool           // whether all of the schema is to be enforced; nil where the tool does not say
	Custom bool
	Input  peg.Input // which the text for a custom tool must fit; none: any text
}

// ParseTools reads OpenAI's list of tools, custom ones among them in the shape of chats or of
// responses where the dialect has them. Those of other types are carried out by OpenAI: they are
// left out, and the fields that hold them are named. Errors are *Invalid.
func ParseTools(raw []json.RawMessage, customs bool) (tools []Tool, leftOut []string, _ error) {
	tools = make([]Tool, 0, len(raw))
	for i, r := range raw {
		field := fmt.Sprintf("tools[%d]", i)
		if t, err := TypeOfTool(r, field); err != nil {
			return nil, nil, err
		} else if t == typeCustom && customs {
			custom, err := parseCustom(r, field)
			if err != nil {
				return nil, nil, err
			}
			tools = append(tools, custom)
			continue
		} else if t != typeFunction {
			leftOut = append(leftOut, field)
			continue
		}
		name, err := checkTool(r, field)
		if err != nil {
			return nil, nil, err
		}
		tools = append(tools, Tool{Name: name, JSON: withoutNulls(r), Field: field + ".function.parameters", Strict: readFunction(r).Strict})
	}
	return tools, leftOut, nil
}

// TypeOfTool is the type of the tool that a field holds. One that is a function need not say so.
// Errors are *Invalid.
func TypeOfTool(raw json.RawMessage, field string) (string, error) {
	var t struct {
		Type     string          `json:"type"`
		Function json.RawMessage `json:"function"`
	}
	err := unmarshal(raw, &t, field, "a tool")
	if err == nil && t.Type == "" && len(t.Function) > 0 {
		return typeFunction, nil
	}
	if err == nil && t.Type == "" {
		err = &Invalid{field + ".type", "is missing"}
	}
	return t.Type, err
}

// checkTool returns the name of the function that a tool is.
func checkTool(raw json.RawMessage, field string) (string, error) {
	var t struct {
		Function *struct {
			Name        string          `json:"name"`
			Description *string         `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
			Strict      bool            `json:"strict"`
		} `json:"function"`
	}
	if err := unmarshal(raw, &t, field, "a tool"); err != nil {
		return "", err
	}
	switch {
	case t.Function == nil:
		return "", &Invalid{field + ".function", "is missing"}
	case t.Function.Name == "":
		return "", &Invalid{field + ".function.name", "is missing"}
	case len(t.Function.Parameters) > 0 && t.Function.Parameters[0] != '{' && !isNull(t.Function.Parameters) && (t.Function.Strict || !isEmptyList(t.Function.Parameters)):
		return "", &Invalid{field + ".function.parameters", "must be a JSON schema, which is an object"}
	}
	return t.Function.Name, nil
}

// Parameters is the JSON schema of the arguments; nil where the tool takes none.
func (t Tool) Parameters() json.RawMessage { return readFunction(t.JSON).Parameters }

type function struct {
	Parameters json.RawMessage `json:"parameters"`
	Strict     *bool           `json:"strict"`
}

func readFunction(raw json.RawMessage) function {
	var tool struct {
		Function function `json:"function"`
	}
	_ = json.Unmarshal(raw, &tool) // it was parsed before
	return tool.Function
}

// ToolChoice is whether an answer calls tools. The zero value leaves that to the model.
type ToolChoice struct {
	Mode string // auto, none, required; "" is auto
	Name string // of the one tool that must be called; Mode is required then
	// Allowed are the names of the tools that may be called; nil: all may.
	Allowed []string
}

// modes are the choices that name no tool.
var modes = []string{"auto", "none", "required"}

// ParseToolChoice reads OpenAI's tool_choice: auto, none, required, a function of tools, or some
// allowed ones, in the shape of chats or of responses. A mode may stand in an object too. Errors
// are *Invalid.
func ParseToolChoice(raw json.RawMessage, tools []Tool) (ToolChoice, error) {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return ToolChoice{}, nil
	}
	var mode string
	if raw[0] == '"' && json.Unmarshal(raw, &mode) == nil {
		return chooseMode(mode, "tool_choice", tools)
	}
	var choice struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
		Custom *struct {
			Name string `json:"name"`
		} `json:"custom"`
		Name    string        `json:"name"`          // of a custom tool in a response
		Allowed *allowedTools `json:"allowed_tools"` // of a chat; in a response the two are here
		Mode    string        `json:"mode"`
		Tools   []allowedTool `json:"tools"`
	}
	if err := unmarshal(raw, &choice, "tool_choice", "a choice of a function"); err != nil {
		return ToolChoice{}, err
	}
	switch {
	case choice.Type == "allowed_tools" && choice.Allowed != nil:
		return choice.Allowed.choose("tool_choice.allowed_tools", tools)
	case choice.Type == "allowed_tools":
		return allowedTools{choice.Mode, choice.Tools}.choose("tool_choice", tools)
	case slices.Contains(modes, choice.Type):
		return chooseMode(choice.Type, "tool_choice", tools)
	case choice.Type == typeCustom && choice.Custom != nil:
		return ChooseTool(choice.Custom.Name, tools, "tool_choice.custom.name")
	case choice.Type == typeCustom:
		return ChooseTool(choice.Name, tools, "tool_choice.name")
	case choice.Type != typeFunction && (choice.Type != "" || choice.Function.Name == ""):
		return ToolChoice{}, &Invalid{"tool_choice.type", fmt.Sprintf("is %q; only function, custom and allowed_tools are supported", excerpt.Of(choice.Type, 40))}
	}
	return ChooseTool(choice.Function.Name, tools, "tool_choice.function.name")
}

func chooseMode(mode, field string, tools []Tool) (ToolChoice, error) {
	if !slices.Contains(modes, mode) {
		return ToolChoice{}, &Invalid{field, fmt.Sprintf("is %q; it must be one of %s, or a function", excerpt.Of(mode, 40), strings.Join(modes, ", "))}
	}
	if mode == "required" && len(tools) == 0 {
		return ToolChoice{}, &Invalid{field, "is required, but there are no tools"}
	}
	return ToolChoice{Mode: mode}, nil
}

// allowedTools are the tools that may be called, each with its name as in a chat or in a response.
type allowedTools struct {
	Mode  string        `json:"mode"`
	Tools []allowedTool `json:"tools"`
}

type allowedTool struct {
	Type     string `json:"type"`
	Name     string `json:"name"`
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
	Custom struct {
		Name string `json:"name"`
	} `json:"custom"`
}

// choose is the choice of some tools, which a field names. Those of other types than function and
// custom are none of the tools here.
func (a allowedTools) choose(field string, tools []Tool) (ToolChoice, error) {
	mode := cmp.Or(a.Mode, "auto")
	choice := ToolChoice{Mode: mode, Allowed: []string{}}
	if !slices.Contains(modes, mode) {
		return choice, &Invalid{field + ".mode", fmt.Sprintf("is %q; it must be auto or required", excerpt.Of(mode, 40))}
	}
	taken := make(map[string]bool, len(tools)) // by the names of all: whether it is among the allowed ones
	for _, t := range tools {
		taken[t.Name] = false
	}
	for i, t := range a.Tools {
		if t.Type != typeFunction && t.Type != typeCustom && t.Type != "" {
			continue
		}
		name := cmp.Or(t.Function.Name, t.Custom.Name, t.Name)
		again, ok := taken[name]
		switch {
		case !ok:
			return choice, noSuchTool(name, fmt.Sprintf("%s.tools[%d]", field, i))
		case again:
			continue
		case len(choice.Allowed) == maxTools:
			return choice, &Invalid{field + ".tools", fmt.Sprintf("are more than the %d that are taken", maxTools)}
		}
		choice.Allowed, taken[name] = append(choice.Allowed, name), true
	}
	if mode == "required" && len(choice.Allowed) == 0 {
		return choice, &Invalid{field + ".mode", "is required, but no tools are allowed"}
	}
	return choice, nil
}

// ChooseTool is the choice of one tool, which the client named in a field.
func ChooseTool(name string, tools []Tool, field string) (ToolChoice, error) {
	if !slices.ContainsFunc(tools, func(t Tool) bool { return t.Name == name }) {
		return ToolChoice{}, noSuchTool(name, field)
	}
	return ToolChoice{Mode: "required", Name: name}, nil
}

// ChooseByWord is the choice of the tool of that name, or if there is none, a mode.
func ChooseByWord(word string, tools []Tool) (ToolChoice, error) {
	if choice, err := ChooseTool(word, tools, "tool_choice"); err == nil {
		return choice, nil
	}
	return chooseMode(word, "tool_choice", tools)
}

func noSuchTool(name, field string) error {
	return &Invalid{field, fmt.Sprintf("is %q, which is none of the tools", excerpt.Of(name, 64))}
}

// Offered are the tools that the model is told of: all, those that are allowed, or the one that is
// chosen.
func (c Conversation) Offered() []Tool {
	if c.ToolChoice.Allowed != nil {
		allowed := make(map[string]bool, len(c.ToolChoice.Allowed))
		for _, name := range c.ToolChoice.Allowed {
			allowed[name] = true
		}
		return slices.DeleteFunc(slices.Clone(c.Tools), func(t Tool) bool { return !allowed[t.Name] })
	}
	if c.ToolChoice.Name == "" {
		return c.Tools
	}
	i := slices.IndexFunc(c.Tools, func(t Tool) bool { return t.Name == c.ToolChoice.Name })
	return c.Tools[max(i, 0):][:1]
}

// withoutNulls is a tool whose function has no member that is null, such as its description:
// clients mean by it that there is none, and a template would write it out. Parameters that are an
// empty list are none either: PHP writes an empty object so. The other members keep their order.
func withoutNulls(tool json.RawMessage) json.RawMessage {
	var t struct {
		Function map[string]json.RawMessage `json:"function"`
	}
	if json.Unmarshal(tool, &t) != nil {
		return tool
	}
	for name, value := range t.Function {
		if dropNull(name, value) == nil {
			return rewriteMembers(tool, func(name string, value json.RawMessage) json.RawMessage {
				if name == "function" {
					return rewriteMembers(value, dropNull)
				}
				return value
			})
		}
	}
	return tool
}

func dropNull(name string, value json.RawMessage) json.RawMessage {
	if isNull(value) || name == "parameters" && isEmptyList(value) {
		return nil
	}
	return value
}

// rewriteMembers puts into an object what change makes of the values of its members; nil: leave out
// the member.
func rewriteMembers(object json.RawMessage, change func(name string, value json.RawMessage) json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(object))
	_, _ = d.Token() // it was decoded before, like all that follows
	out := []byte{'{'}
	for d.More() {
		var value json.RawMessage
		token, _ := d.Token()
		name, ok := token.(string)
		if !ok || d.Decode(&value) != nil {
			return object
		}
		if value = change(name, value); value == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		key, _ := json.Marshal(name)
		out = append(append(append(out, key...), ':'), value...)
	}
	return append(out, '}')
}

func isEmptyList(raw json.RawMessage) bool {
	var list []json.RawMessage
	return len(raw) > 0 && raw[0] == '[' && json.Unmarshal(raw, &list) == nil && len(list) == 0
}

func isNull(raw json.RawMessage) bool { return bytes.Equal(raw, []byte("null")) }
