// SPDX-License-Identifier: MIT

package completion

import (
	"context"

	"github.com/penstock/penstock/scheduler"
)

// loadMedia reads the pictures and sounds of a request, whose model takes them. That may wait for memory and for other servers, so it is
// not done in the text pool.
func (s *Service) loadMedia(ctx context.Context, r *Request) (err error) {
	if len(r.parts) == 0 {
		return nil
	}
	if !r.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, r.Deadline, scheduler.ErrDeadline)
		defer cancel()
	}
	r.Media, r.letGo, err = s.Media.Load(ctx, r.parts, r.Model.Media, r.Model.Name, r.Caller.Files)
	if err != nil && ctx.Err() != nil {
		return causeOf(ctx)
	}
	r.parts = nil // which are as long as the body
	return err
}
