// SPDX-License-Identifier: MIT

package engine

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// DraftModel is a draft.Drafter that has a smaller model write on, greedily and for all slots in
// the same passes. It remembers what its KV cache holds of each slot, and computes what is new.
type DraftModel struct {
	engine  *Engine
	backend scheduler.Backend
	held    [][]int32 // by slot: the tokens in the cache
	texts   [][]int32 // by slot: the context without pictures and sounds, of which the model sees nothing
	batch   scheduler.Batch
	asks    []*draft.Ask  // those that go on, in the order of the rows
	token   time.Duration // that one of many tokens of a context takes; 0: that is not known
	began   time.Time
	within  time.Duration // since then
}

const (
	mostCaughtUp = 256 // tokens of contexts that one call computes, if there is time for them
	firstCatchUp = 16  // the same while it is not known how long they take
	leastGap     = 0.5 // between the logits of a token and of the next best, for a draft to go on with it
)

// gradeGap is how much likelier the least sure token of a draft of each grade is than the next
// best (in logits).
var gradeGap = [draft.Grades]float32{0, 1, 2, 4}

// gradeOf is the grade of a draft by the least of these gaps.
func gradeOf(gap float32) int {
	grade := draft.Grades - 1
	for grade > 0 && gap < gradeGap[grade] {
		grade--
	}
	return grade
}

// NewDraftModel drafts for a model with another one, which it closes. Both must have the same
// tokens.
func NewDraftModel(target, small *Engine) (*DraftModel, error) {
	if err := sameTokens(target, small); err != nil {
		return nil, fmt.Errorf("draft model %s: %w", small.info.Name, err)
	}
	slots := small.Backend().Limits().Sequences
	return &DraftModel{engine: small, backend: small.Backend(), held: make([][]int32, slots), texts: make([][]int32, slots)}, nil
}

// sameTokens compares two vocabularies.
func sameTokens(a, b *Engine) error {
	if n, m := a.info.Vocabulary, b.info.Vocabulary; n != m {
		return fmt.Errorf("its vocabulary has %d tokens, that of %s %d; take a draft model of the same family", m, a.info.Name, n)
	}
	for t := range int32(a.info.Vocabulary) {
		if x, y := a.model.SpecialPiece(t), b.model.SpecialPiece(t); x != y {
			return fmt.Errorf("its token %d is %q, that of %s is %q; take a draft model of the same family", t, y, a.info.Name, x)
		}
	}
	return nil
}

// Close frees the model.
func (d *DraftModel) Close() error { return d.engine.Close() }

// Draft implements draft.Drafter. A slot whose context is not computed yet gets a part of it, and
// no draft.
func (d *DraftModel) Draft(asks []*draft.Ask) {
	if len(asks) == 0 {
		return
	}
	d.began, d.within = time.Now(), asks[0].Within
	d.catchUp(asks)
	for first := true; d.batch.Len() > 0; first = false {
		start := time.Now()
		if err := d.pass(); err != nil {
			d.forget()
			return
		}
		took := time.Since(start)
		if n := d.batch.Len(); first && n >= firstCatchUp { // smaller passes say nothing of large ones
			d.token = max(took/time.Duration(n), 1)
		}
		d.goOn(time.Since(d.began)+took < d.within)
	}
}

// affordable is how many tokens of contexts there is time for.
func (d *DraftModel) affordable() int {
	most := firstCatchUp
	if d.token > 0 {
		most = int(d.within / d.token)
	}
	return min(max(most, 1), mostCaughtUp, d.backend.Limits().Batch)
}

// catchUp prepares a pass over what is new of the contexts, the shortest first in line by the
// order of the asks.
func (d *DraftModel) catchUp(asks []*draft.Ask) {
	d.batch.Reset()
	d.asks = d.asks[:0]
	left := d.affordable()
	for _, a := range asks {
		a.Draft, a.Grade = a.Draft[:0], draft.Grades-1
		if a.Slot >= len(d.held) {
			continue
		}
		text := d.textOf(a)
		if len(text) == 0 || len(text)+a.Most > d.backend.Limits().Context {
			continue
		}
		held := &d.held[a.Slot]
		keep := min(kvcache.CommonPrefix(*held, text), len(text)-1) // the last one gives the row
		if keep < len(*held) {
			keep = d.backend.Truncate(int32(a.Slot), keep)
		}
		*held = (*held)[:keep]
		n := min(len(text)-keep, left)
		left -= n
		for _, t := range text[keep : keep+n] {
			d.add(a, t, len(*held) == len(text)-1)
		}
		if keep+n == len(text) {
			d.asks = append(d.asks, a)
		}
	}
}

// textOf is the context of an ask as the model sees it.
func (d *DraftModel) textOf(a *draft.Ask) []int32 {
	if !slices.ContainsFunc(a.Context, isRow) {
		return a.Context
	}
	text := d.texts[a.Slot][:0]
	for _, t := range a.Context {
		if !isRow(t) {
			text = append(text, t)
		}
	}
	d.texts[a.Slot] = text
	return text
}

func (d *DraftModel) add(a *draft.Ask, t int32, row bool) {
	held := &d.held[a.Slot]
	d.batch.Add(t, int32(len(*held)), int32(a.Slot), row)
	*held = append(*held, t)
}

func (d *DraftModel) pass() error {
	if err := d.backend.Start(&d.batch); err != nil {
		return err
	}
	return d.backend.Wait()
}

// goOn takes the best token of each row, and prepares the pass that computes those if there is
// time for another.
func (d *DraftModel) goOn(another bool) {
	asks := d.asks
	d.batch.Reset()
	d.asks = d.asks[:0]
	for i, a := range asks {
		token, gap := likeliest(d.backend.Row(i))
		if len(a.Draft) > 0 && gap < leastGap {
			continue
		}
		a.Grade = min(a.Grade, gradeOf(gap))
		if a.Draft = append(a.Draft, token); len(a.Draft) < a.Most && another {
			d.add(a, token, true)
			d.asks = append(d.asks, a)
		}
	}
}

// likeliest is the token with the highest logit, and how far the next one is below.
func likeliest(row []float32) (token int32, gap float32) {
	first, second := float32(math.Inf(-1)), float32(math.Inf(-1))
	for t, l := range row {
		switch {
		case l > first:
			token, first, second = int32(t), l, first
		case l > second:
			second = l
		}
	}
	return token, first - second
}

// forget empties the cache: after a pass that failed nobody knows what it holds.
func (d *DraftModel) forget() {
	for slot := range d.held {
		d.backend.Truncate(int32(slot), 0)
		d.held[slot] = d.held[slot][:0]
	}
}
