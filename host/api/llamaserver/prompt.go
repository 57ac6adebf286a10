// SPDX-License-Identifier: MIT

package llamaserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/scheduler"
)

// prompts reads the field prompt. One prompt is a text, a list of tokens and texts, or an object with either as its prompt_string; a
// list of prompts is a list without numbers.
func prompts(m *completion.Model, raw json.RawMessage) ([][]scheduler.Token, error) {
	items, isList := list(raw)
	if !isList || slices.ContainsFunc(items, completion.IsNumber) {
		p, err := prompt(m, raw, "prompt")
		return [][]scheduler.Token{p}, err
	}
	if len(items) == 0 || len(items) > mostPrompts {
		return nil, completion.Invalid("prompt", "prompt has %d prompts; 1 to %d are allowed", len(items), mostPrompts)
	}
	all := make([][]scheduler.Token, len(items))
	for i, item := range items {
		var err error
		if all[i], err = prompt(m, item, fmt.Sprintf("prompt[%d]", i)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// mostPrompts bounds the prompts of one request.
const mostPrompts = 128

// prompt reads one prompt.
func prompt(m *completion.Model, raw json.RawMessage, field string) ([]scheduler.Token, error) {
	var object struct {
		Prompt json.RawMessage `json:"prompt_string"`
		Media  json.RawMessage `json:"multimodal_data"`
	}
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) && json.Unmarshal(raw, &object) == nil && len(object.Prompt) > 0 {
		if completion.IsSet(object.Media) {
			field += ".multimodal_data"
			return nil, completion.Unsupported(field, "%s is not supported: the model reads text only", field)
		}
		raw, field = object.Prompt, field+".prompt_string"
	}
	if items, ok := list(raw); ok {
		return m.MixedPrompt(items, field)
	}
	var text string
	switch raw = bytes.TrimSpace(raw); {
	case len(raw) == 0 || string(raw) == "null":
		return nil, completion.Invalid(field, "%s is missing", field)
	case raw[0] != '"' || json.Unmarshal(raw, &text) != nil:
		return nil, completion.Invalid(field, "%s must be a text, a list of tokens and texts, or an object with a prompt_string", field)
	}
	tokens, err := m.Encoder().Text(text)
	return tokens, completion.TextError(err, field)
}

// list reads a JSON list.
func list(raw json.RawMessage) (items []json.RawMessage, ok bool) {
	raw = bytes.TrimSpace(raw)
	return items, len(raw) > 0 && raw[0] == '[' && json.Unmarshal(raw, &items) == nil
}

// pieces joins the texts of tokens, with the names of control tokens. What is no character becomes one that stands for it, once for the
// beginning of a character, as in llama-server's JSON.
func pieces(m *completion.Model, tokens []scheduler.Token) string {
	var joined, valid strings.Builder
	for _, t := range tokens {
		joined.WriteString(m.Engine.Piece(t))
	}
	for text := joined.String(); text != ""; {
		r, n := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && n == 1 {
			for n < min(utf8.UTFMax-1, len(text)) && !utf8.FullRuneInString(text[:n+1]) {
				n++
			}
		}
		valid.WriteRune(r)
		text = text[n:]
	}
	return valid.String()
}
