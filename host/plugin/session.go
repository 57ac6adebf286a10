// SPDX-License-Identifier: MIT

package plugin

import (
	"log/slog"
	"time"

	"github.com/penstock/penstock/plugins/abi"
)

// session is what the host functions tell a guest of the request it serves. It outlives the instance: after a rewind
// another may take its place.
type session struct {
	request  Request
	config   []byte // JSON
	messages []byte // JSON; only while a template is rendered
	history  []int32
	params   [4]int64 // by the ABI's param kinds
	random   random
	capture  capture
	done     <-chan struct{} // closed when nobody waits for the guest any more; nil: never
	loading  bool            // for nobody's request, but to load the module
	setUntil time.Time       // every call must be over by then; zero: each has its own time
}

// newSession begins a session for nobody in particular: describing and warming have no request.
func newSession(limits *Limits, log *slog.Logger) *session {
	return &session{capture: capture{log: log, left: limits.Log}}
}

// serve makes the session one of a request.
func (s *session) serve(r *Request) {
	s.request = *r
	s.config = r.Config
	if len(s.config) == 0 {
		s.config = []byte("{}")
	}
	s.random = random{seed: r.Seed, place: uint64(r.Place), position: -1}
	s.params = [4]int64{
		abi.ParamMaxTokens: int64(r.MaxTokens), abi.ParamContextSize: int64(r.ContextSize), abi.ParamSeed: int64(r.Seed),
	}
}

// Request is what one use of a plugin gets to know.
type Request struct {
	Client      string // who waits after repeated faults; empty: nobody is ever refused
	Config      []byte // JSON, checked with Module.CheckConfig before; empty: {}
	Seed        uint64 // of this choice
	Place       int    // of the plugin among the request's plugins
	MaxTokens   int
	ContextSize int
	Skip        bool // after a fault the request goes on without the plugin
	Setup       *Setup
}
