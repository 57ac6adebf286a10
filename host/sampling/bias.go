// SPDX-License-Identifier: MIT

package sampling

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/penstock/penstock/host/integer"
)

// Vocabulary is what must be known of a model to read a bias on a text or a token.
type Vocabulary interface {
	// Size is the number of tokens.
	Size() int
	// Tokenize splits text. It adds no special tokens and sees none in the text.
	Tokenize(text string) ([]int32, error)
}

// maxBiasText bounds the texts of biases together, in bytes. Each text counts for some more, which
// stand for what tokenizing costs whatever its length.
const (
	maxBiasText = 256 << 10
	perBiasText = 64
)

// biases are those that are read.
type biases struct {
	of    map[int32]float32
	texts int // what maxBiasText bounds
	v     Vocabulary
}

// parseBias reads OpenAI's form {"TOKEN": bias} and llama.cpp's [[TOKEN or "text", bias or false],
// …]; false bans, and the names of an object may be texts, too. An absent one keeps base.
func parseBias(raw json.RawMessage, base map[int32]float32, v Vocabulary) (map[int32]float32, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return base, nil
	}
	b := biases{of: map[int32]float32{}, v: v}
	if raw[0] == '{' {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(raw, &object); err != nil {
			return nil, malformedBias(raw)
		}
		for name, value := range object {
			add := b.addToken
			if _, err := strconv.ParseInt(name, 10, 64); err != nil {
				add = b.addText
			}
			if err := add(name, value); err != nil {
				return nil, err
			}
		}
		return b.of, nil
	}
	var pairs [][2]json.RawMessage
	if err := json.Unmarshal(raw, &pairs); err != nil {
		return nil, malformedBias(raw)
	}
	for _, pair := range pairs {
		var text string
		if err := json.Unmarshal(pair[0], &text); err == nil {
			err = b.addText(text, pair[1])
			if err != nil {
				return nil, err
			}
			continue
		}
		name := string(pair[0])
		var token *int64
		if integer.Unmarshal(pair[0], &token) == nil && token != nil {
			name = strconv.FormatInt(*token, 10)
		}
		if err := b.addToken(name, pair[1]); err != nil {
			return nil, err
		}
	}
	return b.of, nil
}

func (b *biases) addToken(name string, value json.RawMessage) error {
	token, err := strconv.ParseInt(name, 10, 32)
	if err != nil || token < 0 || token >= int64(b.v.Size()) {
		return invalid("logit_bias", name, "a token from 0 to "+strconv.Itoa(b.v.Size()-1))
	}
	bias, err := biasValue(value)
	if err != nil {
		return err
	}
	b.of[int32(token)] = bias
	return nil
}

func (b *biases) addText(text string, value json.RawMessage) error {
	if b.texts += len(text) + perBiasText; b.texts > maxBiasText {
		return invalid("logit_bias", text, "texts of at most "+strconv.Itoa(maxBiasText>>10)+" KiB together")
	}
	bias, err := biasValue(value)
	if err != nil {
		return err
	}
	tokens, err := b.v.Tokenize(text)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		b.of[t] = bias
	}
	return nil
}

func biasValue(raw json.RawMessage) (float32, error) {
	if string(raw) == "false" {
		return float32(math.Inf(-1)), nil
	}
	var bias *float32
	if err := json.Unmarshal(raw, &bias); err != nil || bias == nil {
		return 0, invalid("logit_bias", string(raw), "a number, or false to ban the token")
	}
	return *bias, nil
}

func malformedBias(raw []byte) error {
	return invalid("logit_bias", string(raw), `{"TOKEN": bias} or [[TOKEN, bias], …]`)
}
