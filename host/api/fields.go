// SPDX-License-Identifier: MIT

package api

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/penstock/penstock/host/sampling"
)

// Common are the fields that every body asking for an answer may have.
type Common struct {
	sampling.Fields

	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`

	N           *int            `json:"n"`
	Stop        json.RawMessage `json:"stop"`
	CachePrompt bool            `json:"cache_prompt"`
	Priority    int             `json:"priority"`
	TimeoutMS   *int64          `json:"timeout_ms"`

	// Three names of one thing; the first that is there counts.
	MaxCompletionTokens *int `json:"max_completion_tokens"`
	MaxTokens           *int `json:"max_tokens"`
	NPredict            *int `json:"n_predict"`

	NProbs *int `json:"n_probs"`

	Plugins json.RawMessage `json:"plugins"`
	Trace   bool            `json:"trace"`

	// Refused while nothing acts on them.
	Record         json.RawMessage `json:"record"`
	JSONSchema     json.RawMessage `json:"json_schema"`
	ResponseFormat json.RawMessage `json:"response_format"`
	Suffix         json.RawMessage `json:"suffix"`
	Echo           json.RawMessage `json:"echo"`
}

// The bounds of what one request may ask for.
const (
	maxChoices  = 128
	maxStops    = 64
	maxPriority = 100
	maxTimeout  = 24 * time.Hour
)

func defaults() Common {
	return Common{Fields: sampling.FieldsOf(sampling.Default()), CachePrompt: true}
}

// check refuses what this server does not do and what is out of range, besides the sampling parameters.
func (b *Common) check() error {
	for _, f := range []struct {
		name string
		raw  json.RawMessage
	}{
		{"record", b.Record}, {"json_schema", b.JSONSchema}, {"suffix", b.Suffix}, {"echo", b.Echo},
	} {
		if isSet(f.raw) {
			return unsupported(f.name, "%s is not supported by this server", f.name)
		}
	}
	if err := checkFormat(b.ResponseFormat); err != nil {
		return err
	}
	if n := b.choices(); n < 1 || n > maxChoices {
		return Invalid("n", "n is %d; it must be from 1 to %d", n, maxChoices)
	}
	if b.Priority < -maxPriority || b.Priority > maxPriority {
		return Invalid("priority", "priority is %d; it must be from %d to %d", b.Priority, -maxPriority, maxPriority)
	}
	if t := b.TimeoutMS; t != nil && (*t < 1 || *t > maxTimeout.Milliseconds()) {
		return Invalid("timeout_ms", "timeout_ms is %d; it must be from 1 to %d", *t, maxTimeout.Milliseconds())
	}
	return nil
}

func checkFormat(raw json.RawMessage) error {
	if !isSet(raw) {
		return nil
	}
	var format struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &format); err != nil {
		return Invalid("response_format", "response_format must be an object with a type")
	}
	if format.Type != "text" {
		return unsupported("response_format", "response_format.type is %q; only text is supported by this server", format.Type)
	}
	return nil
}

// isSet reports whether a field asks for something: not absent, null, false, or empty.
func isSet(raw json.RawMessage) bool {
	return !slices.Contains([]string{"", "null", "false", "[]", "{}", `""`}, string(bytes.TrimSpace(raw)))
}

func (b *Common) choices() int {
	if b.N == nil {
		return 1
	}
	return *b.N
}

// maxTokens is how many tokens to generate; 0 means until the context is full, which clients write as -1.
func (b *Common) maxTokens() (int, error) {
	for _, f := range []struct {
		name  string
		value *int
	}{{"max_completion_tokens", b.MaxCompletionTokens}, {"max_tokens", b.MaxTokens}, {"n_predict", b.NPredict}} {
		switch {
		case f.value == nil:
			continue
		case *f.value == -1:
			return 0, nil
		case *f.value < 1:
			return 0, Invalid(f.name, "%s is %d; it must be at least 1, or -1 for as many as fit", f.name, *f.value)
		}
		return *f.value, nil
	}
	return 0, nil
}

// stops reads stop: a text, a list of texts, or nothing.
func (b *Common) stops() ([]string, error) {
	if !isSet(b.Stop) {
		return nil, nil
	}
	var one string
	var list []string
	if json.Unmarshal(b.Stop, &one) == nil {
		list = []string{one}
	} else if err := json.Unmarshal(b.Stop, &list); err != nil {
		return nil, Invalid("stop", "stop must be a text or a list of texts")
	}
	if len(list) > maxStops {
		return nil, Invalid("stop", "stop has %d texts; at most %d are allowed", len(list), maxStops)
	}
	if i := slices.Index(list, ""); i >= 0 {
		return nil, Invalid("stop["+strconv.Itoa(i)+"]", "stop[%d] is empty; it would end every answer at once", i)
	}
	return list, nil
}

func (b *Common) deadline(now time.Time) time.Time {
	if b.TimeoutMS == nil {
		return time.Time{}
	}
	return now.Add(time.Duration(*b.TimeoutMS) * time.Millisecond)
}
