// SPDX-License-Identifier: MIT

package completion

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/integer"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// maxPrompts bounds the prompts of one request.
const maxPrompts = 128

// PromptReader reads the prompts of bodies for one model.
type PromptReader struct {
	chat.Encoder
	Vocabulary int // tokens

	of *TextRequest // that takes the pictures and sounds; nil: prompts cannot have any
}

func readerOf(m *serving.Model) PromptReader {
	return PromptReader{Encoder: m.Encoder(), Vocabulary: m.Vocabulary}
}

// ReadPrompts reads the request's prompt: a text, a list of tokens and texts that make one prompt,
// an object with either as its prompt_string, and perhaps pictures and sounds, or a list of
// prompts. A list of texts alone is a list of prompts, as with OpenAI.
func (r *TextRequest) ReadPrompts(ctx context.Context, raw json.RawMessage) (err error) {
	reader := readerOf(r.Model)
	reader.of = r
	r.Prompts, err = reader.Prompts(ctx, raw, "prompt", maxPrompts)
	return err
}

// Prompts reads what a field holds, at most so many prompts.
func (r PromptReader) Prompts(ctx context.Context, raw json.RawMessage, field string, most int) ([][]scheduler.Token, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil, refusal.Invalid(field, "%s is missing", field)
	}
	if raw[0] != '[' {
		p, err := r.onePrompt(ctx, raw, field)
		return [][]scheduler.Token{p}, err
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, refusal.Invalid(field, "%s is not a list", field)
	}
	if slices.IndexFunc(items, IsNumber) >= 0 {
		p, err := r.mixedPrompt(ctx, items, field)
		return [][]scheduler.Token{p}, err
	}
	if len(items) == 0 || len(items) > most {
		return nil, refusal.Invalid(field, "%s has %d prompts; 1 to %d are allowed", field, len(items), most)
	}
	prompts := make([][]scheduler.Token, len(items))
	for i, item := range items {
		p, err := r.onePrompt(ctx, bytes.TrimSpace(item), fmt.Sprintf("%s[%d]", field, i))
		if err != nil {
			return nil, err
		}
		prompts[i] = p
	}
	return prompts, nil
}

// TextError adds to the error of a text that cannot be tokenised the field that it came from.
func TextError(err error, field string) error {
	var tooLong *chat.TooLong
	switch {
	case errors.As(err, &tooLong):
		return refusal.TextTooLong(field, tooLong.Error(), tooLong.Context)
	case errors.Is(err, chat.ErrInvalidText):
		return refusal.Invalid(field, "%s: %v", field, err)
	}
	return err
}

// onePrompt reads a text, a list of tokens and texts, or, as llama-server does, an object with
// either as its prompt_string.
func (r PromptReader) onePrompt(ctx context.Context, raw json.RawMessage, field string) ([]scheduler.Token, error) {
	var object struct {
		Prompt json.RawMessage `json:"prompt_string"`
		Media  json.RawMessage `json:"multimodal_data"`
	}
	encode := r.Text
	if raw[0] == '{' && json.Unmarshal(raw, &object) == nil && len(object.Prompt) > 0 {
		has, err := r.takeMedia(object.Prompt, object.Media, field)
		if err != nil {
			return nil, err
		}
		if has {
			encode = r.WithMedia
		}
		raw, field = object.Prompt, field+".prompt_string"
	}
	var text string
	if raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		tokens, err := encode(ctx, text)
		return tokens, TextError(err, field)
	}
	var items []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		return nil, refusal.Invalid(field, "%s must be a text or a list of tokens", field)
	}
	return r.mixedPrompt(ctx, items, field)
}

// takeMedia takes the pictures and sounds of a prompt, if it has any, which are in base64. The
// prompt's text has a marker for each.
func (r PromptReader) takeMedia(prompt, raw json.RawMessage, field string) (has bool, _ error) {
	at := field + ".multimodal_data"
	if !IsSet(raw) {
		return false, nil
	}
	var sources []string
	var text string
	switch {
	case r.of == nil:
		return false, refusal.Unsupported(at, "%s is not supported here: texts and tokens are taken", at)
	case json.Unmarshal(raw, &sources) != nil:
		return false, refusal.Invalid(at, "%s must be a list of files in base64", at)
	case len(sources) > 0 && json.Unmarshal(prompt, &text) != nil:
		return false, refusal.Invalid(field+".prompt_string", "%s.prompt_string must be a text, since there are files in multimodal_data", field)
	}
	if len(sources) == 0 {
		return false, nil
	}
	r.of.parts = append(r.of.parts, media.Sources(at, media.Any, sources)...)
	if err := r.of.Model.Media.Check(r.of.parts, r.of.Model.Name); err != nil {
		return false, err // before it is told of markers
	}
	return true, media.CheckMarkers(field+".prompt_string", text, len(sources))
}

// MixedPrompt joins tokens and texts; only a text at the beginning gets the model's special tokens.
func MixedPrompt(ctx context.Context, m *serving.Model, items []json.RawMessage, field string) ([]scheduler.Token, error) {
	return readerOf(m).mixedPrompt(ctx, items, field)
}

func (r PromptReader) mixedPrompt(ctx context.Context, items []json.RawMessage, field string) ([]scheduler.Token, error) {
	var prompt []scheduler.Token
	for i, item := range items {
		var text string
		if item[0] == '"' && json.Unmarshal(item, &text) == nil {
			encode := r.Continuation
			if i == 0 {
				encode = r.Text
			}
			tokens, err := encode(ctx, text)
			if err != nil {
				return nil, TextError(err, field)
			}
			prompt = append(prompt, tokens...)
			continue
		}
		token, ok := ReadToken(item, r.Vocabulary)
		if !ok {
			at := fmt.Sprintf("%s[%d]", field, i)
			return nil, refusal.Invalid(at, "%s must be a text or a token from 0 to %d", at, r.Vocabulary-1)
		}
		prompt = append(prompt, token)
	}
	return prompt, nil
}

// ReadToken reads a token of a vocabulary of so many; false: the value is none.
func ReadToken(raw json.RawMessage, vocabulary int) (token scheduler.Token, ok bool) {
	err := integer.Unmarshal(raw, &token)
	return token, IsNumber(raw) && err == nil && token >= 0 && int(token) < vocabulary
}

// PromptTexts are the texts of prompts that were read from raw: as they stand there, or else those
// of the tokens.
func PromptTexts(m *serving.Model, raw json.RawMessage, prompts [][]scheduler.Token) ([]string, error) {
	texts := make([]string, len(prompts))
	if json.Unmarshal(raw, &texts[0]) == nil || json.Unmarshal(raw, &texts) == nil {
		return texts, nil
	}
	for i, p := range prompts {
		var err error
		if texts[i], err = m.Engine.Detokenize(p); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// IsNumber reports whether a JSON value is a number.
func IsNumber(raw json.RawMessage) bool { return raw[0] == '-' || (raw[0] >= '0' && raw[0] <= '9') }
