// SPDX-License-Identifier: MIT

package schedulertest

import (
	"slices"

	"github.com/penstock/penstock/scheduler/kvcache"
)

// Nearest is a Backend that places a request next to a running one.
type Nearest struct{ *Backend }

// Place implements kvcache.Placer.
func (Nearest) Place(_ int, running []kvcache.RunningSequence, idle []kvcache.IdleSequence) int32 {
	distance := func(i kvcache.IdleSequence) int32 {
		nearest := slices.MinFunc(running, func(a, b kvcache.RunningSequence) int {
			return int(max(a.Sequence-i.Sequence, i.Sequence-a.Sequence) - max(b.Sequence-i.Sequence, i.Sequence-b.Sequence))
		}).Sequence
		return max(nearest-i.Sequence, i.Sequence-nearest)
	}
	return slices.MinFunc(idle, func(a, b kvcache.IdleSequence) int { return int(distance(a) - distance(b)) }).Sequence
}
