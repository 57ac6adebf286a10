// SPDX-License-Identifier: MIT

package schedulertest

import (
	"context"
	"iter"

	"github.com/penstock/penstock/scheduler"
)

// Events ranges over the events of an answer up to and including End, or until the context is done.
func Events(ctx context.Context, st *scheduler.Stream) iter.Seq[scheduler.Event] {
	return func(yield func(scheduler.Event) bool) {
		for {
			e, err := st.Next(ctx)
			if err != nil || !yield(e) {
				return
			}
		}
	}
}
