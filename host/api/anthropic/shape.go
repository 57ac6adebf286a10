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
	return s.after(s.blocks.add(d, wire.DetailsOf(c, d).Traces))
}

// after puts the first event before others, once there are any.
func (s *shape) after(events []any) []any {
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
	end := endEvent{Type: "message_delta", Delta: ending{s.StopReason, s.StopSequence}, Usage: s.Usage, Recording: s.Recording}
	return s.after(append(s.blocks.close(), end, plainEvent{"message_stop"}))
}

// Failed implements wire.Failing. A message that was waited for begins before its error: clients
// that find the error first take it for one of the connection, and repeat the request.
func (s *shape) Failed(e *refusal.Error) []any {
	if s.begin == nil && !s.begun { // it has waited for a slot all the time
		s.begin = []any{startEvent{"message_start", s.message}}
	}
	return s.after([]any{Error(e)})
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
	s.StopReason, s.Recording = &reason, c.Request.RecordingID()
	s.Usage = usageOf(c.End.Usage.Prompt, c.End.Usage.Cached, c.End.Usage.Generated, c.ReasoningTokens())
}
