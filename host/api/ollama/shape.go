// SPDX-License-Identifier: MIT

package ollama

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/scheduler"
)

// line is an answer, or a part of one that is streamed.
type line struct {
	Model      string    `json:"model"`
	Created    time.Time `json:"created_at"`
	Message    *said     `json:"message,omitempty"`  // of a chat
	Response   *string   `json:"response,omitempty"` // of a generation
	Thinking   string    `json:"thinking,omitempty"` // of a generation
	Done       bool      `json:"done"`
	DoneReason string    `json:"done_reason,omitempty"`

	Context []scheduler.Token `json:"context,omitempty"` // of a generation: the tokens of prompt and answer
	*metrics
	Logprobs []wire.TokenProb `json:"logprobs,omitempty"`

	Trace     []wire.TokenTrace `json:"trace,omitempty"`     // an addition of ours
	Recording string            `json:"recording,omitempty"` // an addition of ours, in the last line
	Receipt   string            `json:"receipt,omitempty"`   // likewise
}

// said is what the assistant says in a chat.
type said struct {
	Role      string     `json:"role"`
	Content   string     `json:"content"`
	Thinking  string     `json:"thinking,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

type toolCall struct {
	ID       string   `json:"id,omitempty"`
	Function function `json:"function"`
}

type function struct {
	Index     int             `json:"index"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// metrics are the numbers of an answer. Durations are in nanoseconds.
type metrics struct {
	Total          time.Duration `json:"total_duration"`
	Load           time.Duration `json:"load_duration"` // until the model was there
	PromptCount    int           `json:"prompt_eval_count"`
	PromptDuration time.Duration `json:"prompt_eval_duration"`
	Count          int           `json:"eval_count"`
	Duration       time.Duration `json:"eval_duration"`
	Thinking       int           `json:"thinking_eval_count,omitempty"` // an addition of ours: which of Count are reasoning
}

// shape is an answer of Ollama's, whole or as lines.
type shape struct {
	request *completion.Prompted
	begun   time.Time
	load    time.Duration
	chat    bool // else it is a generation
	context bool // the last line has the tokens
	calls   completion.Whole
}

func newShape(r *completion.Prompted, begun time.Time) *shape {
	return &shape{request: r, begun: begun, load: time.Since(begun)}
}

// Framing implements wire.Shape.
func (*shape) Framing() wire.Framing { return wire.Lines }

// Start implements wire.Shape.
func (*shape) Start(*completion.Choice) []any { return nil }

// Part implements wire.Shape. Calls are sent at the end, when all are complete. No line has both
// what is thought and what is said: LiteLLM reads only the one of such a line.
func (s *shape) Part(c *completion.Choice, d completion.Delta) (lines []any) {
	s.calls.Add(&completion.Delta{Calls: d.Calls})
	details := wire.DetailsOf(c, d)
	if d.Content == "" && d.Reasoning == "" && len(details.Probs)+len(details.Traces) == 0 {
		return nil
	}
	thinking := d.Reasoning
	if thinking != "" && d.Content != "" {
		lines, thinking = append(lines, s.line("", thinking)), ""
	}
	l := s.line(d.Content, thinking)
	l.Logprobs, l.Trace = details.Probs, details.Traces
	return append(lines, l)
}

// Last implements wire.Shape.
func (s *shape) Last(c *completion.Choice) (lines []any) {
	if calls := toolCalls(s.calls.Calls); len(calls) > 0 {
		l := s.line("", "")
		l.Message.ToolCalls = calls
		lines = append(lines, l)
	}
	l := s.line("", "")
	s.end(&l, c)
	return append(lines, l)
}

// Closing implements wire.Shape.
func (*shape) Closing([]*completion.Choice) []any { return nil }

// Whole implements wire.Shape.
func (s *shape) Whole(choices []*completion.Choice, wholes []*wire.Whole) any {
	w := wholes[0]
	l := s.line(w.Content.String(), w.Reasoning.String())
	if s.chat {
		l.Message.ToolCalls = toolCalls(w.Calls)
	}
	l.Logprobs, l.Trace = w.Probs, w.Traces
	s.end(&l, choices[0])
	return l
}

// line is a part of an answer with these texts.
func (s *shape) line(content, thinking string) line {
	l := line{Model: s.request.Model.Name, Created: time.Now().UTC()}
	if s.chat {
		l.Message = &said{Role: "assistant", Content: content, Thinking: thinking}
	} else {
		l.Response, l.Thinking = &content, thinking
	}
	return l
}

// end fills in how an answer ended.
func (s *shape) end(l *line, c *completion.Choice) {
	e := c.End
	l.Done, l.DoneReason, l.Recording, l.Receipt = true, e.Reason.String(), c.Request.RecordingID(), c.Receipt()
	l.metrics = &metrics{Total: time.Since(s.begun), Load: s.load, PromptCount: e.Usage.Prompt, PromptDuration: e.Timing.Prefill,
		Count: e.Usage.Generated, Duration: e.Timing.Decode, Thinking: c.ReasoningTokens()}
	if s.context && s.request.ShowsTokens() {
		l.Context = slices.Concat(s.request.Prompts[0], c.Tokens)
	}
}

// toolCalls leaves out a call that was cut off: it is not to be carried out.
func toolCalls(calls []completion.CallDelta) (out []toolCall) {
	for _, c := range calls {
		if arguments := json.RawMessage(c.Arguments); json.Valid(arguments) {
			out = append(out, toolCall{ID: c.ID, Function: function{Index: c.Index, Name: c.Name, Arguments: arguments}})
		}
	}
	return out
}
