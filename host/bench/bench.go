// SPDX-License-Identifier: MIT

// Package bench puts load on servers that speak OpenAI's API and measures what their clients see.
//
// That is tokens a second, the time to the first token (TTFT) and the gaps between tokens (ITL). A
// Load says who sends what and for how long. Run puts it on one server, Alternate on several in
// turn, so that a change in the machine's speed affects all of them alike.
package bench

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"
)

// Request is one request for a text.
type Request struct {
	Prompt      string
	Picture     []byte // a file that stands before the prompt of a chat completion; empty: none
	MaxTokens   int    // exactly so many, since the end-of-text token is ignored
	MayEnd      bool   // it is not ignored
	Temperature float64
	Seed        uint32
	Plugins     json.RawMessage // the field plugins, which Penstock knows; empty: none
	Schema      json.RawMessage // that the answer must fit; empty: it may be any text
}

// Usage is what a server says a request came to, in tokens. Zero if it does not say.
type Usage struct {
	Prompt    int // of the prompt, cached ones included
	Cached    int // of the prompt, not computed again
	Generated int
}

// Streamer sends requests to one server. Its method may be called from several goroutines at once.
type Streamer interface {
	// Stream sends r and calls arrived for each piece of text, with the time at which its bytes
	// came in. It returns when the answer has ended. What is known of the usage comes with an
	// error, too.
	Stream(ctx context.Context, r Request, arrived func(at time.Time)) (Usage, error)
}

// ThatMayEnd sends requests whose answers may be shorter than their most tokens.
func ThatMayEnd(s Streamer) Streamer { return thatMayEnd{s} }

type thatMayEnd struct{ Streamer }

func (m thatMayEnd) Stream(ctx context.Context, r Request, arrived func(at time.Time)) (Usage, error) {
	r.MayEnd = true
	return m.Streamer.Stream(ctx, r, arrived)
}

// WithPlugins sends all requests with a value of the field plugins.
func WithPlugins(s Streamer, plugins json.RawMessage) Streamer { return withPlugins{s, plugins} }

type withPlugins struct {
	Streamer
	plugins json.RawMessage
}

func (w withPlugins) Stream(ctx context.Context, r Request, arrived func(at time.Time)) (Usage, error) {
	r.Plugins = w.plugins
	return w.Streamer.Stream(ctx, r, arrived)
}

// WithSchemas gives every request another schema: the one of its number, counted from 0.
func WithSchemas(s Streamer, schema func(n int) json.RawMessage) Streamer {
	return &withSchemas{Streamer: s, schema: schema}
}

type withSchemas struct {
	Streamer
	schema func(n int) json.RawMessage
	sent   atomic.Int64
}

func (w *withSchemas) Stream(ctx context.Context, r Request, arrived func(at time.Time)) (Usage, error) {
	r.Schema = w.schema(int(w.sent.Add(1) - 1))
	return w.Streamer.Stream(ctx, r, arrived)
}

// Target is a server with the name it has in reports.
type Target struct {
	Name string
	Streamer
	// OwnPrompts is for a server that is another target, too: with the prompts of that one it would
	// find them in its cache, or leave them there.
	OwnPrompts bool
}
