// SPDX-License-Identifier: MIT

package llamaserver

import (
	"strings"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
)

// completionShape is a completion.
type completionShape struct {
	model  string
	tokens bool // list the tokens
}

// partialAnswer is a frame of a stream, and the beginning of the last one.
type partialAnswer struct {
	Index     int               `json:"index"`
	Content   string            `json:"content"`
	Tokens    []scheduler.Token `json:"tokens"`
	Stop      bool              `json:"stop"`
	Slot      int               `json:"id_slot"`
	Predicted int               `json:"tokens_predicted"`
	Evaluated int               `json:"tokens_evaluated"`
	Probs     []wire.TokenProb  `json:"completion_probabilities,omitempty"`
	Trace     []wire.TokenTrace `json:"trace,omitempty"`
}

type finalAnswer struct {
	partialAnswer
	Model        string       `json:"model"`
	StopType     string       `json:"stop_type"`
	StoppingWord string       `json:"stopping_word"`
	Truncated    bool         `json:"truncated"`
	NewLine      bool         `json:"has_new_line"`
	Cached       int          `json:"tokens_cached"`
	Timings      wire.Timings `json:"timings"`
}

// Start implements wire.Shape.
func (completionShape) Start(*completion.Choice) []any { return nil }

// Part implements wire.Shape.
func (s completionShape) Part(c *completion.Choice, d completion.Delta) []any {
	more := wire.DetailsOf(c, d)
	p := partialAnswer{Content: d.Content, Tokens: []scheduler.Token{}, Slot: c.Start.Slot, Predicted: len(c.Tokens),
		Evaluated: c.Start.PromptTokens, Probs: more.Probs, Trace: more.Traces}
	if n := len(c.Tokens); n > 0 && s.tokens {
		p.Tokens = c.Tokens[n-1:]
	}
	return []any{p}
}

// Last implements wire.Shape.
func (s completionShape) Last(c *completion.Choice) []any {
	return []any{s.answer(c, "", wire.Details{})}
}

// Closing implements wire.Shape.
func (completionShape) Closing([]*completion.Choice) []any { return nil }

// Whole implements wire.Shape.
func (s completionShape) Whole(choices []*completion.Choice, wholes []*wire.Whole) any {
	c := choices[0]
	a := s.answer(c, wholes[0].Content.String(), wholes[0].Details)
	if s.tokens {
		a.Tokens = append(a.Tokens, c.Tokens...)
	}
	return a
}

// Framing implements wire.Shape.
func (completionShape) Framing() wire.Framing { return wire.Events }

func (s completionShape) answer(c *completion.Choice, text string, d wire.Details) finalAnswer {
	return finalAnswer{
		partialAnswer: partialAnswer{Content: text, Tokens: []scheduler.Token{}, Stop: true, Slot: c.Start.Slot,
			Predicted: c.End.Usage.Generated, Evaluated: c.End.Usage.Prompt, Probs: d.Probs, Trace: d.Traces},
		Model: s.model, StopType: stopType(c.End), StoppingWord: c.End.Stop, NewLine: strings.Contains(text, "\n"),
		Cached: c.End.Usage.Cached, Timings: wire.TimingsOf(c.End),
	}
}

// stopType is llama-server's word for how an answer ended.
func stopType(e scheduler.End) string {
	switch {
	case e.Reason == answer.ReasonLength:
		return "limit"
	case e.Reason != answer.ReasonStop:
		return "none"
	case e.Stop != "":
		return "word"
	}
	return "eos"
}
