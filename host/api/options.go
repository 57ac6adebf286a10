// SPDX-License-Identifier: MIT

// Package api routes HTTP requests to the packages of the APIs that clients speak, and serves plugins, health and the browser UI.
//
// It knows JSON and HTTP; the rest of the server is behind the interfaces that Options holds.
package api

import (
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/penstock/penstock/host/completion"
)

// Options is what an API needs. Catalog, UI, Metrics, Ready and Done may be nil.
type Options struct {
	Models  completion.Models
	Catalog Catalog // nil: no plugins
	Log     *slog.Logger
	Version string

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
}
