// SPDX-License-Identifier: MIT

package openai

import (
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/scheduler"
)

// chatShape is OpenAI's chat completion.
type chatShape struct {
	answerHeads
	begun map[int]bool // the choices whose first frame was sent
}

type chatChunk struct {
	wire.Head
	Choices []chatDelta   `json:"choices"`
	Usage   *wire.Usage   `json:"usage,omitempty"`
	Timings *wire.Timings `json:"timings,omitempty"`
}

type chatDelta struct {
	Index        int        `json:"index"`
	Delta        chatText   `json:"delta"`
	Logprobs     *chatProbs `json:"logprobs"`
	FinishReason *string    `json:"finish_reason"`

	Trace []wire.TokenTrace `json:"trace,omitempty"`
}

type chatText struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
}

type chatAnswer struct {
	wire.Head
	Choices []chatChoice `json:"choices"`
	Usage   wire.Usage   `json:"usage"`
	Timings wire.Timings `json:"timings"`
}

type chatChoice struct {
	Index        int               `json:"index"`
	Message      chatMessage       `json:"message"`
	Logprobs     *chatProbs        `json:"logprobs"`
	FinishReason string            `json:"finish_reason"`
	Trace        []wire.TokenTrace `json:"trace,omitempty"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func newChatShape(h answerHeads) chatShape { return chatShape{h, map[int]bool{}} }

func (s chatShape) chunk(d chatDelta) *chatChunk {
	return &chatChunk{Head: s.Head("chat.completion.chunk"), Choices: []chatDelta{d}}
}

// Part implements wire.Shape.
func (s chatShape) Part(c *completion.Choice, d completion.Delta) []any {
	more := wire.DetailsOf(c, d)
	part := chatDelta{Index: c.Index, Delta: chatText{Content: &d.Content}, Logprobs: chatProbsOf(more.Probs), Trace: more.Traces}
	if !s.begun[c.Index] {
		s.begun[c.Index] = true
		part.Delta.Role = "assistant"
	}
	return []any{s.chunk(part)}
}

// Last implements wire.Shape.
func (s chatShape) Last(c *completion.Choice) []any {
	reason := c.FinishReason()
	chunk := s.chunk(chatDelta{Index: c.Index, FinishReason: &reason})
	chunk.Timings = timingsOf(c.End)
	return []any{chunk}
}

// Closing implements wire.Shape.
func (s chatShape) Closing(choices []*completion.Choice) []any {
	if !s.sendUsage {
		return nil
	}
	u := s.usage(choices)
	return []any{&chatChunk{Head: s.Head("chat.completion.chunk"), Choices: []chatDelta{}, Usage: &u}}
}

// Whole implements wire.Shape.
func (s chatShape) Whole(choices []*completion.Choice, wholes []*wire.Whole) any {
	a := chatAnswer{Head: s.Head("chat.completion"), Usage: s.usage(choices), Timings: wire.TimingsOf(choices[0].End)}
	for i, c := range choices {
		w := wholes[i]
		a.Choices = append(a.Choices, chatChoice{Index: c.Index, Message: chatMessage{Role: "assistant", Content: w.Content.String()},
			Logprobs: chatProbsOf(w.Probs), FinishReason: c.FinishReason(), Trace: w.Traces})
	}
	return a
}

func chatProbsOf(probs []wire.TokenProb) *chatProbs {
	if len(probs) == 0 {
		return nil
	}
	return &chatProbs{Content: probs}
}

func timingsOf(e scheduler.End) *wire.Timings {
	t := wire.TimingsOf(e)
	return &t
}
