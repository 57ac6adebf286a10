// SPDX-License-Identifier: MIT

package host

import (
	"github.com/penstock/penstock/host/api"
	"github.com/penstock/penstock/scheduler"
)

// schedulerAdapter turns a scheduler into an api.Scheduler: its streams become interfaces.
type schedulerAdapter struct{ *scheduler.Scheduler }

var _ interface {
	api.Stream
	api.Controls
	api.ChainSetter
	api.Attacher
} = (*scheduler.Stream)(nil)

// SubmitAll implements api.Scheduler.
func (s schedulerAdapter) SubmitAll(requests []scheduler.Request) ([]api.Stream, error) {
	all, err := s.Scheduler.SubmitAll(requests)
	out := make([]api.Stream, len(all))
	for i, st := range all {
		out[i] = st
	}
	return out, err
}
