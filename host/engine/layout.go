// SPDX-License-Identifier: MIT

package engine

import (
	"cmp"
	"slices"

	"github.com/penstock/penstock/scheduler/kvcache"
)

// placing is a backend that chooses which sequences are in use at the same time. Where every
// sequence has cells of its own, llama.cpp decodes sequences in one pass only if their numbers
// follow one another; padder fills the gaps.
type placing struct {
	*backend
	layout
}

// layout places requests so that those which decode are next to one another.
type layout struct {
	sequences int // in all
}

// longPrompt is the most tokens to compute with which a request is placed near those that decode.
// With more it will not decode for a while, and goes to the far end.
const longPrompt = 256

// Place implements kvcache.Placer. A request goes as near as possible to those that decode, and
// one with a long prompt as near as possible to the far end. Only the former may have to wait
// until the sequence has been saved: a gap between those that decode costs all of them time with
// each token.
func (l layout) Place(prefill int, running []kvcache.RunningSequence, idle []kvcache.IdleSequence) int32 {
	first, last, decoding := bounds(running)
	switch {
	case prefill > longPrompt:
		first, last, decoding = int32(l.sequences), int32(l.sequences), false
	case !decoding:
		first, last = 0, 0
	}
	return slices.MinFunc(idle, func(a, b kvcache.IdleSequence) int {
		nearer := cmp.Compare(away(a.Sequence, first, last), away(b.Sequence, first, last))
		saved := cmp.Compare(unsaved(a), unsaved(b))
		if decoding {
			return cmp.Or(nearer, saved)
		}
		return cmp.Or(saved, nearer)
	}).Sequence
}

// bounds are the first and the last of the running sequences that decode, or will soon, and
// whether there are any.
func bounds(running []kvcache.RunningSequence) (first, last int32, found bool) {
	for _, r := range running {
		switch {
		case r.Prefill > longPrompt:
		case !found:
			first, last, found = r.Sequence, r.Sequence, true
		default:
			first, last = min(first, r.Sequence), max(last, r.Sequence)
		}
	}
	return first, last, found
}

// away is how far a sequence is from those from first to last.
func away(sequence, first, last int32) int32 { return max(first-sequence, sequence-last, 0) }

// unsaved is 1 for a sequence that may have to be saved first.
func unsaved(i kvcache.IdleSequence) int {
	if i.Saved {
		return 0
	}
	return 1
}
