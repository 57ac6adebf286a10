// SPDX-License-Identifier: MIT

package openai

import (
	"crypto/rand"
	"time"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/scheduler"
)

// head is what every object of an answer begins with.
type head struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`

	Fingerprint string `json:"system_fingerprint,omitempty"` // the program that answers
	Verbose     any    `json:"__verbose,omitempty"`          // llama-server's description of the answer
}

// describe adds llama-server's description of the answer.
func (h *head) describe(answer any) { h.Verbose = answer }

// answerHeads begin the objects of one answer, streamed and whole.
type answerHeads struct {
	common    head // but for Object
	request   *completion.Prompted
	sendUsage bool
}

func (a API) newAnswerHeads(prefix string, r *completion.Prompted, b *AnswerFields) answerHeads {
	h := head{ID: prefix + rand.Text(), Created: time.Now().Unix(), Model: r.Model.Name, Fingerprint: "penstock " + a.Version}
	return answerHeads{h, r, b.StreamOptions.IncludeUsage}
}

// head is the head of an object.
func (h answerHeads) head(object string) head {
	of := h.common
	of.Object = object
	return of
}

func (h answerHeads) usage(choices []*completion.Choice) wire.Usage {
	return wire.UsageOf(choices, h.request.PerPrompt)
}

// noUsage is the usage of a frame before the one that tells it: null if the client has asked for
// that one, as with OpenAI, else nothing.
func (h answerHeads) noUsage() any {
	if !h.sendUsage {
		return nil
	}
	return (*wire.Usage)(nil) // which is not omitted
}

// answerFrame is a frame of a streamed answer, or a whole text completion: some of its choices.
type answerFrame[Choice any] struct {
	head
	Choices []Choice `json:"choices"`
	Usage   any      `json:"usage,omitempty"` // see answerHeads.noUsage
	wire.Measured

	Recording string `json:"recording,omitempty"` // an addition of ours, in the last frame of a choice
	Receipt   string `json:"receipt,omitempty"`   // likewise, of the choice that ends last
}

// Start implements wire.Shape: nothing is sent before the first token.
func (answerHeads) Start(*completion.Choice) []any { return nil }

// Framing implements wire.Shape.
func (answerHeads) Framing() wire.Framing { return wire.EventsDone }

// chatShape is OpenAI's chat completion.
type chatShape struct {
	answerHeads
	begun map[int]bool // the choices whose first frame was sent
}

type chatChunk = answerFrame[chatDelta]

type chatDelta struct {
	Index        int        `json:"index"`
	Delta        chatText   `json:"delta"`
	Logprobs     *chatProbs `json:"logprobs"`
	FinishReason *string    `json:"finish_reason"`

	Trace []wire.TokenTrace `json:"trace,omitempty"`
	wire.Branches
	PluginOutputs []wire.PluginOutput `json:"plugin_outputs,omitempty"` // in the last chunk of a choice
}

type chatText struct {
	Role      string           `json:"role,omitempty"`
	Content   *string          `json:"content,omitempty"`
	Reasoning string           `json:"reasoning_content,omitempty"`
	ToolCalls []wire.CallDelta `json:"tool_calls,omitempty"`
}

type chatAnswer struct {
	head
	Choices []chatChoice `json:"choices"`
	Usage   wire.Usage   `json:"usage"`
	Timings wire.Timings `json:"timings"`

	Recording string `json:"recording,omitempty"` // an addition of ours
	Receipt   string `json:"receipt,omitempty"`   // likewise
}

type chatChoice struct {
	Index        int               `json:"index"`
	Message      chatMessage       `json:"message"`
	Logprobs     *chatProbs        `json:"logprobs"`
	FinishReason string            `json:"finish_reason"`
	Trace        []wire.TokenTrace `json:"trace,omitempty"`
	wire.Branches

	PluginOutputs []wire.PluginOutput `json:"plugin_outputs,omitempty"`
}

type chatMessage struct {
	Role      string      `json:"role"`
	Content   *string     `json:"content"` // null where there are only tool calls
	Refusal   *struct{}   `json:"refusal"` // null: a refusal is text here; clients with strict types want the field
	Reasoning string      `json:"reasoning_content,omitempty"`
	ToolCalls []wire.Call `json:"tool_calls,omitempty"`
}

func newChatShape(h answerHeads) chatShape { return chatShape{h, map[int]bool{}} }

func (s chatShape) chunk(d chatDelta) *chatChunk {
	return &chatChunk{head: s.head("chat.completion.chunk"), Choices: []chatDelta{d}, Usage: s.noUsage()}
}

// Part implements wire.Shape.
func (s chatShape) Part(c *completion.Choice, d completion.Delta) []any {
	more := wire.DetailsOf(c, d)
	part := chatDelta{Index: c.Index, Delta: chatText{Reasoning: d.Reasoning, ToolCalls: wire.CallDeltas(d.Calls)}, Logprobs: chatProbsOf(more.Probs), Trace: more.Traces, Branches: more.Branches}
	if d.Content != "" || d.Reasoning == "" && len(d.Calls) == 0 {
		part.Delta.Content = &d.Content
	}
	return s.begin(c, s.chunk(part))
}

// begin puts the role before the first frame of a choice, in a frame of its own as with OpenAI:
// its client for Node.js takes the log-probabilities of a choice's first frame twice.
func (s chatShape) begin(c *completion.Choice, frame any) []any {
	if s.begun[c.Index] {
		return []any{frame}
	}
	s.begun[c.Index] = true
	return []any{s.chunk(chatDelta{Index: c.Index, Delta: chatText{Role: "assistant", Content: new(string)}}), frame}
}

// Last implements wire.Shape.
func (s chatShape) Last(c *completion.Choice) []any {
	reason := c.FinishReason()
	chunk := s.chunk(chatDelta{Index: c.Index, FinishReason: &reason, PluginOutputs: wire.OutputsOf(c)})
	chunk.Timings, chunk.Recording, chunk.Receipt = timingsOf(c.End), c.Request.RecordingID(), c.Receipt()
	return s.begin(c, chunk)
}

// Closing implements wire.Shape.
func (s chatShape) Closing(choices []*completion.Choice) []any {
	if !s.sendUsage {
		return nil
	}
	return []any{&chatChunk{head: s.head("chat.completion.chunk"), Choices: []chatDelta{}, Usage: s.usage(choices)}}
}

// Whole implements wire.Shape.
func (s chatShape) Whole(choices []*completion.Choice, wholes []*wire.Whole) any {
	a := chatAnswer{head: s.head("chat.completion"), Usage: s.usage(choices), Timings: wire.TimingsOf(choices[0].End), Recording: s.request.RecordingID(), Receipt: wire.ReceiptOf(choices)}
	for i, c := range choices {
		w := wholes[i]
		a.Choices = append(a.Choices, chatChoice{Index: c.Index, Message: messageOf(w),
			Logprobs: chatProbsOf(w.Probs), FinishReason: c.FinishReason(), Trace: w.Traces, Branches: w.Branches, PluginOutputs: wire.OutputsOf(c)})
	}
	return &a
}

func messageOf(w *wire.Whole) chatMessage {
	m := chatMessage{Role: "assistant", Reasoning: w.Reasoning.String()}
	if content := w.Content.String(); content != "" || len(w.Calls) == 0 {
		m.Content = &content
	}
	m.ToolCalls = wire.CallsOf(w)
	return m
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

// chatProbs is logprobs of a chat choice.
type chatProbs struct {
	Content []wire.TokenProb `json:"content"`
	Refusal *struct{}        `json:"refusal"` // null: see chatMessage
}

// describedShape adds to the answers of another shape what llama-server tells besides: its
// description of the answer (verbose), frames of how far the prompt is computed, and the times
// until each token.
type describedShape struct {
	wire.Shape
	about   wire.Detailed // the frames of llama-server's own API for the same answer
	verbose bool
}

// describeShape adds to a shape what a body asks for besides.
func (a API) describeShape(r *completion.Prompted, b *AnswerFields, sh wire.Shape) wire.Shape {
	measured := b.Stream && (b.ReturnProgress || b.TimingsPerToken)
	if !b.Verbose && !measured {
		return sh
	}
	return describedShape{sh, a.Describe(r, b), b.Verbose}
}

// describable is an object that begins with a head.
type describable interface{ describe(answer any) }

// measurable is a frame that has wire.Measured.
type measurable interface{ Measures() *wire.Measured }

// Event implements wire.Detailed.
func (s describedShape) Event(c *completion.Choice, d completion.Delta) []any {
	about := s.about.Event(c, d)
	frames := wire.Frames(s.Shape, c, d)
	if len(about) == 0 {
		return frames
	}
	switch d.Event.Kind {
	case scheduler.KindStarted, scheduler.KindProgress:
		frames = append(frames, s.Part(c, completion.Delta{})...)
	case scheduler.KindEnd:
		if head, ok := frames[0].(describable); ok && s.verbose { // the last frame is always there
			head.describe(about[len(about)-1])
		}
		return frames
	}
	if told, ok := about[0].(measurable); ok && len(frames) > 0 {
		if frame, ok := frames[len(frames)-1].(measurable); ok {
			*frame.Measures() = *told.Measures()
		}
	}
	return frames
}

// Whole implements wire.Shape.
func (s describedShape) Whole(choices []*completion.Choice, wholes []*wire.Whole) any {
	a := s.Shape.Whole(choices, wholes)
	if head, ok := a.(describable); ok && s.verbose {
		head.describe(s.about.Whole(choices[:1], wholes[:1]))
	}
	return a
}
