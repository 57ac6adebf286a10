// SPDX-License-Identifier: MIT

package api

// chatShape is OpenAI's chat completion.
type chatShape struct{ heads }

type chatChunk struct {
	head
	Choices []chatDelta `json:"choices"`
	Usage   *usage      `json:"usage,omitempty"`
	Timings *timings    `json:"timings,omitempty"`
}

type chatDelta struct {
	Index        int        `json:"index"`
	Delta        chatText   `json:"delta"`
	Logprobs     *chatProbs `json:"logprobs"`
	FinishReason *string    `json:"finish_reason"`

	Trace []tokenTrace `json:"trace,omitempty"`
}

type chatText struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
}

type chatAnswer struct {
	head
	Choices []chatChoice `json:"choices"`
	Usage   usage        `json:"usage"`
	Timings timings      `json:"timings"`
}

type chatChoice struct {
	Index        int          `json:"index"`
	Message      chatMessage  `json:"message"`
	Logprobs     *chatProbs   `json:"logprobs"`
	FinishReason string       `json:"finish_reason"`
	Trace        []tokenTrace `json:"trace,omitempty"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func (s chatShape) chunk(d chatDelta) *chatChunk {
	return &chatChunk{head: s.head("chat.completion.chunk"), Choices: []chatDelta{d}}
}

func (s chatShape) part(c *choice, text string, more details) any {
	d := chatDelta{Index: c.index, Delta: chatText{Content: &text}, Logprobs: chatProbsOf(more.probs), Trace: more.traces}
	if !c.begun {
		c.begun = true
		d.Delta.Role = "assistant"
	}
	return s.chunk(d)
}

func (s chatShape) last(c *choice) any {
	reason := c.end.Reason.String()
	chunk := s.chunk(chatDelta{Index: c.index, FinishReason: &reason})
	t := timingsOf(c.end)
	chunk.Timings = &t
	return chunk
}

func (s chatShape) closing(u usage) any {
	return &chatChunk{head: s.head("chat.completion.chunk"), Choices: []chatDelta{}, Usage: &u}
}

func (s chatShape) whole(choices []*choice, u usage) any {
	a := chatAnswer{head: s.head("chat.completion"), Usage: u, Timings: timingsOf(choices[0].end)}
	for _, c := range choices {
		a.Choices = append(a.Choices, chatChoice{Index: c.index, Message: chatMessage{Role: "assistant", Content: c.text.String()},
			Logprobs: chatProbsOf(c.probs), FinishReason: c.end.Reason.String(), Trace: c.traces})
	}
	return a
}

func (chatShape) endsWithDone() bool { return true }

func chatProbsOf(probs []tokenProb) *chatProbs {
	if len(probs) == 0 {
		return nil
	}
	return &chatProbs{Content: probs}
}
