// SPDX-License-Identifier: MIT

package openai

import (
	"cmp"
	"encoding/json"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
)

// AnswerFields are the fields that every body asking for an answer may have.
type AnswerFields struct {
	completion.CommonFields

	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`

	// What llama-server tells besides; see describedShape.
	Verbose         bool `json:"verbose"`
	ReturnProgress  bool `json:"return_progress"`
	TimingsPerToken bool `json:"timings_per_token"`

	N    *int            `json:"n"`
	Stop json.RawMessage `json:"stop"`

	// Three names of one thing; the first that is there counts.
	MaxCompletionTokens *int `json:"max_completion_tokens"`
	MaxTokens           *int `json:"max_tokens"`
	NPredict            *int `json:"n_predict"`

	ResponseFormat json.RawMessage `json:"response_format"`
	FormatField    string          `json:"-"` // where that stands in the body of another API, for errors; "": here

	StructuredOutputs json.RawMessage `json:"structured_outputs"`

	mayBeEmpty bool // 0 tokens may be asked for
}

// The bounds of what one request may ask for.
const (
	MaxLogprobs = 20 // alternatives reported with each token
	maxChoices  = 128
)

// Defaults are what a body begins with.
func Defaults() AnswerFields { return AnswerFields{CommonFields: completion.DefaultCommonFields()} }

// asked is what a request begins with.
func (b *AnswerFields) asked(from completion.Caller, promptField string, size int) completion.TextRequest {
	return completion.TextRequest{Caller: from, ModelName: b.Model, PromptField: promptField, Common: &b.CommonFields, Size: size}
}

// Check refuses what is out of range, besides the common fields.
func (b *AnswerFields) Check() error {
	if n := b.Choices(); n < 1 || n > maxChoices {
		return refusal.Invalid("n", "n is %d; it must be from 1 to %d", n, maxChoices)
	}
	return nil
}

// Fill completes a request with the body's fields for its answers.
func (b *AnswerFields) Fill(r *completion.TextRequest) (err error) {
	r.Choices, r.Progress = b.Choices(), b.ReturnProgress && b.Stream
	if err := cmp.Or(b.takeFormat(r), b.takeStructuredOutputs(r)); err != nil {
		return err
	}
	limit, none, err := b.limit()
	if err != nil {
		return err
	}
	r.NoAnswer = none
	if limit > 0 {
		r.MaxTokens = limit
	}
	r.Stops, err = completion.ReadStops(b.Stop, "stop")
	return err
}

// Choices is how many answers to each prompt are wanted.
func (b *AnswerFields) Choices() int {
	if b.N == nil {
		return 1
	}
	return *b.N
}

// limit is how many tokens to generate; 0 means as many as the server allows, which clients write
// as -1. None: nothing is to be generated.
func (b *AnswerFields) limit() (limit int, none bool, err error) {
	given := false
	for _, f := range []struct {
		name  string
		value *int
	}{{"max_completion_tokens", b.MaxCompletionTokens}, {"max_tokens", b.MaxTokens}, {"n_predict", b.NPredict}} {
		switch {
		case f.value == nil:
			continue
		case *f.value == 0 && b.mayBeEmpty:
			none = none || !given
			given = true
		case *f.value < 1 && *f.value != -1:
			return 0, false, refusal.Invalid(f.name, "%s is %d; it must be at least 1, or -1 for as many as fit", f.name, *f.value)
		case !given:
			given, limit = true, max(0, *f.value)
		}
	}
	return limit, none, nil
}
