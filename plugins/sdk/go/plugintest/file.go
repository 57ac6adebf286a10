// SPDX-License-Identifier: MIT

package plugintest

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// The types of this file are what a session file has; the package host/plugin/session describes
// its fields.

type file struct {
	Version    int             `json:"penstock_session"`
	Vocabulary vocabulary      `json:"vocabulary"`
	Model      json.RawMessage `json:"model,omitempty"`
	Sessions   []session       `json:"sessions"`
}

type vocabulary struct {
	Pieces       []text                      `json:"pieces"`
	Attributes   map[string][]penstock.Token `json:"attributes,omitempty"`
	Special      map[string]penstock.Token   `json:"special,omitempty"`
	LongestPiece bool                        `json:"longest_piece"`
}

type session struct {
	Name    string            `json:"name"`
	Plugin  map[string]string `json:"plugin"`
	Request request           `json:"request"`
	Calls   []call            `json:"calls"`
}

type request struct {
	Config      json.RawMessage `json:"config,omitempty"`
	Messages    json.RawMessage `json:"messages,omitempty"`
	Media       json.RawMessage `json:"media,omitempty"`
	Prompt      []int32         `json:"prompt,omitempty"` // -1: a row of a picture or a sound
	MaxTokens   int             `json:"max_tokens,omitempty"`
	ContextSize int             `json:"context_size,omitempty"`
	Seed        uint64          `json:"seed,omitempty"`
	Sampling    json.RawMessage `json:"sampling,omitempty"`
	Time        int64           `json:"time,omitempty"`
	Choice      int             `json:"choice,omitempty"`
	Choices     int             `json:"choices,omitempty"`
}

// call is one call of the plugin, and what came of it.
type call struct {
	Call     string            `json:"call"`
	Token    *penstock.Token   `json:"token,omitempty"`
	Text     *text             `json:"text,omitempty"`
	IDs      []penstock.Token  `json:"ids,omitempty"`
	Logits   logits            `json:"logits,omitempty"`
	Keep     *int              `json:"keep,omitempty"`
	Logprob  *logit            `json:"logprob,omitempty"`
	Answer   *int32            `json:"answer,omitempty"`
	Mask     *mask             `json:"mask,omitempty"`
	Bias     []bias            `json:"bias,omitempty"`
	Force    []penstock.Token  `json:"force,omitempty"`
	Left     *left             `json:"left,omitempty"`
	Splice   *splice           `json:"splice,omitempty"`
	Prompt   *text             `json:"prompt,omitempty"`
	Messages json.RawMessage   `json:"messages,omitempty"`
	Outputs  []json.RawMessage `json:"outputs,omitempty"`
	Refusal  *string           `json:"refusal,omitempty"`
	Declined []string          `json:"declined,omitempty"`
	Asked    []asked           `json:"asked,omitempty"`
	Deeds    []deed            `json:"deeds,omitempty"`
}

type left struct {
	IDs    []penstock.Token `json:"ids,omitempty"`
	Logits logits           `json:"logits"`
}

type splice struct {
	Backtrack int              `json:"backtrack"`
	Tokens    []penstock.Token `json:"tokens,omitempty"`
}

// asked is a question that a player cannot answer by itself.
type asked struct {
	Import string `json:"import"`
	Kind   int32  `json:"kind,omitempty"`
	Text   *text  `json:"text,omitempty"`
	Count  int32  `json:"count,omitempty"`
	State  logits `json:"state,omitempty"`
	Error  string `json:"error,omitempty"`
}

// mask is the bits of the ABI's words, or nothing where all tokens are allowed.
type mask struct {
	Bits []byte `json:"bits,omitempty"`
}

func newMask(words []uint32, n int) *mask {
	m := &mask{}
	for _, w := range words[:(n+31)/32] {
		m.Bits = binary.LittleEndian.AppendUint32(m.Bits, w)
	}
	return m
}

// text is bytes: a string, or base64 where they are no UTF-8.
type text string

func newText(s string) *text { return (*text)(&s) }

// MarshalJSON implements json.Marshaler.
func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(map[string][]byte{"base64": []byte(t)})
}

// logits may be infinite, which JSON has no numbers for.
type logits []float32

// MarshalJSON implements json.Marshaler.
func (l logits) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, x := range l {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendLogit(b, x)
	}
	return append(b, ']'), nil
}

// logit is one of them.
type logit float32

// MarshalJSON implements json.Marshaler.
func (l logit) MarshalJSON() ([]byte, error) { return appendLogit(nil, float32(l)), nil }

// bias is a token and the amount for its logit.
type bias struct {
	token  penstock.Token
	amount float32
}

// MarshalJSON implements json.Marshaler.
func (a bias) MarshalJSON() ([]byte, error) {
	b := strconv.AppendUint([]byte{'['}, uint64(a.token), 10)
	return append(appendLogit(append(b, ','), a.amount), ']'), nil
}

func appendLogit(b []byte, x float32) []byte {
	switch {
	case math.IsInf(float64(x), -1):
		return append(b, `"-inf"`...)
	case math.IsInf(float64(x), 1):
		return append(b, `"inf"`...)
	case x != x:
		return append(b, `"nan"`...)
	}
	return strconv.AppendFloat(b, float64(x), 'g', -1, 32)
}
