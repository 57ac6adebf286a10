// SPDX-License-Identifier: MIT

package engine

import "time"

// held returns the first position of seq that is in memory, and is what it should be, and how many
// positions it has.
func (b *backend) held(seq int32) (first, n int) {
	first, last, err := b.context.Range(seq)
	if err != nil || last < 0 {
		return 0, 0
	}
	if b.stale[seq] {
		first = max(first, 1)
	}
	if at := b.borders[seq]; int(at.last) == last {
		return first, max(last+1, at.next)
	}
	return first, last + 1
}

// cuttable reports whether seq can be continued at position n as if nothing after it had been: a
// recurrent state is only right at its end and at snapshots, and a sliding window must still hold
// all that position n looks back at.
func (b *backend) cuttable(seq int32, n int) bool {
	first, have := b.held(seq)
	switch {
	case n >= have: // where a model has recurrent layers too, first is that of their state, which is the last
		return n == have
	case !b.cuts: // the window still holds what the tokens before the pass look at
		return b.recurrent.reaches(seq, have-n)
	}
	return first <= max(0, n-b.window)
}

// Truncate implements kvcache.Memory.
func (b *backend) Truncate(seq int32, n int) int {
	_, have := b.held(seq)
	if n > 0 && b.cuttable(seq, n) && b.context.Remove(seq, n, -1) == nil {
		if n < have && !b.cuts {
			b.recurrent.took(seq)
		}
		b.settle(seq, n)
		return n
	}
	_ = b.context.Remove(seq, -1, -1) // never fails for a sequence within the limits
	b.recurrent.forgot(seq)
	b.stale[seq], b.borders[seq] = false, border{}
	return 0
}

// Shares implements kvcache.Memory.
func (b *backend) Shares() bool { return !b.lacks.Sharing }

// Shareable implements kvcache.Checkpointer. A recurrent state is shared as it is: as a whole, and
// not while it is to go back.
func (b *backend) Shareable(seq int32, n int) bool {
	_, have := b.held(seq)
	return n > 0 && b.Shares() && b.cuttable(seq, n) && (b.cuts || n == have && !b.recurrent.back[seq])
}

// Share implements kvcache.Memory.
func (b *backend) Share(src, dst int32, n int) int {
	if src == dst || !b.Shareable(src, n) {
		return 0
	}
	b.recurrent.forgot(dst)
	b.borders[dst] = border{}
	if err := b.context.Share(src, dst, n); err != nil {
		_ = b.context.Remove(dst, -1, -1)
		return 0
	}
	if _, have := b.held(dst); have != n && !(b.grids && have > 0 && have < n) {
		_ = b.context.Remove(dst, -1, -1)
		return 0
	}
	b.settle(dst, n)
	b.recurrent.shared(src)
	b.stale[dst] = b.stale[src]
	return n
}

// ContinueCopy implements kvcache.Memory.
func (b *backend) ContinueCopy(limit time.Duration, here bool) bool {
	return b.context.ContinueCopy(limit, here)
}
