// SPDX-License-Identifier: MIT

package openai

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/chat"
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
	r, err := b.request(c.Request().Context(), a.Service, wire.CallerOf(c), sound)
	if err != nil {
		return err
	}
	return a.Answer(c, r, &transcriptShape{request: r, text: b.ResponseFormat == transcriptText}, b.Stream)
}

// request turns a form into a request.
func (b *transcriptionBody) request(ctx context.Context, s *completion.Service, from completion.Caller, sound []byte) (*completion.TextRequest, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	const id = "sound"
	from.Files = func(string) []byte {
		data := sound
		sound = nil // it is decoded once; the request lives on for the whole answer
		return data
	}
	asked := completion.TextRequest{Caller: from, ModelName: b.Model, PromptField: "prompt", Common: &b.CommonFields, Size: len(b.Prompt)}
	return s.New(ctx, asked, func(_ context.Context, r *completion.TextRequest) error {
		c := chat.Conversation{Messages: b.messages(r.Model.Template),
			Media: []media.Part{{Field: "file", Kind: media.Audio, Source: media.FrameScheme + id}}}
		if completion.IsSet(b.Chunking) {
			c.LeftOut = append(c.LeftOut, "chunking_strategy")
		}
		if slices.Contains(b.Include, "logprobs") {
			r.Logprobs = 0
		}
		if b.MaxTokens != nil && *b.MaxTokens > 0 {
			r.MaxTokens = *b.MaxTokens
		}
		r.Converse(c)
		return nil
	})
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

// messages ask for the transcript, in llama-server's words: LFM2, known by its chat template, has
// been trained with others.
func (b *transcriptionBody) messages(template string) (all []chat.Message) {
	ask := "Transcribe audio to text"
	if strings.Contains(template, "<|tool_list_start|>") && strings.Contains(template, "<|tool_list_end|>") {
		all, ask = append(all, chat.Message{Role: "system", Content: "Perform ASR."}), ""
	}
	if b.Prompt != "" {
		ask = b.Prompt
	}
	if b.Language != "" {
		ask += " (language: " + b.Language + ")"
	}
	return append(all, chat.Message{Role: "user", Content: ask + media.Marker})
}
