// SPDX-License-Identifier: MIT

package openai

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
)

// transcriptionBody is POST /v1/audio/transcriptions.
type transcriptionBody struct {
	completion.CommonFields

	File           wire.File `json:"file"` // the sound
	Model          string    `json:"model"`
	Language       string    `json:"language"`
	Prompt         string    `json:"prompt"`
	ResponseFormat string    `json:"response_format"`
	Stream         bool      `json:"stream"`
	Include        []string  `json:"include"`
	MaxTokens      *int      `json:"max_tokens"`

	// Left out: a sound is heard as a whole.
	Chunking json.RawMessage `json:"chunking_strategy" api:"left out"`

	// Refused: the model tells no times and no speakers.
	Times             json.RawMessage `json:"timestamp_granularities" api:"refused"`
	Speakers          json.RawMessage `json:"known_speaker_names" api:"refused"`
	SpeakerReferences json.RawMessage `json:"known_speaker_references" api:"refused"`
}

// The formats of a transcript. Those of OpenAI that have times are not among them.
const (
	transcriptJSON = "json"
	transcriptText = "text"
)

// transcription has the model write down what is said in a sound. As with llama-server, that is an
// answer to a conversation: one message that asks for it, with the sound at its end.
func (a API) transcription(c echo.Context) error {
	b := &transcriptionBody{CommonFields: completion.DefaultCommonFields()}
	sound, err := wire.ReadForm(c, b)
	if err != nil {
		return err
	}
	asked, err := b.asked(wire.CallerOf(c), sound)
	if err != nil {
		return err
	}
	r, err := a.Prompt(c.Request().Context(), asked)
	if err != nil {
		return err
	}
	return a.Answer(c, r, &transcriptShape{request: r, text: b.ResponseFormat == transcriptText}, b.Stream)
}

// asked is the request that a form is.
func (b *transcriptionBody) asked(from completion.Caller, sound []byte) (completion.Asked, error) {
	const id = "sound"
	from.Files = func(string) []byte {
		data := sound
		sound = nil // it is decoded once; the request lives on for the whole answer
		return data
	}
	t := completion.Transcript{Ask: b.Prompt, Language: b.Language, Sound: media.Part{Field: "file", Kind: media.Audio, Source: media.FrameScheme + id}}
	if completion.IsSet(b.Chunking) {
		t.LeftOut = append(t.LeftOut, "chunking_strategy")
	}
	a := completion.Asked{Caller: from, ModelName: b.Model, PromptField: "prompt", Common: b.CommonFields, Size: len(b.Prompt), Source: t, Answers: completion.OneAnswer()}
	if slices.Contains(b.Include, "logprobs") {
		a.Logprobs = 0
	}
	if b.MaxTokens != nil && *b.MaxTokens > 0 {
		a.Limit = b.MaxTokens
	}
	return a, b.check()
}

// check refuses what is out of range, besides the common fields, and what asks for more than text.
func (b *transcriptionBody) check() error {
	switch b.ResponseFormat {
	case "", transcriptJSON, transcriptText:
	case "verbose_json", "srt", "vtt", "diarized_json":
		return refusal.Unsupported("response_format", "response_format is %q; the times and the speakers that it has are not known here: ask for json or text", b.ResponseFormat)
	default:
		return refusal.Invalid("response_format", "response_format is %q; it must be json or text", excerpt.Of(b.ResponseFormat, 40))
	}
	for i, what := range b.Include {
		if what != "logprobs" {
			field := "include[" + strconv.Itoa(i) + "]"
			return refusal.Invalid(field, "%s is %q; it must be logprobs", field, excerpt.Of(what, 40))
		}
	}
	if n := b.MaxTokens; n != nil && *n < 1 && *n != -1 {
		return refusal.Invalid("max_tokens", "max_tokens is %d; it must be at least 1, or -1 for as many as fit", *n)
	}
	for _, f := range []struct {
		name, what string
		value      json.RawMessage
	}{{"timestamp_granularities", "tells no times", b.Times}, {"known_speaker_names", "tells no speakers", b.Speakers},
		{"known_speaker_references", "tells no speakers", b.SpeakerReferences}} {
		if completion.IsSet(f.value) {
			return refusal.Unsupported(f.name, "%s is not supported: the model %s", f.name, f.what)
		}
	}
	return nil
}

// transcriptShape is OpenAI's transcript, with what llama-server's has besides.
type transcriptShape struct {
	request *completion.Prompted
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
	Receipt      string `json:"receipt,omitempty"`   // likewise
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
	t := &transcript{Type: "transcript.text.done", Text: text, Logprobs: probs, FinishReason: c.FinishReason(), Recording: s.request.RecordingID(), Receipt: c.Receipt()}
	u := wire.UsageOf([]*completion.Choice{c}, 1)
	t.Usage = transcriptUsage{Type: "tokens", Input: u.Prompt, Output: u.Completion, Total: u.Total}
	t.Usage.Parts.Audio = u.Details.Audio
	t.Usage.Parts.Text, t.Usage.Cache.Cached = u.Prompt-t.Usage.Parts.Audio, u.Details.Cached
	return t
}
