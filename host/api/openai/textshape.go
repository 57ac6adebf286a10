// SPDX-License-Identifier: MIT

package openai

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
)

// textShape is OpenAI's text completion.
type textShape struct {
	answerHeads
	body   *textBody
	states map[int]*textState // by choice
}

type textAnswer struct {
	head
	Choices []textChoice `json:"choices"`
	Usage   any          `json:"usage,omitempty"` // see answerHeads.noUsage
	wire.Measured

	Recording string `json:"recording,omitempty"` // an addition of ours, in the last frame of a choice
}

type textChoice struct {
	Index        int        `json:"index"`
	Text         string     `json:"text"`
	Logprobs     *textProbs `json:"logprobs"`
	FinishReason *string    `json:"finish_reason"`

	Trace []wire.TokenTrace `json:"trace,omitempty"`
	wire.Branches
	PluginOutputs []wire.PluginOutput `json:"plugin_outputs,omitempty"` // in the last chunk of a choice
}

// textState is what the frames of a choice have described.
type textState struct {
	prompt int      // tokens of the prompt
	answer *offsets // of the answer's tokens
}

func newTextShape(h answerHeads, b *textBody) textShape {
	return textShape{h, b, map[int]*textState{}}
}

// state is what the frames of a choice have described so far.
func (s textShape) state(c *completion.Choice) *textState {
	st := s.states[c.Index]
	if st == nil {
		st = &textState{prompt: 1, answer: s.echo(c).answerOffsets()} // the prompt's first token comes with its text
		s.states[c.Index] = st
	}
	return st
}

func (s textShape) answer(choices ...textChoice) *textAnswer {
	return &textAnswer{head: s.head("text_completion"), Choices: choices, Usage: s.noUsage()}
}

// echo is the prompt of a choice where it is to begin the answer; else it is empty.
func (s textShape) echo(c *completion.Choice) *echoed {
	if !s.body.Echo {
		return &echoed{}
	}
	return &s.body.prompts[c.Index/s.request.Choices]
}

// Start implements wire.Shape: a prompt that is echoed is the first text.
func (s textShape) Start(c *completion.Choice) []any {
	p := s.echo(c)
	if p.text == "" && p.offsets == nil {
		return nil
	}
	return []any{s.answer(textChoice{Index: c.Index, Text: p.text, Logprobs: p.first(s.request.Model.Engine)})}
}

// Part implements wire.Shape.
func (s textShape) Part(c *completion.Choice, d completion.Delta) []any {
	engine, st := s.request.Model.Engine, s.state(c)
	if told := d.Event.Prompt; told != nil {
		probs := s.echo(c).part(engine, st.prompt, told)
		st.prompt += len(told)
		return []any{s.answer(textChoice{Index: c.Index, Logprobs: probs})}
	}
	more := wire.DetailsOf(c, d)
	return []any{s.answer(textChoice{Index: c.Index, Text: d.Content, Logprobs: textProbsOf(engine, more.Probs, st.answer), Trace: more.Traces, Branches: more.Branches})}
}

// Last implements wire.Shape.
func (s textShape) Last(c *completion.Choice) []any {
	reason := c.FinishReason()
	choice := textChoice{Index: c.Index, FinishReason: &reason, PluginOutputs: wire.OutputsOf(c)}
	if p, ok := endProb(s.request.Model.Engine, c.End.EndToken); ok && s.request.PromptLogprobs {
		choice.Logprobs = textProbsOf(s.request.Model.Engine, []wire.TokenProb{p}, s.state(c).answer)
	}
	a := s.answer(choice)
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
			choice := textChoice{Index: len(a.Choices), Text: s.echo(c).text + w.Content.String(), FinishReason: &reason, Trace: w.Traces, Branches: w.Branches, PluginOutputs: wire.OutputsOf(c)}
			if s.body.Logprobs != nil {
				choice.Logprobs = s.probs(c, w)
			}
			a.Choices = append(a.Choices, choice)
		}
	}
	a.Usage, a.Timings, a.Recording = s.usage(choices), timingsOf(choices[0].End), s.request.RecordingID()
	return a
}

// probs describes the tokens of a whole choice.
func (s textShape) probs(c *completion.Choice, w *wire.Whole) *textProbs {
	engine, p := s.request.Model.Engine, s.echo(c)
	probs := textProbsOf(engine, w.Probs, p.answerOffsets())
	if p.offsets == nil {
		return probs
	}
	all := p.first(engine)
	all.join(p.part(engine, 1, w.Prompt))
	if probs != nil {
		all.join(probs)
	}
	if end, ok := endProb(engine, c.End.EndToken); ok {
		all.add(end, utf8.RuneCountInString(p.text+w.Content.String()))
	}
	return all
}

// best are the indices of the n answers whose tokens are the most likely on average, the most
// likely first; all in order if there are no more than n.
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
