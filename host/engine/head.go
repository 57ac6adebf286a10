// SPDX-License-Identifier: MIT

package engine

import (
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler/draft"
)

// newHead makes the head of a context, if there is one to be fed.
func (o Options) newHead(c *native.Context, info native.ModelInfo) (*native.Head, error) {
	if co := o.ContextOptions(info); co.FeedsHead {
		return native.NewHead(c, co)
	}
	return nil, nil
}

// A head learns of everything that happens to sequences. Where that fails it knows less, and
// guesses worse: nothing else depends on it.

// headFollow has the head take in the last pass.
func (b *backend) headFollow() {
	if b.head != nil {
		_ = b.head.Follow(b.padder.batch, b.padder.batch == &b.padder.padded)
	}
}

func (b *backend) headCut(seq int32, n int) {
	if b.head != nil {
		_ = b.head.Cut(seq, n)
	}
}

func (b *backend) headShare(src, dst int32, n int) {
	if b.head != nil {
		_ = b.head.Share(src, dst, n)
	}
}

// HeadDrafter is a draft.Drafter that guesses with the model's head, for all slots in the same
// passes. Where another one is rather sure already, that one's guess is taken: a text that repeats
// costs nothing to look up.
type HeadDrafter struct {
	backend *backend
	sure    draft.Drafter // nil: none
	asks    []native.HeadAsk
	of      []*draft.Ask // those of asks
}

// HeadDrafter makes one; nil if the model has no head, or it was not loaded.
func (e *Engine) HeadDrafter(sure draft.Drafter) *HeadDrafter {
	if e.backend.head == nil {
		return nil
	}
	return &HeadDrafter{backend: e.backend, sure: sure}
}

// Draft implements draft.Drafter.
func (d *HeadDrafter) Draft(asks []*draft.Ask) {
	if len(asks) == 0 {
		return
	}
	if d.sure != nil {
		d.sure.Draft(asks)
	}
	d.of, d.asks = d.of[:0], d.asks[:cap(d.asks)]
	for _, a := range asks {
		if len(a.Context) == 0 || d.sure != nil && len(a.Draft) > 0 && a.Grade >= draft.Likely {
			continue
		}
		if len(d.of) == len(d.asks) {
			d.asks = append(d.asks, native.HeadAsk{})
		}
		h := &d.asks[len(d.of)]
		h.Sequence, h.Position, h.Token, h.Most = a.Sequence, a.Position, a.Context[len(a.Context)-1], a.Most
		d.of = append(d.of, a)
	}
	d.asks = d.asks[:len(d.of)]
	if err := d.backend.head.Draft(d.asks, asks[0].Within, leastGap); err != nil {
		return
	}
	for i, a := range d.of {
		if h := &d.asks[i]; len(h.Draft) > 0 {
			a.Draft, a.Grade = append(a.Draft[:0], h.Draft...), gradeOf(h.Gap)
		}
	}
}
