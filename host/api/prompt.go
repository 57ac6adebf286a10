// SPDX-License-Identifier: MIT

package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
)

// maxPrompts bounds the prompts of one request.
const maxPrompts = 128

// prompts reads a prompt: a text, a list of tokens and texts that make one prompt, or a list of prompts. A list of
// texts alone is a list of prompts, as with OpenAI.
func (s *service) prompts(raw json.RawMessage) ([][]scheduler.Token, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil, invalid("prompt", "prompt is missing")
	}
	if raw[0] != '[' {
		p, err := s.onePrompt(raw, "prompt")
		return [][]scheduler.Token{p}, err
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, invalid("prompt", "prompt is not a list")
	}
	if slices.IndexFunc(items, isNumber) >= 0 {
		p, err := s.mixedPrompt(items, "prompt")
		return [][]scheduler.Token{p}, err
	}
	if len(items) == 0 || len(items) > maxPrompts {
		return nil, invalid("prompt", "prompt has %d prompts; 1 to %d are allowed", len(items), maxPrompts)
	}
	prompts := make([][]scheduler.Token, len(items))
	for i, item := range items {
		p, err := s.onePrompt(bytes.TrimSpace(item), fmt.Sprintf("prompt[%d]", i))
		if err != nil {
			return nil, err
		}
		prompts[i] = p
	}
	return prompts, nil
}

// tokenize turns a text of a field into tokens. One that has more bytes than the context could hold in the longest of tokens is refused
// before it takes any time.
func (s *service) tokenize(field, text string, addSpecial, parseSpecial bool) ([]scheduler.Token, error) {
	if most := max(leastText, bytesPerToken*s.Model.Context); len(text) > most {
		return nil, &Error{Status: http.StatusBadRequest, Code: "context_length_exceeded", Type: typeInvalid, Param: field,
			Message: fmt.Sprintf("the text has %d bytes; with a context of %d tokens at most %d are taken", len(text), s.Model.Context, most)}
	}
	tokens, err := s.Engine.Tokenize(text, addSpecial, parseSpecial)
	if errors.Is(err, sampling.ErrInvalid) {
		err = invalid(field, "%s: %v", field, err)
	}
	return tokens, err
}

// The bounds of a text that is tokenised: so many bytes for each token of the context, which is four times the usual, and at least so many.
const (
	bytesPerToken = 16
	leastText     = 1 << 20
)

// spelling is the tokeniser for what a template has rendered.
type spelling struct {
	*service
	field string
}

// Tokenize implements chat.Tokenizer.
func (s spelling) Tokenize(text string, addSpecial, parseSpecial bool) ([]int32, error) {
	return s.tokenize(s.field, text, addSpecial, parseSpecial)
}

// onePrompt reads a text or a list of tokens and texts.
func (s *service) onePrompt(raw json.RawMessage, field string) ([]scheduler.Token, error) {
	var text string
	if raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return s.tokenize(field, text, true, true)
	}
	var items []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		return nil, invalid(field, "%s must be a text or a list of tokens", field)
	}
	return s.mixedPrompt(items, field)
}

// mixedPrompt joins tokens and texts; only a text at the beginning gets the model's special tokens.
func (s *service) mixedPrompt(items []json.RawMessage, field string) ([]scheduler.Token, error) {
	var prompt []scheduler.Token
	for i, item := range items {
		var text string
		if item[0] == '"' && json.Unmarshal(item, &text) == nil {
			tokens, err := s.tokenize(field, text, i == 0, true)
			if err != nil {
				return nil, err
			}
			prompt = append(prompt, tokens...)
			continue
		}
		var token int32
		if err := json.Unmarshal(item, &token); err != nil || token < 0 || int(token) >= s.Model.Vocabulary {
			at := fmt.Sprintf("%s[%d]", field, i)
			return nil, invalid(at, "%s must be a text or a token from 0 to %d", at, s.Model.Vocabulary-1)
		}
		prompt = append(prompt, token)
	}
	return prompt, nil
}

func isNumber(raw json.RawMessage) bool { return raw[0] == '-' || (raw[0] >= '0' && raw[0] <= '9') }
