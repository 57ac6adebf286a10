// SPDX-License-Identifier: MIT

// Package responses serves OpenAI's Responses API.
package responses

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/refusal"
)

// API answers the routes. Nothing is stored: a response cannot be fetched later, nor gone on with
// by its id.
type API struct{ *wire.Server }

// Routes are the routes of the API.
func (a API) Routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodPost, Path: "/v1/responses", Handler: a.create, Body: body{}},
		{Method: http.MethodPost, Path: "/responses", Handler: a.create, Body: body{}},
		{Method: http.MethodPost, Path: "/v1/responses/input_tokens", Handler: a.countTokens, Body: body{}},
		{Method: http.MethodPost, Path: "/responses/input_tokens", Handler: a.countTokens, Body: body{}},
	}
}

func (a API) create(c echo.Context) error { return forCodex(a.answer(c)) }

func (a API) answer(c echo.Context) error {
	r, b, err := a.read(c)
	if err != nil {
		return err
	}
	if !b.onlyLoads() {
		return a.Answer(c, r, newShape(b, r), b.Stream)
	}
	defer r.Release()
	loaded := newShape(b, r).object(completed)
	loaded.Usage = &usage{}
	return c.JSON(http.StatusOK, loaded)
}

// forCodex makes what comes again with the request a bad request: Codex repeats it after any other
// status.
func forCodex(err error) error {
	if err == nil || errors.Is(err, refusal.ErrGone) {
		return err
	}
	e := *completion.AsError(err, "input")
	if e.Kind == refusal.KindPluginFault || e.Kind == refusal.KindImpossible {
		e.Kind = refusal.KindInvalid
	}
	return &e
}

// countTokens tells how many tokens the prompt of a response would have.
func (a API) countTokens(c echo.Context) error {
	r, _, err := a.read(c)
	if err != nil {
		return err
	}
	defer r.Release()
	wire.Warn(c, r.LeftOut(), nil)
	return c.JSON(http.StatusOK, map[string]any{"object": "response.input_tokens", "input_tokens": len(r.Prompts[0])})
}

// read makes the prompt of a body.
func (a API) read(c echo.Context) (*completion.Prompted, *body, error) {
	b := &body{CommonFields: completion.DefaultCommonFields()}
	size, err := wire.ReadBody(c, b)
	if err != nil {
		return nil, nil, err
	}
	asked, err := b.asked(wire.CallerOf(c), size)
	if err != nil {
		return nil, nil, inTool(err)
	}
	r, err := a.Prompt(c.Request().Context(), asked)
	return r, b, inTool(err)
}

// inTool has an error about a function that a tool is name its field in the tool itself, where it
// stands here.
func inTool(err error) error {
	var unfit *chat.Invalid
	var refused *refusal.Error
	if !errors.As(err, &unfit) && !errors.As(err, &refused) {
		return err
	}
	e := *completion.AsError(err, "input")
	field := e.Field
	if strings.HasPrefix(field, "tools[") {
		e.Field = strings.Replace(field, ".function.", ".", 1)
		e.Message = strings.Replace(e.Message, field, e.Field, 1)
	}
	return &e
}

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

// maxLogprobs bounds the alternatives reported with each token.
const maxLogprobs = 20

// includeLogprobs is the entry of include that asks for log-probabilities.
const includeLogprobs = "message.output_text.logprobs"

// asked is the request that a body of size bytes is.
func (b *body) asked(from completion.Caller, size int) (a completion.Asked, err error) {
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
			return a, refusal.Unsupported(f.name, "%s is not supported by this server; %s", f.name, f.remedy)
		}
	}
	if most := b.MaxOutputTokens; most != nil && *most < 1 {
		return a, refusal.Invalid("max_output_tokens", "max_output_tokens is %d; it must be at least 1", *most)
	}
	if top := b.TopLogprobs; top != nil && (*top < 0 || *top > maxLogprobs) {
		return a, refusal.Invalid("top_logprobs", "top_logprobs is %d; it must be from 0 to %d", *top, maxLogprobs)
	}
	a = completion.Asked{Caller: from, ModelName: b.Model, PromptField: "input", Size: size, Common: b.CommonFields, Answers: completion.OneAnswer()}
	c, err := b.conversation()
	if err != nil {
		return a, err
	}
	a.Source, a.Limit = completion.Chat{Conversation: c}, b.MaxOutputTokens
	if slices.Contains(b.Include, includeLogprobs) {
		a.LogprobsField = "include"
		if a.Logprobs = 0; b.TopLogprobs != nil {
			a.Logprobs = *b.TopLogprobs
		}
	}
	a.Format, err = b.format()
	return a, err
}

// format is what text.format says; without a Field where it asks for nothing.
func (b *body) format() (f completion.Format, _ error) {
	const field = "text.format"
	raw := b.Text.Format
	if !completion.IsSet(raw) {
		return f, nil
	}
	var said struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema"`
		Strict *bool           `json:"strict"`
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		return f, refusal.Invalid(field, "text.format must be an object with a type")
	}
	hasSchema := completion.IsSet(said.Schema) || bytes.Equal(bytes.TrimSpace(said.Schema), []byte("{}"))
	switch {
	case said.Type == "text":
		return f, nil
	case said.Type == "json_object" && (len(said.Schema) == 0 || string(said.Schema) == "null"):
		return completion.Format{Field: field, In: ".schema", JSONSchema: completion.AnyObject}, nil
	case said.Type == "json_object":
		return completion.Format{Field: field, In: ".schema", JSONSchema: said.Schema}, nil
	case said.Type != "json_schema":
		return f, refusal.Invalid("text.format.type", "text.format.type is %q; it must be text, json_object or json_schema", excerpt.Of(said.Type, 40))
	case !hasSchema:
		return f, refusal.Invalid("text.format.schema", "text.format.schema is missing; text.format.type is json_schema")
	}
	return completion.Format{Field: field, In: ".schema", JSONSchema: said.Schema, Strict: said.Strict}, nil
}

// tools gives a conversation the tools, which have the function one level deeper in a chat
// completion.
func (b *body) tools(c *chat.Conversation) (err error) {
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
	if c.Tools, c.LeftOut, err = chat.ParseTools(tools, true); err != nil {
		return err
	}
	choice := b.ToolChoice
	var named struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	if json.Unmarshal(choice, &named) == nil && named.Type == "function" {
		choice, err = json.Marshal(map[string]any{"type": "function", "function": map[string]string{"name": named.Name}})
		if err != nil {
			return err
		}
	}
	c.ToolChoice, err = chat.ParseToolChoice(choice, c.Tools)
	return err
}

// response is the answer, whole or as far as it has come.
type response struct {
	ID                string            `json:"id"`
	Object            string            `json:"object"`
	CreatedAt         int64             `json:"created_at"`
	Status            string            `json:"status"`
	Background        bool              `json:"background"`
	Error             any               `json:"error"`
	Incomplete        *incomplete       `json:"incomplete_details"`
	Instructions      *string           `json:"instructions"`
	MaxOutputTokens   *int              `json:"max_output_tokens"`
	Model             string            `json:"model"`
	Output            []output          `json:"output"`
	ParallelToolCalls bool              `json:"parallel_tool_calls"`
	PreviousResponse  *string           `json:"previous_response_id"`
	Reasoning         reasoning         `json:"reasoning"`
	Store             bool              `json:"store"`
	Temperature       float32           `json:"temperature"`
	Text              format            `json:"text"`
	ToolChoice        json.RawMessage   `json:"tool_choice"`
	Tools             []json.RawMessage `json:"tools"`
	TopP              float32           `json:"top_p"`
	Truncation        string            `json:"truncation"`
	Usage             *usage            `json:"usage"`
	Metadata          any               `json:"metadata"`
	Timings           *wire.Timings     `json:"timings,omitempty"`
	Recording         string            `json:"recording,omitempty"` // an addition of ours
	Receipt           string            `json:"receipt,omitempty"`   // likewise
}

type incomplete struct {
	Reason string `json:"reason"`
}

type reasoning struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

type format struct {
	Format json.RawMessage `json:"format"`
}

type usage struct {
	Input        int           `json:"input_tokens"`
	InputDetails inputDetails  `json:"input_tokens_details"`
	Output       int           `json:"output_tokens"`
	Details      outputDetails `json:"output_tokens_details"`
	Total        int           `json:"total_tokens"`
}

type inputDetails struct {
	Cached int `json:"cached_tokens"`
}

type outputDetails struct {
	Reasoning int `json:"reasoning_tokens"`
	Branch    int `json:"branch_tokens,omitempty"` // an addition of ours: see wire.Usage
}

// output is one item of a response: what the model thought, said or called. Content is nil in a
// call, and a list otherwise.
type output struct {
	ID        string  `json:"id"`
	Type      string  `json:"type"` // reasoning, message, function_call, custom_tool_call
	Status    string  `json:"status"`
	Role      string  `json:"role,omitempty"`
	Summary   *[]part `json:"summary,omitempty"`
	Content   *[]part `json:"content,omitempty"`
	CallID    string  `json:"call_id,omitempty"`
	Name      string  `json:"name,omitempty"`
	Arguments *string `json:"arguments,omitempty"`
	Input     *string `json:"input,omitempty"` // of a custom tool
}

// part is a part of an item's content. A text has annotations and log-probabilities, which may be
// empty lists.
type part struct {
	Type        string            `json:"type"`
	Text        string            `json:"text"`
	Annotations *[]any            `json:"annotations,omitempty"`
	Logprobs    *[]wire.TokenProb `json:"logprobs,omitempty"`
}

// The states of a response and of its items.
const (
	inProgress = "in_progress"
	completed  = "completed"
	cut        = "incomplete"
	failed     = "failed"
)

// failure says why a response failed.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// object is the response with the items that it has so far.
func (s *shape) object(status string) response {
	b := s.body
	r := response{ID: s.id, Object: "response", CreatedAt: s.created, Status: status, Instructions: b.Instructions, MaxOutputTokens: b.MaxOutputTokens,
		Model: s.request.Model.Name, Output: []output{}, ParallelToolCalls: b.ParallelToolCalls == nil || *b.ParallelToolCalls,
		Reasoning: reasoning{Effort: b.Reasoning.Effort}, Temperature: s.request.Params.Temperature, TopP: s.request.Params.TopP,
		Text: format{json.RawMessage(`{"type":"text"}`)}, ToolChoice: json.RawMessage(`"auto"`), Tools: []json.RawMessage{}, Truncation: "disabled",
		Metadata: map[string]json.RawMessage{}}
	if completion.IsSet(b.Text.Format) {
		r.Text.Format = b.Text.Format
	}
	if completion.IsSet(b.ToolChoice) {
		r.ToolChoice = b.ToolChoice
	}
	if b.Tools != nil {
		r.Tools = b.Tools
	}
	if b.Metadata != nil {
		r.Metadata = b.Metadata
	}
	return r
}

// finish says how the response ended.
func (r *response) finish(c *completion.Choice, items []output) {
	timings := wire.TimingsOf(c.End)
	r.Status, r.Output, r.Timings = completed, items, &timings
	r.Recording, r.Receipt = c.Request.RecordingID(), c.Receipt()
	if items == nil {
		r.Output = []output{}
	}
	if c.FinishReason() == "length" {
		r.Status, r.Incomplete = cut, &incomplete{"max_output_tokens"}
	}
	u := c.End.Usage
	r.Usage = &usage{Input: u.Prompt, InputDetails: inputDetails{u.Cached}, Output: u.Generated, Details: outputDetails{Reasoning: c.ReasoningTokens(), Branch: u.Beside()}, Total: u.Prompt + u.Generated}
}

// shape is how a response is written.
type shape struct {
	body    *body
	request *completion.Prompted
	id      string
	created int64

	items  []output // those that have begun; the last may still grow
	open   bool     // the last one does
	call   int      // its index among the calls, where it is one
	number int      // of the next event
}

func newShape(b *body, r *completion.Prompted) *shape {
	return &shape{body: b, request: r, id: "resp_" + rand.Text(), created: time.Now().Unix()}
}

// Framing implements wire.Shape.
func (*shape) Framing() wire.Framing { return wire.Events }

// Closing implements wire.Shape.
func (*shape) Closing([]*completion.Choice) []any { return nil }

// Whole implements wire.Shape.
func (s *shape) Whole(choices []*completion.Choice, wholes []*wire.Whole) any {
	w := wholes[0]
	if text := w.Reasoning.String(); text != "" {
		s.begin("reasoning")
		s.last().add(text, nil)
	}
	if text := w.Content.String(); text != "" || len(w.Calls) == 0 {
		s.begin("message")
		s.last().add(text, w.Said)
	}
	for _, c := range w.Calls {
		s.beginCall(c)
		s.last().addArguments(c.Arguments)
	}
	state := completed
	if choices[0].FinishReason() == "length" {
		state = cut
	}
	for i := range s.items {
		s.items[i].Status = completed
	}
	s.last().Status = state
	r := s.object(completed)
	r.finish(choices[0], s.items)
	return r
}

func (s *shape) last() *output { return &s.items[len(s.items)-1] }

// begin begins an item with text.
func (s *shape) begin(kind string) {
	it := output{ID: "msg_" + rand.Text(), Type: kind, Status: inProgress, Content: &[]part{}}
	if kind == "reasoning" {
		it.ID, it.Summary = "rs_"+rand.Text(), &[]part{}
	} else {
		it.Role = "assistant"
	}
	s.items = append(s.items, it)
	s.open = true
}

func (s *shape) beginCall(c completion.CallDelta) {
	it := output{ID: "fc_" + rand.Text(), Type: functionCall, Status: inProgress, CallID: c.ID, Name: c.Name, Arguments: new(string)}
	if c.Custom {
		it.ID, it.Type, it.Arguments, it.Input = "ctc_"+rand.Text(), customCall, nil, new(string)
	}
	s.items = append(s.items, it)
	s.open, s.call = true, c.Index
}

// add appends text to an item's only part.
func (o *output) add(text string, probs []wire.TokenProb) {
	if len(*o.Content) == 0 {
		*o.Content = []part{newPart(o.Type)}
	}
	p := &(*o.Content)[0]
	p.Text += text
	if p.Logprobs != nil {
		*p.Logprobs = append(*p.Logprobs, probs...)
	}
}

// addArguments appends text to a call, in a copy: an event may still have what there was.
func (o *output) addArguments(text string) {
	to := &o.Arguments
	if o.Type == customCall {
		to = &o.Input
	}
	joined := **to + text
	*to = &joined
}

// The types of items that are calls.
const (
	functionCall = "function_call"
	customCall   = "custom_tool_call"
)

// newPart is the part of an item of a kind, without text.
func newPart(kind string) part {
	if kind == "reasoning" {
		return part{Type: "reasoning_text"}
	}
	return part{Type: "output_text", Annotations: &[]any{}, Logprobs: &[]wire.TokenProb{}}
}

// event is a server-sent event. It is a map because each type has other fields.
type event map[string]any

// EventName is the event's type.
func (e event) EventName() string { return e["type"].(string) }

// event makes the next event of the stream.
func (s *shape) event(kind string, fields event) event {
	fields["type"], fields["sequence_number"] = kind, s.number
	s.number++
	return fields
}

// itemEvent makes an event about the last item.
func (s *shape) itemEvent(kind string, fields event) event {
	fields["output_index"], fields["item_id"] = len(s.items)-1, s.last().ID
	return s.event(kind, fields)
}

// Start implements wire.Shape.
func (s *shape) Start(*completion.Choice) []any {
	r := s.object(inProgress)
	return []any{s.event("response.created", event{"response": r}), s.event("response.in_progress", event{"response": r})}
}

// Part implements wire.Shape.
func (s *shape) Part(c *completion.Choice, d completion.Delta) (frames []any) {
	probs := wire.SaidIn(c, d)
	if d.Reasoning != "" {
		frames = append(frames, s.text("reasoning", "response.reasoning_text.delta", d.Reasoning, nil)...)
	}
	if d.Content != "" {
		frames = append(frames, s.text("message", "response.output_text.delta", d.Content, probs)...)
	}
	for _, call := range d.Calls {
		if !s.open || s.last().Type != functionCall && s.last().Type != customCall || s.call != call.Index {
			frames = append(frames, s.close(completed)...)
			s.beginCall(call)
			frames = append(frames, s.added())
		}
		if call.Arguments != "" {
			s.last().addArguments(call.Arguments)
			kind := "response.function_call_arguments.delta"
			if call.Custom {
				kind = "response.custom_tool_call_input.delta"
			}
			frames = append(frames, s.itemEvent(kind, event{"delta": call.Arguments}))
		}
	}
	return frames
}

// text adds text to an item of a kind, which it begins if the last one is of another.
func (s *shape) text(kind, name, text string, probs []wire.TokenProb) (frames []any) {
	if !s.open || s.last().Type != kind {
		frames = s.close(completed)
		s.begin(kind)
		frames = append(frames, s.added(), s.itemEvent("response.content_part.added", event{"content_index": 0, "part": newPart(kind)}))
	}
	s.last().add(text, probs)
	delta := event{"content_index": 0, "delta": text}
	if kind == "message" {
		delta["logprobs"] = append([]wire.TokenProb{}, probs...)
	}
	return append(frames, s.itemEvent(name, delta))
}

// added tells of the last item, which is empty so far. It is written when the item may have grown
// already, so it is a copy.
func (s *shape) added() event {
	it := *s.last()
	if it.Content != nil {
		it.Content = &[]part{}
	}
	return s.event("response.output_item.added", event{"output_index": len(s.items) - 1, "item": it})
}

// close ends the last item.
func (s *shape) close(status string) []any {
	if !s.open {
		return nil
	}
	s.open = false
	it := s.last()
	it.Status = status
	var frames []any
	switch it.Type {
	case customCall:
		frames = append(frames, s.itemEvent("response.custom_tool_call_input.done", event{"input": *it.Input}))
	case functionCall:
		frames = append(frames, s.itemEvent("response.function_call_arguments.done", event{"name": it.Name, "arguments": *it.Arguments}))
	case "reasoning":
		p := (*it.Content)[0]
		frames = append(frames, s.itemEvent("response.reasoning_text.done", event{"content_index": 0, "text": p.Text}),
			s.itemEvent("response.content_part.done", event{"content_index": 0, "part": p}))
	default:
		p := (*it.Content)[0]
		frames = append(frames, s.itemEvent("response.output_text.done", event{"content_index": 0, "text": p.Text, "logprobs": *p.Logprobs}),
			s.itemEvent("response.content_part.done", event{"content_index": 0, "part": p}))
	}
	return append(frames, s.event("response.output_item.done", event{"output_index": len(s.items) - 1, "item": *it}))
}

// Last implements wire.Shape.
func (s *shape) Last(c *completion.Choice) []any {
	r := s.object(completed)
	r.finish(c, nil)
	frames := s.close(r.Status)
	r.Output = slices.Clone(s.items)
	if r.Output == nil {
		r.Output = []output{}
	}
	return append(frames, s.event("response."+r.Status, event{"response": r}))
}

// Failed implements wire.Failing.
func (s *shape) Failed(e *refusal.Error) []any {
	frames := s.close(cut)
	r := s.object(failed)
	r.Output = append(r.Output, s.items...)
	r.Error = failure{Code: failedCode(e), Message: e.Message}
	return append(frames, s.event("response."+failed, event{"response": r}))
}

// failedCode is a failed response's code. Codex begins the response anew, unless it knows by the
// code that this mends nothing.
func failedCode(e *refusal.Error) string {
	if e.Code == refusal.TooLongCode || wire.MendedByRepeating(e) {
		return e.Code
	}
	return "invalid_prompt"
}
