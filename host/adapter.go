// SPDX-License-Identifier: MIT

package host

import (
	"github.com/penstock/penstock/host/api"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/scheduler"
)

// streams is a scheduler as the API sees it.
type streams struct{ *scheduler.Scheduler }

var _ interface {
	api.Stream
	api.Controls
	api.ChainSetter
	api.Attacher
} = (*scheduler.Stream)(nil)

// SubmitAll implements api.Scheduler.
func (s streams) SubmitAll(requests []scheduler.Request) ([]api.Stream, error) {
	all, err := s.Scheduler.SubmitAll(requests)
	out := make([]api.Stream, len(all))
	for i, st := range all {
		out[i] = st
	}
	return out, err
}

// words is an engine as the API sees it.
type words struct{ *engine.Engine }

// Piece implements api.Engine: log-probabilities name control tokens too.
func (w words) Piece(t int32) string { return w.Engine.Piece(t, true) }
