// SPDX-License-Identifier: MIT

package api

import (
	"strings"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
)

// nativeShape is llama-server's completion.
type nativeShape struct {
	model  string
	tokens bool // list the tokens
}

// nativePart is a frame of a stream, and the beginning of the last one.
type nativePart struct {
	Index     int               `json:"index"`
	Content   string            `json:"content"`
	Tokens    []scheduler.Token `json:"tokens"`
	Stop      bool              `json:"stop"`
	Slot      int               `json:"id_slot"`
	Predicted int               `json:"tokens_predicted"`
	Evaluated int               `json:"tokens_evaluated"`
	Probs     []tokenProb       `json:"completion_probabilities,omitempty"`
	Trace     []tokenTrace      `json:"trace,omitempty"`
}

type nativeAnswer struct {
	nativePart
	Model        string  `json:"model"`
	StopType     string  `json:"stop_type"`
	StoppingWord string  `json:"stopping_word"`
	Truncated    bool    `json:"truncated"`
	NewLine      bool    `json:"has_new_line"`
	Cached       int     `json:"tokens_cached"`
	Timings      timings `json:"timings"`
}

func (s nativeShape) part(c *choice, text string, d details) any {
	p := nativePart{Content: text, Tokens: []scheduler.Token{}, Slot: c.start.Slot, Predicted: len(c.tokens),
		Evaluated: c.start.PromptTokens, Probs: d.probs, Trace: d.traces}
	if n := len(c.tokens); n > 0 && s.tokens {
		p.Tokens = c.tokens[n-1:]
	}
	return p
}

func (s nativeShape) last(c *choice) any {
	return s.answer(c, "", details{})
}

func (nativeShape) closing(usage) any { return nil }

func (s nativeShape) whole(choices []*choice, _ usage) any {
	c := choices[0]
	a := s.answer(c, c.text.String(), c.details)
	if s.tokens {
		a.Tokens = append(a.Tokens, c.tokens...)
	}
	return a
}

func (nativeShape) endsWithDone() bool { return false }

func (s nativeShape) answer(c *choice, text string, d details) nativeAnswer {
	return nativeAnswer{
		nativePart: nativePart{Content: text, Tokens: []scheduler.Token{}, Stop: true, Slot: c.start.Slot,
			Predicted: c.end.Usage.Generated, Evaluated: c.end.Usage.Prompt, Probs: d.probs, Trace: d.traces},
		Model: s.model, StopType: stopType(c.end), StoppingWord: c.end.Stop, NewLine: strings.Contains(text, "\n"),
		Cached: c.end.Usage.Cached, Timings: timingsOf(c.end),
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
