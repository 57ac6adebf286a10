// SPDX-License-Identifier: MIT

package openai

import (
	"cmp"
	"slices"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
)

// textShape is OpenAI's text completion.
type textShape struct {
	answerHeads
	body    *textBody
	offsets map[int]int // by choice: bytes of tokens that frames have described
}

type textAnswer struct {
	head
	Choices []textChoice  `json:"choices"`
	Usage   any           `json:"usage,omitempty"` // see answerHeads.noUsage
	Timings *wire.Timings `json:"timings,omitempty"`

	Recording string `json:"recording,omitempty"` // an addition of ours, in the last frame of a choice
}

type textChoice struct {
	Index        int        `json:"index"`
	Text         string     `json:"text"`
	Logprobs     *textProbs `json:"logprobs"`
	FinishReason *string    `json:"finish_reason"`

	Trace         []wire.TokenTrace   `json:"trace,omitempty"`
	PluginOutputs []wire.PluginOutput `json:"plugin_outputs,omitempty"` // in the last chunk of a choice
}

func newTextShape(h answerHeads, b *textBody) textShape { return textShape{h, b, map[int]int{}} }

func (s textShape) answer(choices ...textChoice) *textAnswer {
	return &textAnswer{head: s.head("text_completion"), Choices: choices, Usage: s.noUsage()}
}

// echo is the prompt of a choice where it is to begin the answer.
func (s textShape) echo(c *completion.Choice) string {
	if !s.body.Echo {
		return ""
	}
	return s.body.prompts[c.Index/s.request.Choices]
}

// Start implements wire.Shape: a prompt that is echoed is the first text.
func (s textShape) Start(c *completion.Choice) []any {
	text := s.echo(c)
	if text == "" {
		return nil
	}
	return []any{s.answer(textChoice{Index: c.Index, Text: text})}
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
	a := s.answer(textChoice{Index: c.Index, FinishReason: &reason, PluginOutputs: wire.OutputsOf(c)})
	a.Timings, a.Recording = timingsOf(c.End), c.Request.RecordingID()
	return []any{a}
}

// Closing implements wire.Shape.
func (s textShape) Closing(choices []*completion.Choice) []any {
	if !s.sendUsage {
		return nil
	}
	a := s.answer()
	a.Choices, a.Usage = []textChoice{}, s.usage(choices)
	return []any{a}
}

// Whole implements wire.Shape.
func (s textShape) Whole(choices []*completion.Choice, wholes []*wire.Whole) any {
	a := s.answer()
	shown := s.body.Choices() // of those to each prompt
	for i := 0; i < len(choices); i += s.request.Choices {
		all := wholes[i : i+s.request.Choices]
		for _, k := range best(all, shown) {
			c, w := choices[i+k], all[k]
			reason := c.FinishReason()
			choice := textChoice{Index: len(a.Choices), Text: s.echo(c) + w.Content.String(), FinishReason: &reason, Trace: w.Traces, PluginOutputs: wire.OutputsOf(c)}
			if s.body.Logprobs != nil {
				choice.Logprobs = textProbsOf(w.Probs, 0)
			}
			a.Choices = append(a.Choices, choice)
		}
	}
	a.Usage, a.Timings, a.Recording = s.usage(choices), timingsOf(choices[0].End), s.request.RecordingID()
	return a
}

// best are the indices of the n answers whose tokens are the most likely on average, the most likely first; all in order if there are
// no more than n.
func best(all []*wire.Whole, n int) []int {
	indices := make([]int, len(all))
	for i := range indices {
		indices[i] = i
	}
	if n >= len(all) {
		return indices
	}
	mean := func(i int) float64 {
		sum := 0.0
		for _, p := range all[i].Probs {
			sum += float64(p.Logprob)
		}
		return sum / float64(max(1, len(all[i].Probs)))
	}
	slices.SortStableFunc(indices, func(a, b int) int { return cmp.Compare(mean(b), mean(a)) })
	return indices[:n]
}
