// SPDX-License-Identifier: MIT

// Package api routes HTTP requests to the packages of the APIs that clients speak, and serves
// plugins, health and the browser UI.
//
// It knows JSON and HTTP; the rest of the server is behind the interfaces that Options holds.
package api

import (
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/penstock/penstock/host/access"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/host/serving"
)

// Options is what an API needs. Catalog, UI, Metrics, Ready and Hold may be nil.
type Options struct {
	Models     serving.Models
	Catalog    Catalog    // nil: no plugins
	Folder     Folder     // nil: nothing is pulled or removed
	Recordings Recordings // nil: no request is recorded
	Log        *slog.Logger
	Version    string
	Replica    string // names this server among others that serve the same; empty: it is the only one

	Keys         func() access.Keys       // those that are known now; nil: none, and the server is open to everybody
	Limiter      *access.Limiter          // what each client may use; nil: as much as it likes
	Sinks        []func(operation.Record) // each gets every request that has ended, besides the log
	LogLevel     *slog.LevelVar           // what the admin may change; nil: nothing
	Media        media.Bounds             // bounds of the pictures and sounds in requests
	ShareCache   bool                     // prompts cached for one key serve the others too
	Proxies      []*net.IPNet             // whose X-Forwarded-For is believed; none: nobody's
	Origins      []string                 // other web origins whose pages may call; "*": any, "localhost": this machine's
	BodyLimit    int64                    // bytes
	BodyMemory   int64                    // bytes of all bodies and frames together; 0: any number
	BodyTimeout  time.Duration            // how long a frame of a WebSocket may take, as the server lets a body; 0: any time
	ModuleLimit  int64                    // bytes of a plugin's module that Catalog takes
	WriteTimeout time.Duration            // how long a client may take nothing of its answer; 0: forever
	// A stream's headers go out after StreamGrace even if it has no event yet, and a comment when
	// it had none for StreamComment; 0: 1 s and 10 s.
	StreamGrace, StreamComment time.Duration
	IdlePing                   time.Duration // after so long without a frame a WebSocket's client is asked whether it is there; 0: 30 s

	Prefix  string       // of the paths of all routes, such as /llm; empty: none
	NoSlots bool         // GET /slots is refused
	Props   bool         // POST /props says success
	UI      fs.FS        // files of the browser UI
	OwnUI   bool         // they are the operator's own, not Penstock's
	Metrics http.Handler // GET /metrics; nil: it is refused
	Ready   func() bool  // whether new requests are taken

	// Draining is closed when no new answers are taken any more: a WebSocket closes then as soon
	// as all of its answers are sent. Done is closed when every answer has ended and is sent, or
	// time is up: connections close then. Either may be nil.
	Draining, Done <-chan struct{}
	Hold           func() (release func()) // has the host go on until release is called, or its time is up
}

// service answers requests. Its methods are the handlers.
type service struct {
	Options
	sinks  []func(operation.Record) // Sinks and the log
	memory *wire.Memory
	loads  *loads
}
