// SPDX-License-Identifier: MIT

// Package session records what a plugin was asked and what it answered, and makes the same calls
// again without a model.
//
// A session is what one plugin was asked in one request, and what it answered. Sessions come from
// requests with "record": true, and from people who write them by hand. In both cases the player
// makes the calls again under the real runtime and finds the first that comes out differently.
// docs/plugins/sessions.md describes the format of their files.
package session

import (
	"encoding/json"
	"math"
	"reflect"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/drive"
)

// Version is the version of the format that this package reads and writes.
const Version = 1

// Token is an index into the vocabulary.
type Token = int32

// File is a session file. docs/plugins/sessions.md describes every field.
type File struct {
	Version    int          `json:"penstock_session"`
	Note       string       `json:"note,omitempty"`
	Model      plugin.Model `json:"model,omitzero"`
	Vocabulary Vocabulary   `json:"vocabulary"`
	Table      drive.Table  `json:"table,omitzero"` // the made-up model of sessions with a run that have none of their own
	Sessions   []Session    `json:"sessions"`
	Recording  *Recording   `json:"recording,omitempty"` // nil: the sessions come from elsewhere
}

// Session is what one plugin was asked in one request, and what it answered.
type Session struct {
	Name    string       `json:"name,omitempty"`
	Choice  int          `json:"choice,omitempty"` // of the recording, from 0
	Plugin  Plugin       `json:"plugin"`
	Request RequestFacts `json:"request"`
	// Model is the made-up model that the session's program runs on; nil: it is the file's table, or
	// the program's deeds are answered as recorded.
	Model     drive.Table `json:"model,omitzero"`
	Templates []Template  `json:"templates,omitempty"`
	Warm      []Deed      `json:"warm,omitempty"`
	Plan      []Deed      `json:"plan,omitempty"`
	Calls     []Call      `json:"calls"`
	Cut       string      `json:"cut,omitempty"` // why the calls end before the answer did
}

// Plugin tells which module answered.
type Plugin struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256,omitempty"`
}

// RequestFacts is what the plugin can learn of the request.
type RequestFacts struct {
	Config      json.RawMessage `json:"config,omitempty"`
	Messages    json.RawMessage `json:"messages,omitempty"`
	Media       json.RawMessage `json:"media,omitempty"`
	Prompt      []Token         `json:"prompt,omitempty"`
	MaxTokens   int             `json:"max_tokens,omitempty"`
	ContextSize int             `json:"context_size,omitempty"`
	Seed        uint64          `json:"seed,omitempty"`
	Place       int             `json:"place,omitempty"`
	Time        int64           `json:"time,omitempty"`
	Choice      int             `json:"choice,omitempty"`
	Choices     int             `json:"choices,omitempty"`
	Sampling    json.RawMessage `json:"sampling,omitempty"`
}

// The names of calls.
const (
	CallOpen       = "open"
	CallPrepare    = "prepare"
	CallSample     = "sample"
	CallAccept     = "accept"
	CallStop       = "stop"
	CallRewind     = "rewind"
	CallStopRewind = "stop_rewind"
	CallFilter     = "filter"
	CallUnfilter   = "unfilter"
	CallRender     = "render"
	CallMessages   = "messages"
	CallRefuse     = "refuse"
	CallStep       = "step"
	CallRun        = "run"
)

// Call is one call of a plugin. Which fields it has depends on its name.
type Call struct {
	Call string `json:"call"`

	Token  *Token  `json:"token,omitempty"`
	Text   *Text   `json:"text,omitempty"`
	IDs    []Token `json:"ids,omitempty"`
	Logits Logits  `json:"logits,omitempty"`
	Keep   *int    `json:"keep,omitempty"`
	Tokens []Token `json:"tokens,omitempty"`
	Count  int     `json:"count,omitempty"`
	Bytes  int     `json:"bytes,omitempty"`
	Last   bool    `json:"last,omitempty"`

	Logprob *Logit `json:"logprob,omitempty"`

	Answer   *int32            `json:"answer,omitempty"`
	Mask     *Mask             `json:"mask,omitempty"`
	Bias     []Bias            `json:"bias,omitempty"`
	Force    []Token           `json:"force,omitempty"`
	Left     *Left             `json:"left,omitempty"`
	Splice   *Splice           `json:"splice,omitempty"`
	Prompt   *Text             `json:"prompt,omitempty"`
	Filtered *Text             `json:"filtered,omitempty"`
	Messages json.RawMessage   `json:"messages,omitempty"`
	Outputs  []json.RawMessage `json:"outputs,omitempty"`
	Refusal  *string           `json:"refusal,omitempty"`
	Declined []string          `json:"declined,omitempty"`
	Fault    *Fault            `json:"fault,omitempty"`
	Deeds    []Deed            `json:"deeds,omitempty"`
	*Written

	// Endless is set by a recorder that has stopped recording the call's deeds, since no recording has
	// room for them.
	Endless bool `json:"-"`
}

// Left is what remains of a plugin's view: candidates, a whole row, or the digest of a row and its
// best entries.
type Left struct {
	IDs    []Token `json:"ids,omitempty"`
	Logits Logits  `json:"logits,omitempty"`
	SHA256 string  `json:"sha256,omitempty"`
}

// Splice says how many tokens are taken back, and which follow.
type Splice struct {
	Backtrack int     `json:"backtrack"`
	Tokens    []Token `json:"tokens,omitempty"`
}

// Fault is what a plugin did wrong.
type Fault struct {
	Export string `json:"export"`
	Kind   string `json:"kind"`
	Detail string `json:"detail,omitempty"`
}

// over reports whether the session ends with the call.
func (c *Call) over() bool { return c.Fault != nil || c.Refusal != nil }

// Size estimates how many bytes a call takes in memory.
func (c *Call) Size() int {
	if c.Endless {
		return math.MaxInt
	}
	return sizeOf(reflect.ValueOf(c))
}

// Size estimates how many bytes a session takes in memory, with its calls.
func (s *Session) Size() int { return sizeOf(reflect.ValueOf(s)) }

// sizeOf estimates how many bytes a value takes in memory, with everything that it points to.
func sizeOf(v reflect.Value) (size int) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			size = sizeOf(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			size += sizeOf(v.Field(i)) - int(v.Field(i).Type().Size())
		}
	case reflect.String:
		size = v.Len()
	case reflect.Slice:
		if kind := v.Type().Elem().Kind(); kind <= reflect.Float64 { // numbers
			return 24 + v.Len()*int(v.Type().Elem().Size())
		}
		for i := range v.Len() {
			size += sizeOf(v.Index(i))
		}
	}
	return size + int(v.Type().Size())
}

// Recording is a request that was recorded with its answers.
type Recording struct {
	ID      string   `json:"id"`
	Created int64    `json:"created"` // in seconds since 1970
	Model   string   `json:"model"`
	Choices []Choice `json:"choices"`
}

// Choice is one answer of a recording, as its client got it.
type Choice struct {
	Seed   uint32   `json:"seed"`
	Tokens []Chosen `json:"tokens"`
	Text   string   `json:"text"`
	Reason string   `json:"finish_reason"`
	Error  string   `json:"error,omitempty"`
}

// Chosen is a token of an answer, and who put it there.
type Chosen struct {
	Token Token  `json:"token"`
	Text  Text   `json:"text"`
	By    string `json:"by"`  // samplers, client or plugin:NAME
	How   string `json:"how"` // chosen, forced, spliced, injected, or forked: the answer began with it
}
