// SPDX-License-Identifier: MIT

package openai

import (
	"strings"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
)

// transcriptShape is OpenAI's transcript, with what llama-server's has besides.
type transcriptShape struct {
	request *completion.TextRequest
	text    bool // in one piece it is text alone

	told  strings.Builder  // so far
	probs []wire.TokenProb // likewise
}

type transcriptDelta struct {
	Type     string           `json:"type"`
	Delta    string           `json:"delta"`
	Logprobs []wire.TokenProb `json:"logprobs,omitempty"`
}

// transcript is the last frame, and the answer in one piece.
type transcript struct {
	Type     string           `json:"type"`
	Text     string           `json:"text"`
	Logprobs []wire.TokenProb `json:"logprobs,omitempty"`
	Usage    transcriptUsage  `json:"usage"`

	FinishReason string `json:"finish_reason"`       // an addition of ours: a transcript that is cut off has "length"
	Recording    string `json:"recording,omitempty"` // likewise
}

// transcriptUsage has OpenAI's details of a prompt and llama-server's, whose names differ by a
// letter.
type transcriptUsage struct {
	Type   string `json:"type"`
	Input  int    `json:"input_tokens"`
	Output int    `json:"output_tokens"`
	Total  int    `json:"total_tokens"`
	Parts  struct {
		Text  int `json:"text_tokens"`
		Audio int `json:"audio_tokens"`
	} `json:"input_token_details"`
	Cache struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
}

// Start implements wire.Shape.
func (*transcriptShape) Start(*completion.Choice) []any { return nil }

// Part implements wire.Shape.
func (s *transcriptShape) Part(c *completion.Choice, d completion.Delta) []any {
	probs := wire.DetailsOf(c, d).Probs
	if d.Content == "" && len(probs) == 0 {
		return nil
	}
	s.told.WriteString(d.Content)
	s.probs = append(s.probs, probs...)
	return []any{&transcriptDelta{Type: "transcript.text.delta", Delta: d.Content, Logprobs: probs}}
}

// Last implements wire.Shape.
func (s *transcriptShape) Last(c *completion.Choice) []any {
	return []any{s.transcript(c, s.told.String(), s.probs)}
}

// Closing implements wire.Shape.
func (*transcriptShape) Closing([]*completion.Choice) []any { return nil }

// Framing implements wire.Shape.
func (*transcriptShape) Framing() wire.Framing { return wire.EventsDone }

// Whole implements wire.Shape.
func (s *transcriptShape) Whole(choices []*completion.Choice, wholes []*wire.Whole) any {
	if s.text {
		return wire.PlainText(wholes[0].Content.String())
	}
	return s.transcript(choices[0], wholes[0].Content.String(), wholes[0].Probs)
}

func (s *transcriptShape) transcript(c *completion.Choice, text string, probs []wire.TokenProb) *transcript {
	t := &transcript{Type: "transcript.text.done", Text: text, Logprobs: probs, FinishReason: c.FinishReason(), Recording: s.request.RecordingID()}
	u := wire.UsageOf([]*completion.Choice{c}, 1)
	t.Usage = transcriptUsage{Type: "tokens", Input: u.Prompt, Output: u.Completion, Total: u.Total}
	t.Usage.Parts.Audio = u.Details.Audio
	t.Usage.Parts.Text, t.Usage.Cache.Cached = u.Prompt-t.Usage.Parts.Audio, u.Details.Cached
	return t
}
