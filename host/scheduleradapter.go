// SPDX-License-Identifier: MIT

package host

import (
	"github.com/penstock/penstock/host/api/socket"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/scheduler"
)

// schedulerAdapter turns a scheduler into a completion.Scheduler: its streams become interfaces.
type schedulerAdapter struct{ *scheduler.Scheduler }

var _ interface {
	completion.Stream
	socket.Controls
	socket.ChainSetter
	socket.Attacher
} = (*scheduler.Stream)(nil)

// SubmitBuilt implements completion.Scheduler.
func (s schedulerAdapter) SubmitBuilt(n int, build func() ([]scheduler.Request, error)) ([]completion.Stream, error) {
	all, err := s.Scheduler.SubmitBuilt(n, build)
	out := make([]completion.Stream, len(all))
	for i, st := range all {
		out[i] = st
	}
	return out, err
}
