// SPDX-License-Identifier: MIT

package anthropic

import (
	"crypto/rand"
	"encoding/json"
	"slices"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/scheduler/answer"
)

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
