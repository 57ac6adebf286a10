// SPDX-License-Identifier: MIT

package api

// textShape is OpenAI's text completion.
type textShape struct{ heads }

type textAnswer struct {
	head
	Choices []textChoice `json:"choices"`
	Usage   *usage       `json:"usage,omitempty"`
	Timings *timings     `json:"timings,omitempty"`
}

type textChoice struct {
	Index        int        `json:"index"`
	Text         string     `json:"text"`
	Logprobs     *textProbs `json:"logprobs"`
	FinishReason *string    `json:"finish_reason"`

	Trace []tokenTrace `json:"trace,omitempty"`
}

func (s textShape) answer(choices ...textChoice) *textAnswer {
	return &textAnswer{head: s.head("text_completion"), Choices: choices}
}

func (s textShape) part(c *choice, text string, d details) any {
	a := s.answer(textChoice{Index: c.index, Text: text, Logprobs: textProbsOf(d.probs, c.offset), Trace: d.traces})
	for _, p := range d.probs {
		c.offset += len(p.Bytes)
	}
	return a
}

func (s textShape) last(c *choice) any {
	reason := c.end.Reason.String()
	a := s.answer(textChoice{Index: c.index, FinishReason: &reason})
	t := timingsOf(c.end)
	a.Timings = &t
	return a
}

func (s textShape) closing(u usage) any {
	a := s.answer()
	a.Choices, a.Usage = []textChoice{}, &u
	return a
}

func (s textShape) whole(choices []*choice, u usage) any {
	a := s.answer()
	for _, c := range choices {
		reason := c.end.Reason.String()
		a.Choices = append(a.Choices, textChoice{Index: c.index, Text: c.text.String(), Logprobs: textProbsOf(c.probs, 0), FinishReason: &reason,
			Trace: c.traces})
	}
	t := timingsOf(choices[0].end)
	a.Usage, a.Timings = &u, &t
	return a
}

func (textShape) endsWithDone() bool { return true }
