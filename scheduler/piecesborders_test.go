// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// These tests are of pictures that come into a scheduler or leave it.

// Prompts that cannot be computed are refused at once.
func TestScheduler_Submit_RefusesPieces(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Batch: 40})
	s := newScheduler(t, b, scheduler.Config{})
	p, large := schedulertest.NewPiece("a", causal), schedulertest.NewPiece("b", whole)
	rows := show(t, b.Pieces, 1, p).Prompt[1].Tokens
	with := func(change func(*scheduler.Request), prompt ...scheduler.Token) scheduler.Request {
		r := request(1, 1, 1)
		r.Prompt, r.Pieces = []scheduler.Segment{{Tokens: prompt}}, []*piece.Piece{p}
		if change != nil {
			change(&r)
		}
		return r
	}
	then := func(tokens ...scheduler.Token) []scheduler.Token { return append(slices.Clone(rows), tokens...) }
	for name, c := range map[string]struct {
		request scheduler.Request
		want    error
	}{
		"ends on it":     {with(nil, then()...), scheduler.ErrEndsOnPiece},
		"a part":         {with(nil, append(slices.Clone(rows[:30]), 1)...), scheduler.ErrPieces},
		"without a row":  {with(nil, append(slices.Clone(rows[1:]), 1)...), scheduler.ErrPieces},
		"unknown":        {with(nil, 1, -1, 1), scheduler.ErrPieces},
		"of another":     {with(func(r *scheduler.Request) { r.Pieces = []*piece.Piece{schedulertest.NewPiece("c", causal)} }, then(1)...), scheduler.ErrPieces},
		"without any":    {with(func(r *scheduler.Request) { r.Pieces = nil }, then(1)...), scheduler.ErrBadRequest},
		"too large":      {with(func(r *scheduler.Request) { r.Pieces = append(r.Pieces, large) }, then(1)...), scheduler.ErrPieceSize},
		"judged":         {with(func(r *scheduler.Request) { r.PromptLogprobs = true }, then(1)...), scheduler.ErrBadRequest},
		"in what begins": {with(func(r *scheduler.Request) { r.Begun.Tokens = rows }, then(1)...), scheduler.ErrBadRequest},
		"shapes": {with(func(r *scheduler.Request) {
			other := *p
			other.Whole = true
			r.Pieces = []*piece.Piece{&other}
		}, then(1)...), piece.ErrShape},
	} {
		if _, err := s.Submit(c.request); !errors.Is(err, c.want) || !errors.Is(err, scheduler.ErrBadRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	none, err := scheduler.New(b, scheduler.Config{Clock: b.Now})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Submit(with(nil, then(1)...)); !errors.Is(err, scheduler.ErrBadRequest) {
		t.Errorf("without a table: %v", err)
	}
	if a := finish(t, s, submit(t, s, with(nil, then(1)...)))[0]; a.end.Reason != answer.ReasonLength {
		t.Errorf("%+v", a.end)
	}
}

// A conversation with pictures is saved and restored in another process, whose numbers are others,
// and found for the same pictures.
func TestScheduler_RestoreSlot_FindsThePictures(t *testing.T) {
	here, there := schedulertest.New(scheduler.Limits{}), schedulertest.New(scheduler.Limits{})
	from, to := newScheduler(t, here, scheduler.Config{Slots: 1}), newScheduler(t, there, scheduler.Config{Slots: 1})
	if _, err := there.Pieces.Add(schedulertest.NewPiece("others come first", square)); err != nil {
		t.Fatal(err)
	}
	p, q := schedulertest.NewPiece("a", square), schedulertest.NewPiece("b", causal)
	r := show(t, here.Pieces, 10, p, q, p)
	want := finish(t, from, submit(t, from, r))[0]
	saved := saveSlot(t, from, 0, "")
	for i := range saved.Tokens { // as a file has them
		saved.Tokens[i] = max(saved.Tokens[i], -1)
	}
	if saved.State = there.Adopt(saved.State); len(saved.Pieces) != 3 {
		t.Fatalf("%d pictures are saved", len(saved.Pieces))
	}
	if err := restore(to, 0, saved); err != nil {
		t.Fatal(err)
	}
	before := there.Tokens
	a := finish(t, to, submit(t, to, show(t, there.Pieces, 10, p, q, p)))[0]
	if a.text != want.text || there.Tokens-before > 10 {
		t.Errorf("%q, and before %q; %d tokens computed", a.text, want.text, there.Tokens-before)
	}
	for name, change := range map[string]func(*kvcache.Saved){
		"unknown rows": func(s *kvcache.Saved) { s.Pieces = s.Pieces[1:] },
		"overlap":      func(s *kvcache.Saved) { s.Pieces[1].At = s.Pieces[0].At + 1 },
		"behind":       func(s *kvcache.Saved) { s.Pieces[2].At = len(s.Tokens) },
		"no shape":     func(s *kvcache.Saved) { s.Pieces[0].Positions = 0 },
	} {
		bad := *saved
		bad.Pieces = slices.Clone(saved.Pieces)
		change(&bad)
		if err := to.RestoreSlot(t.Context(), 0, &bad); !errors.Is(err, scheduler.ErrBadRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is told to routers of a prompt with pictures depends on their content, and not on the
// numbers that a process has for their rows.
func TestScheduler_Load_DigestsOfPictures(t *testing.T) {
	var digests []kvcache.Digest
	for i, name := range []string{"a", "a", "b"} {
		b := schedulertest.New(scheduler.Limits{})
		s := newScheduler(t, b, scheduler.Config{})
		if i > 0 { // it has other numbers here
			if _, err := b.Pieces.Add(schedulertest.NewPiece("c", whole)); err != nil {
				t.Fatal(err)
			}
		}
		p := schedulertest.NewPiece(name, piece.Shape{Rows: 200, Positions: 20, Columns: 20})
		finish(t, s, submit(t, s, show(t, b.Pieces, 1, p)))
		prefixes := loadOf(t, s, b).Prefixes
		if len(prefixes) != 1 || prefixes[0].Blocks != 225/kvcache.BlockTokens || len(prefixes[0].Digests) != 3 {
			t.Fatalf("%+v", prefixes)
		}
		digests = append(digests, prefixes[0].Digests[2])
	}
	if digests[0] != digests[1] || digests[0] == digests[2] {
		t.Errorf("the same prompt twice and another: %v", digests)
	}
}
