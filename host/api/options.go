// SPDX-License-Identifier: MIT

// Package api serves the routes of OpenAI's and llama-server's REST APIs, a WebSocket and the browser UI.
//
// It knows JSON and HTTP; the rest of the server is behind the interfaces that Options holds.
package api

import (
	"context"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// Scheduler computes answers.
type Scheduler interface {
	// SubmitAll queues all requests or none. It owns their stages from then on, whatever it returns.
	SubmitAll(requests []scheduler.Request) ([]Stream, error)
	// Inspect describes the slots and the last ticks.
	Inspect(ctx context.Context, ticks int) (scheduler.Snapshot, error)
}

// Stream is the answer to one request; one goroutine reads at a time. See scheduler.Stream.
type Stream interface {
	ID() string
	Next(ctx context.Context) (scheduler.Event, error)
	TryNext() (scheduler.Event, bool)
	Cancel()
}

// Engine is the model as far as text is concerned.
type Engine interface {
	chat.Renderer
	chat.Tokenizer
	// Detokenize gives the text of tokens; bytes that are not UTF-8 are replaced.
	Detokenize(tokens []int32) (string, error)
	// Piece is the bytes of one token.
	Piece(t int32) string
	// NewChain builds the sampler chain of one request.
	NewChain(p sampling.Params) ([]chain.Stage, error)
}

// Model describes what is served.
type Model struct {
	Name       string // what clients call it
	Path       string // where it came from
	Created    time.Time
	Context    int // tokens one conversation may have
	Training   int // tokens of context it was trained with
	Vocabulary int // tokens
	Embedding  int // length of an embedding
	Parameters uint64
	Size       uint64 // bytes of weights
	Template   string // its chat template; empty if it has none
	BOS, EOS   string
	Kernels    Kernels
}

// Options is what an API needs. Policies, Catalog, UI, Metrics, Ready and Done may be nil.
type Options struct {
	Scheduler Scheduler
	Engine    Engine
	Policies  Policies // nil: no plugins
	Catalog   Catalog  // nil: no plugins
	Model     Model
	Log       *slog.Logger
	Version   string

	APIKeys      []string     // none: open to everybody
	AdminKey     string       // empty: admin routes are off
	PriorityKeys []string     // whose requests may ask for a priority above 0
	ShareCache   bool         // prompts cached for one key serve the others too
	Proxies      []*net.IPNet // whose X-Forwarded-For is believed; none: nobody's
	Origins      []string     // other web origins whose pages may call; "*": any
	BodyLimit    int64        // bytes
	ModuleLimit  int64        // bytes of a plugin's module that Catalog takes
	WriteTimeout time.Duration
	// A stream's headers go out after StreamGrace even if it has no event yet, and a comment when it had none for StreamComment;
	// 0: 1 s and 10 s.
	StreamGrace, StreamComment time.Duration
	IdlePing                   time.Duration // after so long without a frame a WebSocket's client is asked whether it is there; 0: 30 s

	UI      fs.FS        // files of the browser UI
	Metrics http.Handler // GET /metrics
	Ready   func() bool  // whether new requests are taken

	// Done is closed when the host shuts down and every answer has ended: connections close then.
	Done <-chan struct{}
}

// service answers requests. Its methods are the handlers.
type service struct {
	Options
	keys         [][32]byte // digests of APIKeys and AdminKey
	adminKeys    [][32]byte
	priorityKeys [][32]byte
	detachables  detachables
	textPool     *textPool
}
