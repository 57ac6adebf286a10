// SPDX-License-Identifier: MIT

// Package anthropic serves Anthropic's Messages API.
package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/integer"
	"github.com/penstock/penstock/host/refusal"
)

// API answers Anthropic's routes.
type API struct{ *wire.Server }

// Routes are the routes of the API.
func (a API) Routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodPost, Path: "/v1/messages", Handler: a.messages, Body: messagesBody{}},
		{Method: http.MethodPost, Path: "/v1/messages/count_tokens", Handler: a.countTokens, Body: messagesBody{}},
	}
}

func (a API) messages(c echo.Context) error {
	r, b, err := a.read(c, (*messagesBody).checkAnswer)
	if err != nil {
		return err
	}
	return a.Answer(c, r, newShape(r, b), b.Stream)
}

func (a API) countTokens(c echo.Context) error {
	r, _, err := a.read(c, func(*messagesBody) error { return nil })
	if err != nil {
		return err
	}
	defer r.Release()
	wire.Warn(c, r.LeftOut(), nil)
	return c.JSON(http.StatusOK, map[string]int{"input_tokens": len(r.Prompts[0])})
}

// read makes the prompt of a body. check is for what only one of the routes asks of it.
func (a API) read(c echo.Context, check func(*messagesBody) error) (*completion.Prompted, *messagesBody, error) {
	nameRequest(c)
	b := &messagesBody{CommonFields: completion.DefaultCommonFields()}
	size, err := wire.ReadBody(c, b)
	if err != nil {
		return nil, nil, err
	}
	if err := b.check(); err != nil {
		return nil, nil, err
	}
	if err := check(b); err != nil {
		return nil, nil, err
	}
	asked, err := b.asked(wire.CallerOf(c), size)
	if err != nil {
		return nil, nil, completion.AsError(err, "messages")
	}
	r, err := a.Prompt(c.Request().Context(), asked)
	return r, b, err
}

// nameRequest gives the request's id the header that Anthropic's clients read.
func nameRequest(c echo.Context) {
	h := c.Response().Header()
	h.Set("Request-Id", h.Get(echo.HeaderXRequestID))
}

// errorBody is an error, as an answer or as an event.
type errorBody struct {
	Type  string      `json:"type"`
	Error errorObject `json:"error"`
}

type errorObject struct {
	Type    string `json:"type"`
	Message string `json:"message"`

	// Additions of ours: what OpenAI's format contains about an error.
	Code  string `json:"code,omitempty"`
	Param string `json:"param,omitempty"`
}

// EventName is the name of the event.
func (errorBody) EventName() string { return "error" }

// Error is the wire.ErrorShape of the API.
func Error(e *refusal.Error) any {
	message := e.Message
	if e.Code == refusal.TooLongCode { // in words that Anthropic's clients look for
		message = "prompt is too long: " + message
		if tokens := e.Numbers[refusal.PromptTokens]; tokens > 0 {
			message = fmt.Sprintf("prompt is too long: %d tokens > %d maximum", tokens, e.Numbers[refusal.ContextTokens])
		}
	}
	return errorBody{Type: "error", Error: errorObject{Type: typeOf(wire.StatusOf(e)), Message: message, Code: e.Code, Param: e.Field}}
}

// typeOf is Anthropic's word for the errors of a status.
func typeOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusServiceUnavailable:
		return "overloaded_error"
	}
	if status >= http.StatusInternalServerError {
		return "api_error"
	}
	return "invalid_request_error"
}

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
