// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// A picture whose rows see one another waits until there are cells for all of them: no pass has a
// part of it, the answers before it are not disturbed, and what is before the picture is computed
// once.
func TestScheduler_WholePiece_WaitsForCells(t *testing.T) {
	const begun, grown, text = 40, 120, 3000
	const cells = begun + text + 92 // it is let in with room for 32 more than it needs
	b := schedulertest.New(scheduler.Limits{Cells: cells, Context: cells, Batch: 64})
	s := newScheduler(t, b, scheduler.Config{Slots: 2})
	parts := 0
	b.Fail = func(batch *scheduler.Batch) error {
		if batch.Piece != nil && len(batch.Tokens) != whole.Rows {
			parts++
		}
		return nil
	}
	other := request(30, 10, grown-30+1) // the last token of an answer is not computed
	streams, wants := []*scheduler.Stream{submit(t, s, other)}, []received{alone(t, other)}
	for scheduler.Computed(streams[0]) < begun {
		s.Tick()
	}
	p := schedulertest.NewPiece("a", whole)
	rows, err := b.Pieces.Add(p)
	if err != nil {
		t.Fatal(err)
	}
	r := request(text, 1, 5) // there are cells for it now, and for its picture no more once its text is computed
	r.Prompt, r.Pieces = append(r.Prompt, scheduler.Segment{Tokens: rows}, prompt(5, 2)[0]), []*piece.Piece{p}
	pictured := submit(t, s, r)
	streams, wants = append(streams, pictured), append(wants, aloneWith(t, b.Pieces, r))
	before := b.Tokens
	answers, waited := make([]received, 2), 0
	for answers[1].end == nil && s.Tick() {
		for i, st := range streams {
			answers[i].read(st)
		}
		if stats := s.Stats(); answers[1].end == nil && scheduler.Computed(pictured) == text && stats.Cells-stats.CellsUsed < whole.Rows {
			waited++
		}
	}
	for i, a := range answers {
		if a.end == nil || a.end.Err != nil || a.text != wants[i].text {
			t.Errorf("answer %d is %q, alone %q: %+v", i, a.text, wants[i].text, a.end)
		}
	}
	if parts > 0 || waited < 20 {
		t.Errorf("%d passes have a part of the picture, and it waited for %d ticks", parts, waited)
	}
	if want := grown - begun + text + whole.Rows + 5 + 4; b.Tokens-before != want {
		t.Errorf("%d tokens computed, not %d", b.Tokens-before, want)
	}
}
