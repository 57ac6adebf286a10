// SPDX-License-Identifier: MIT

package openai

import (
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
)

// textShape is OpenAI's text completion.
type textShape struct {
	answerHeads
	offsets map[int]int // by choice: bytes of tokens that frames have described
}

type textAnswer struct {
	wire.Head
	Choices []textChoice  `json:"choices"`
	Usage   *wire.Usage   `json:"usage,omitempty"`
	Timings *wire.Timings `json:"timings,omitempty"`
}

type textChoice struct {
	Index        int        `json:"index"`
	Text         string     `json:"text"`
	Logprobs     *textProbs `json:"logprobs"`
	FinishReason *string    `json:"finish_reason"`

	Trace []wire.TokenTrace `json:"trace,omitempty"`
}

func newTextShape(h answerHeads) textShape { return textShape{h, map[int]int{}} }

func (s textShape) answer(choices ...textChoice) *textAnswer {
	return &textAnswer{Head: s.Head("text_completion"), Choices: choices}
}

// Part implements wire.Shape.
func (s textShape) Part(c *completion.Choice, d completion.Delta) []any {
	more := wire.DetailsOf(c, d)
	a := s.answer(textChoice{Index: c.Index, Text: d.Content, Logprobs: textProbsOf(more.Probs, s.offsets[c.Index]), Trace: more.Traces})
	for _, p := range more.Probs {
		s.offsets[c.Index] += len(p.Bytes)
	}
	return []any{a}
}

// Last implements wire.Shape.
func (s textShape) Last(c *completion.Choice) []any {
	reason := c.FinishReason()
	a := s.answer(textChoice{Index: c.Index, FinishReason: &reason})
	a.Timings = timingsOf(c.End)
	return []any{a}
}

// Closing implements wire.Shape.
func (s textShape) Closing(choices []*completion.Choice) []any {
	if !s.sendUsage {
		return nil
	}
	u := s.usage(choices)
	a := s.answer()
	a.Choices, a.Usage = []textChoice{}, &u
	return []any{a}
}

// Whole implements wire.Shape.
func (s textShape) Whole(choices []*completion.Choice, wholes []*wire.Whole) any {
	a := s.answer()
	for i, c := range choices {
		w := wholes[i]
		reason := c.FinishReason()
		a.Choices = append(a.Choices, textChoice{Index: c.Index, Text: w.Content.String(), Logprobs: textProbsOf(w.Probs, 0), FinishReason: &reason,
			Trace: w.Traces})
	}
	u := s.usage(choices)
	a.Usage, a.Timings = &u, timingsOf(choices[0].End)
	return a
}
