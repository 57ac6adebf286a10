// SPDX-License-Identifier: MIT

// Package anthropic serves Anthropic's Messages API.
package anthropic

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/integer"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/scheduler/answer"
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

// message is the whole answer, and what a stream begins with.
type message struct {
	ID           string         `json:"id"`
	Type         string         `json:"type"`
	Role         string         `json:"role"`
	Model        string         `json:"model"`
	Content      []contentBlock `json:"content"`
	StopReason   *string        `json:"stop_reason"`
	StopSequence *string        `json:"stop_sequence"`
	Usage        usage          `json:"usage"`

	Trace     []wire.TokenTrace `json:"trace,omitempty"`     // an addition of ours
	Recording string            `json:"recording,omitempty"` // an addition of ours
	Receipt   string            `json:"receipt,omitempty"`   // likewise
}

// contentBlock is a part of an answer. Fields that its type does not have are nil.
type contentBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature *string         `json:"signature,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
}

type usage struct {
	Input      int `json:"input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"` // always 0: what is cached costs nothing more here
	CacheRead  int `json:"cache_read_input_tokens"`
	Output     int `json:"output_tokens"`

	Details *outputDetails `json:"output_tokens_details"` // nil: no token is of a part of its own
}

type outputDetails struct {
	Thinking int `json:"thinking_tokens"`
}

// usageOf counts as Anthropic does: what was cached is no input.
func usageOf(prompt, cached, generated, thinking int) usage {
	u := usage{Input: prompt - cached, CacheRead: cached, Output: generated}
	if thinking > 0 {
		u.Details = &outputDetails{thinking}
	}
	return u
}

// shape is Anthropic's message, whole or as a stream.
type shape struct {
	message
	stops  []string // of the client
	limit  int      // the most tokens that it wants
	begin  []any    // the event that is still to be sent before all others
	begun  bool     // it was sent
	blocks blocks
}

func newShape(r *completion.Prompted, b *messagesBody) *shape {
	m := message{ID: "msg_" + rand.Text(), Type: "message", Role: "assistant", Model: r.Model.Name, Content: []contentBlock{}}
	return &shape{message: m, stops: b.StopSequences, limit: r.MaxTokens}
}

// Framing implements wire.Shape.
func (*shape) Framing() wire.Framing { return wire.Events }

// Start implements wire.Shape. Nothing is sent yet: an answer that fails before its first token
// has an error's status.
func (s *shape) Start(c *completion.Choice) []any {
	first := s.message
	first.Usage = usageOf(c.Start.PromptTokens, c.Start.CachedTokens, 0, 0)
	s.begin = []any{startEvent{"message_start", first}}
	return nil
}

// Part implements wire.Shape.
func (s *shape) Part(c *completion.Choice, d completion.Delta) []any {
	return s.startBefore(s.blocks.add(d, wire.DetailsOf(c, d).Traces))
}

// startBefore puts the first event before others, once there are any.
func (s *shape) startBefore(events []any) []any {
	if len(events) == 0 {
		return nil
	}
	events = append(s.begin, events...)
	s.begin, s.begun = nil, true
	return events
}

// Last implements wire.Shape.
func (s *shape) Last(c *completion.Choice) []any {
	s.end(c, s.blocks.calls > 0)
	end := endEvent{Type: "message_delta", Delta: ending{s.StopReason, s.StopSequence}, Usage: s.Usage, Recording: s.Recording, Receipt: s.Receipt}
	return s.startBefore(append(s.blocks.close(), end, plainEvent{"message_stop"}))
}

// Failed implements wire.Failing. A message that was waited for begins before its error: clients
// that find the error first take it for one of the connection, and repeat the request.
func (s *shape) Failed(e *refusal.Error) []any {
	if s.begin == nil && !s.begun { // it has waited for a slot all the time
		s.begin = []any{startEvent{"message_start", s.message}}
	}
	return s.startBefore([]any{Error(e)})
}

// Closing implements wire.Shape.
func (*shape) Closing([]*completion.Choice) []any { return nil }

// Whole implements wire.Shape.
func (s *shape) Whole(choices []*completion.Choice, wholes []*wire.Whole) any {
	w := wholes[0]
	s.Trace = w.Traces
	if thinking := w.Reasoning.String(); thinking != "" {
		s.Content = append(s.Content, contentBlock{Type: "thinking", Thinking: &thinking, Signature: new(string)})
	}
	if text := w.Content.String(); text != "" {
		s.Content = append(s.Content, contentBlock{Type: "text", Text: &text})
	}
	for _, call := range w.Calls {
		if input := json.RawMessage(call.Arguments); json.Valid(input) { // a call that was cut off is not to be carried out
			s.Content = append(s.Content, contentBlock{Type: "tool_use", ID: call.ID, Name: call.Name, Input: input})
		}
	}
	s.end(choices[0], len(w.Calls) > 0)
	return s.message
}

// end fills in how the message ended.
func (s *shape) end(c *completion.Choice, called bool) {
	reason := "end_turn"
	switch e := c.End; {
	case e.Reason == answer.ReasonLength && e.Usage.Generated < s.limit:
		reason = "model_context_window_exceeded"
	case e.Reason == answer.ReasonLength:
		reason = "max_tokens"
	case slices.Contains(s.stops, e.Stop):
		reason = "stop_sequence"
		s.StopSequence = &e.Stop
	case called:
		reason = "tool_use"
	}
	s.StopReason, s.Recording, s.Receipt = &reason, c.Request.RecordingID(), c.Receipt()
	s.Usage = usageOf(c.End.Usage.Prompt, c.End.Usage.Cached, c.End.Usage.Generated, c.ReasoningTokens())
}

type startEvent struct {
	Type    string  `json:"type"`
	Message message `json:"message"`
}

type blockStartEvent struct {
	Type  string       `json:"type"`
	Index int          `json:"index"`
	Block contentBlock `json:"content_block"`
}

type blockDeltaEvent struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
	Delta delta  `json:"delta"`

	Trace []wire.TokenTrace `json:"trace,omitempty"` // an addition of ours
}

// delta is what a block gains. Fields that its type does not have are nil.
type delta struct {
	Type      string  `json:"type"`
	Text      *string `json:"text,omitempty"`
	Thinking  *string `json:"thinking,omitempty"`
	Signature *string `json:"signature,omitempty"`
	Input     *string `json:"partial_json,omitempty"`
}

type blockStopEvent struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
}

type endEvent struct {
	Type  string `json:"type"`
	Delta ending `json:"delta"`
	Usage usage  `json:"usage"`

	Recording string `json:"recording,omitempty"` // an addition of ours
	Receipt   string `json:"receipt,omitempty"`   // likewise
}

type ending struct {
	StopReason   *string `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
}

type plainEvent struct {
	Type string `json:"type"`
}

// EventName is the name of an event, which is its type.
func (e startEvent) EventName() string      { return e.Type }
func (e blockStartEvent) EventName() string { return e.Type }
func (e blockDeltaEvent) EventName() string { return e.Type }
func (e blockStopEvent) EventName() string  { return e.Type }
func (e endEvent) EventName() string        { return e.Type }
func (e plainEvent) EventName() string      { return e.Type }

// blocks writes the content of a message as events, block after block.
type blocks struct {
	kind   string            // of the open block; "": none is open
	call   int               // of the open block, where that is a call
	opened int               // blocks so far
	calls  int               // of them
	traces []wire.TokenTrace // of tokens whose text is still to come
}

// add writes what an event adds to the content.
func (b *blocks) add(d completion.Delta, traces []wire.TokenTrace) (events []any) {
	b.traces = append(b.traces, traces...)
	if d.Reasoning != "" {
		begin := contentBlock{Type: "thinking", Thinking: new(string), Signature: new(string)}
		events = append(b.open(begin, 0), b.delta(delta{Type: "thinking_delta", Thinking: &d.Reasoning}))
	}
	if d.Content != "" {
		events = append(events, b.open(contentBlock{Type: "text", Text: new(string)}, 0)...)
		events = append(events, b.delta(delta{Type: "text_delta", Text: &d.Content}))
	}
	for _, call := range d.Calls {
		begin := contentBlock{Type: "tool_use", ID: call.ID, Name: call.Name, Input: json.RawMessage("{}")}
		events = append(events, b.open(begin, call.Index)...)
		events = append(events, b.delta(delta{Type: "input_json_delta", Input: &call.Arguments}))
	}
	return events
}

// open begins a block, unless the one that is open is of its type and of this call.
func (b *blocks) open(begin contentBlock, call int) []any {
	if b.kind == begin.Type && b.call == call {
		return nil
	}
	events := append(b.close(), blockStartEvent{"content_block_start", b.opened, begin})
	if b.opened == 0 {
		events = append(events, plainEvent{"ping"})
	}
	b.kind, b.call = begin.Type, call
	b.opened++
	if b.kind == "tool_use" {
		b.calls++
	}
	return events
}

// close ends the open block. What the model thought has no signature: nothing here could check one.
func (b *blocks) close() (events []any) {
	if b.kind == "" {
		return nil
	}
	if b.kind == "thinking" {
		events = append(events, b.delta(delta{Type: "signature_delta", Signature: new(string)}))
	}
	b.kind = ""
	return append(events, blockStopEvent{"content_block_stop", b.opened - 1})
}

func (b *blocks) delta(d delta) blockDeltaEvent {
	e := blockDeltaEvent{Type: "content_block_delta", Index: b.opened - 1, Delta: d, Trace: b.traces}
	b.traces = nil
	return e
}
