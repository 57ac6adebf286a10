// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

// Shapes of pictures: rows that follow each other, a grid that takes fewer positions, and rows
// that see one another.
var (
	causal = piece.Shape{Rows: 60, Positions: 60}
	square = piece.Shape{Rows: 64, Positions: 8, Columns: 8}
	whole  = piece.Shape{Rows: 50, Positions: 50, Whole: true}
	shapes = map[string]piece.Shape{"causal": causal, "grid": square, "whole": whole}
)

// show makes a request with pictures in its prompt: text, each picture with some text after it.
func show(t testing.TB, table *piece.Table, most int, pictures ...*piece.Piece) scheduler.Request {
	t.Helper()
	r := request(20, 1, most)
	for i, p := range pictures {
		tokens := must.Get(table.Add(p))(t)
		r.Prompt = append(r.Prompt, scheduler.Segment{Tokens: tokens}, prompt(5, i+2)[0])
	}
	r.Pieces = pictures
	return r
}

// aloneWith is alone for a request whose pictures a table has.
func aloneWith(t testing.TB, table *piece.Table, r scheduler.Request) received {
	b := schedulertest.New(scheduler.Limits{})
	b.Pieces = table
	s := newScheduler(t, b, scheduler.Config{})
	return finish(t, s, submit(t, s, r))[0]
}

func TestScheduler_Piece_IsComputedOnce(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			b := schedulertest.New(scheduler.Limits{})
			s := newScheduler(t, b, scheduler.Config{})
			first := show(t, b.Pieces, 10, schedulertest.NewPiece("a", shape))
			a := finish(t, s, submit(t, s, first))[0]
			if b.Passes != 12 { // text, the picture, text, and a token each
				t.Errorf("%d passes", b.Passes)
			}
			n := 25 + shape.Rows
			if u := a.end.Usage; u.Prompt != n || u.Cached != 0 || u.Context != n+9 {
				t.Errorf("%+v", u)
			}
			before := b.Tokens
			anew := show(t, b.Pieces, 10, schedulertest.NewPiece("a", shape)) // encoded anew: other numbers in memory, the same content
			anew.Prompt = append(anew.Prompt, prompt(3, 9)...)
			a = finish(t, s, submit(t, s, anew))[0]
			if u := a.end.Usage; u.Cached != n || b.Tokens-before != 3+9 {
				t.Errorf("%+v, %d tokens computed", u, b.Tokens-before)
			}
			other := show(t, b.Pieces, 10, schedulertest.NewPiece("b", shape))
			c := finish(t, s, submit(t, s, other))[0]
			if u := c.end.Usage; u.Cached != 20 && u.Cached != 0 {
				t.Errorf("of another picture: %+v", u)
			}
			if slices.Equal(a.tokens, c.tokens) {
				t.Error("two pictures have one answer")
			}
		})
	}
}

// The answers to prompts with pictures are the same whoever else computes, and whatever was there
// before.
func TestScheduler_Pieces_TheSameAnswersTogether(t *testing.T) {
	for _, separate := range []bool{false, true} {
		b := schedulertest.New(scheduler.Limits{SeparatePasses: separate})
		b.Cost = schedulertest.Measured.Cost
		s := newScheduler(t, b, scheduler.Config{Slots: 6})
		var album []*piece.Piece
		for _, shape := range []piece.Shape{causal, square, whole} {
			album = append(album, schedulertest.NewPiece("a", shape))
		}
		var all []scheduler.Request
		for i := range 3 {
			x, y := album[i], album[(i+1)%3]
			all = append(all, show(t, b.Pieces, 20, x), show(t, b.Pieces, 20, x, y), show(t, b.Pieces, 20, y, x, x))
		}
		all = append(all, request(40, 1, 60), request(300, 2, 20))
		var streams []*scheduler.Stream
		for _, r := range all {
			streams = append(streams, submit(t, s, r))
			s.Tick()
		}
		for i, a := range finish(t, s, streams...) {
			if want := aloneWith(t, b.Pieces, all[i]); a.text != want.text || a.end.Reason != answer.ReasonLength {
				t.Errorf("separate passes %v: answer %d is %q, alone %q: %+v", separate, i, a.text, want.text, a.end)
			}
		}
	}
}

// A prompt that begins as one that is being computed waits for that, also where the picture is at
// work.
func TestScheduler_Piece_IsWaitedFor(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Batch: 16})
	s := newScheduler(t, b, scheduler.Config{Slots: 4})
	p := schedulertest.NewPiece("a", causal)
	first := submit(t, s, show(t, b.Pieces, 5, p))
	for range 4 {
		s.Tick() // within the picture
	}
	streams := []*scheduler.Stream{first}
	for range 3 {
		streams = append(streams, submit(t, s, show(t, b.Pieces, 5, p)))
	}
	finish(t, s, streams...)
	if want := 85 + 4 + 3*(1+4); b.Tokens != want {
		t.Errorf("%d tokens computed, not %d", b.Tokens, want)
	}
}

// What is left of a picture that was not computed to its end is not used, and what is before it is.
func TestScheduler_Piece_LeftInTheMiddle(t *testing.T) {
	for name, shape := range map[string]piece.Shape{"causal": causal, "grid": square} {
		for how, leave := range map[string]func(*scheduler.Scheduler, *scheduler.Stream){
			"cancelled": func(_ *scheduler.Scheduler, st *scheduler.Stream) { st.Cancel() },
			"preempted": func(s *scheduler.Scheduler, _ *scheduler.Stream) { scheduler.Preempt(s) },
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				b := schedulertest.New(scheduler.Limits{Batch: 16})
				s := newScheduler(t, b, scheduler.Config{ArchiveBytes: 1 << 20, Slots: 1})
				p := schedulertest.NewPiece("a", shape)
				r := show(t, b.Pieces, 5, p)
				st := submit(t, s, r)
				for s.Tick(); scheduler.Computed(st) < 40; s.Tick() {
				}
				before := b.Tokens
				if leave(s, st); how == "cancelled" {
					finish(t, s, st)
					st = submit(t, s, r)
				}
				a := finish(t, s, st)[0]
				if want := aloneWith(t, b.Pieces, r); a.text != want.text {
					t.Errorf("%q, alone %q", a.text, want.text)
				}
				if got, want := b.Tokens-before, shape.Rows+5+4; got != want {
					t.Errorf("%d tokens computed after that, not %d", got, want)
				}
			})
		}
	}
}

// A pass that fails within a picture is done again from its beginning, and only a request that
// always fails ends.
func TestScheduler_Piece_SurvivesAFailedPass(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			b := schedulertest.New(scheduler.Limits{Batch: 64})
			s := newScheduler(t, b, scheduler.Config{})
			p := schedulertest.NewPiece("a", shape)
			failed := 0
			b.Fail = func(batch *scheduler.Batch) error {
				if batch.Piece == nil || failed > 0 {
					return nil
				}
				failed++
				return scheduler.ErrNoCells
			}
			idle := finish(t, s, submit(t, s, request(30, 7, 5)))[0] // its cells are evicted for the pass that failed
			a := finish(t, s, submit(t, s, show(t, b.Pieces, 10, p)))[0]
			if want := aloneWith(t, b.Pieces, show(t, b.Pieces, 10, p)); a.text != want.text || failed != 1 || idle.end == nil {
				t.Errorf("%q, alone %q, %d failed: %+v", a.text, want.text, failed, a.end)
			}
			b.Fail = func(batch *scheduler.Batch) error {
				if batch.Piece != nil {
					return errFlaky
				}
				return nil
			}
			beside := submit(t, s, request(30, 8, 20))
			st := submit(t, s, show(t, b.Pieces, 10, schedulertest.NewPiece("b", shape)))
			both := finish(t, s, beside, st)
			if end := both[1].end; !errors.Is(end.Err, scheduler.ErrPass) || both[0].end.Reason != answer.ReasonLength {
				t.Errorf("%+v, and beside it %+v", end, both[0].end)
			}
		})
	}
}

// Streams beside a large causal picture go on as beside a long prompt, and the text of others is
// not kept waiting by many pictures.
func TestScheduler_Piece_StreamsGoOn(t *testing.T) {
	for _, separate := range []bool{false, true} {
		t.Run(fmt.Sprint("separate passes ", separate), func(t *testing.T) { streamsGoOn(t, separate) })
	}
}

func streamsGoOn(t *testing.T, separate bool) {
	b := schedulertest.New(scheduler.Limits{Cells: 1 << 15, SeparatePasses: separate})
	b.Cost = func(tokens, _ int) time.Duration {
		return 5*time.Millisecond + time.Duration(tokens)*500*time.Microsecond
	}
	s := newScheduler(t, b, scheduler.Config{Slots: 8, ITLTarget: 60 * time.Millisecond})
	streams := []*scheduler.Stream{submit(t, s, request(10, 1, 400)), submit(t, s, request(10, 2, 400))}
	for range 10 {
		s.Tick()
	}
	for i := range 3 {
		shape := piece.Shape{Rows: 1500, Positions: 40, Columns: 40}
		streams = append(streams, submit(t, s, show(t, b.Pieces, 5, schedulertest.NewPiece(fmt.Sprint(i), shape))))
	}
	var longest time.Duration
	text := submit(t, s, request(200, 5, 1))
	var answers [2]received
	var short received
	last := b.Now()
	began := last
	for ; answers[0].end == nil; s.Tick() {
		n := len(answers[0].tokens)
		if answers[0].read(streams[0]); len(answers[0].tokens) > n {
			longest, last = max(longest, b.Now().Sub(last)), b.Now()
		}
		if short.read(text); short.end != nil && b.Now().Sub(began) < 1500*time.Millisecond {
			began = time.Time{}
		}
	}
	if longest > 70*time.Millisecond {
		t.Errorf("a stream has waited for %v beside pictures", longest)
	}
	if !began.IsZero() {
		t.Error("200 tokens of text have waited for all pictures")
	}
	finish(t, s, streams[1:]...)
}

// A drafter never sees a row of a picture, knows where in the backend's sequence the text goes on,
// and guesses as well as without.
func TestScheduler_Piece_DraftersSeeText(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	b.Cost = flat
	p, q := schedulertest.NewPiece("a", square), schedulertest.NewPiece("b", causal)
	r := show(t, b.Pieces, 100, p, q)
	want := aloneWith(t, b.Pieces, r)
	d := &clairvoyant{t: t, backend: b, text: slices.Concat(r.Prompt[0].Tokens, r.Prompt[2].Tokens, r.Prompt[4].Tokens), says: want.tokens}
	s := newScheduler(t, b, scheduler.Config{Drafter: d})
	a := finish(t, s, submit(t, s, r))[0]
	if u := a.end.Usage; a.text != want.text || u.Accepted < 50 {
		t.Errorf("%q, alone %q: %+v", a.text, want.text, u)
	}
}

// clairvoyant is a drafter that knows the answer.
type clairvoyant struct {
	t          *testing.T
	backend    *schedulertest.Backend
	text, says []scheduler.Token
}

func (d *clairvoyant) Draft(asks []*draft.Ask) {
	for _, a := range asks {
		n := len(a.Context) - len(d.text)
		if n < 0 || !slices.Equal(a.Context[:len(d.text)], d.text) || !slices.Equal(a.Context[len(d.text):], d.says[:n]) {
			d.t.Errorf("the context is %v", a.Context)
			return
		}
		if at := d.backend.Position(a.Sequence); a.Position != at {
			d.t.Errorf("the last token is said to be at %d of sequence %d, which ends at %d", a.Position, a.Sequence, at)
		}
		a.Draft = append(a.Draft[:0], d.says[n:min(len(d.says), n+a.Most)]...)
		a.Grade = draft.Grades - 1
	}
}

// Adapters that count from within a picture on compute all of it.
func TestScheduler_Piece_HasOneSetOfAdapters(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{})
	r := show(t, b.Pieces, 10, schedulertest.NewPiece("a", whole))
	r.Adapters, r.AdaptersFrom = schedulertest.Adapters("x"), 40
	a := finish(t, s, submit(t, s, r))[0]
	r.AdaptersFrom = 20
	if want := aloneWith(t, b.Pieces, r); a.text != want.text {
		t.Errorf("%q, from the beginning of the picture on %q", a.text, want.text)
	}
}

// An answer that outgrows the context drops pictures as a whole.
func TestScheduler_Piece_IsShiftedAsAWhole(t *testing.T) {
	for name, shape := range shapes {
		for _, keep := range []int{0, 10, 30, 80, -1} {
			t.Run(fmt.Sprint(name, " ", keep), func(t *testing.T) {
				b := schedulertest.New(scheduler.Limits{Cells: 600, Context: 200})
				s := newScheduler(t, b, scheduler.Config{Slots: 1})
				r := show(t, b.Pieces, 300, schedulertest.NewPiece("a", shape), schedulertest.NewPiece("b", shape))
				var all []scheduler.Token
				for _, segment := range r.Prompt {
					all = append(all, segment.Tokens...)
				}
				r.Prompt = []scheduler.Segment{{Tokens: all}}
				r.Shift, r.Buffer = &answer.Shift{Keep: keep}, 400
				a := finish(t, s, submit(t, s, r))[0]
				if want := shifted(b, r, 200, 300); !slices.Equal(a.tokens, want) {
					t.Errorf("%v, without a scheduler %v", a.tokens, want)
				}
			})
		}
	}
}

// The table forgets pictures that no request has and no conversation, and finds a place for new
// ones.
func TestScheduler_Pieces_AreForgotten(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 512, Sequences: 2})
	s := newScheduler(t, b, scheduler.Config{Slots: 2})
	var tokens []scheduler.Token
	for i := range 200 {
		r := show(t, b.Pieces, 1, schedulertest.NewPiece(fmt.Sprint(i), causal))
		tokens = r.Prompt[1].Tokens
		finish(t, s, submit(t, s, r))
		runtime.GC()
	}
	if early := scheduler.Token(-1<<31 + 2*60); b.Pieces.Piece(early) != nil {
		t.Error("the third picture is held by somebody")
	} else if _, _, known := b.Pieces.Shape(early); known {
		t.Error("the third of 200 pictures is still known")
	}
	if _, _, known := b.Pieces.Shape(tokens[0]); !known {
		t.Error("the last picture, which is in the cache, is forgotten")
	}
}

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
	none := must.Get(scheduler.New(b, scheduler.Config{Clock: b.Now}))(t)
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
	must.Get(there.Pieces.Add(schedulertest.NewPiece("others come first", square)))(t)
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
	must.Do(t, restore(to, 0, saved))
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
			must.Get(b.Pieces.Add(schedulertest.NewPiece("c", whole)))(t)
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
	rows := must.Get(b.Pieces.Add(p))(t)
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

// judged asks for the log-probabilities of a prompt, each with the most likely token.
func judged(r scheduler.Request) scheduler.Request {
	r.PromptLogprobs, r.Logprobs = true, 1
	return r
}

// promptTold is what the events say of the prompt. All of it comes before the first token that the
// model gives.
func promptTold(t *testing.T, a received) (told []scheduler.PromptToken) {
	t.Helper()
	tokens := 0
	for _, e := range a.events {
		switch e.Kind {
		case scheduler.KindToken:
			if e.Origin == chain.Chosen {
				tokens++
			}
		case scheduler.KindPrompt:
			if tokens > 0 {
				t.Error("a part of the prompt comes after a token")
			}
			told = append(told, e.Prompt...)
		}
	}
	return told
}

// A prompt that goes on as the model would has the highest log-probabilities there, whatever is
// cached of it, who computes beside it and how few rows a pass has.
func TestScheduler_PromptLogprobs(t *testing.T) {
	begin := request(40, 3, 30)
	said := alone(t, begin).tokens
	whole := begin
	whole.Prompt = []scheduler.Segment{{Tokens: slices.Concat(begin.Prompt[0].Tokens, said)}}
	whole.MaxTokens = 2
	plain := alone(t, whole)
	want := promptTold(t, alone(t, judged(whole)))
	for i, p := range want[39:] {
		if p.Token != said[i] || p.Logprobs.Top[0].Token != said[i] || p.Logprobs.Token != p.Logprobs.Top[0].Logprob {
			t.Errorf("token %d of the continuation: %d, %+v, want %d", i, p.Token, p.Logprobs, said[i])
		}
	}
	if len(want) != 69 {
		t.Fatalf("%d tokens of the prompt were told, want 69", len(want))
	}
	for name, c := range map[string]struct {
		limits scheduler.Limits
		set    func(b *schedulertest.Backend)
	}{
		"few rows":        {scheduler.Limits{Rows: 8}, nil},
		"rows for slots":  {scheduler.Limits{Rows: 4}, nil},
		"separate passes": {scheduler.Limits{SeparatePasses: true, Rows: 40}, nil},
		"recurrent":       {scheduler.Limits{}, func(b *schedulertest.Backend) { b.Recurrent, b.Snapshots = true, 2 }},
		"no cutting":      {scheduler.Limits{}, func(b *schedulertest.Backend) { b.NoCutting = true }},
		"failing passes": {scheduler.Limits{Rows: 16}, func(b *schedulertest.Backend) {
			passes := 0
			b.Fail = func(batch *scheduler.Batch) error {
				if passes++; passes%5 == 0 && len(slices.Compact(slices.Clone(batch.Sequences))) > 1 {
					return errors.New("broken")
				}
				return nil
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := schedulertest.New(c.limits)
			if c.set != nil {
				c.set(b)
			}
			s := newScheduler(t, b, scheduler.Config{Slots: 4})
			finish(t, s, submit(t, s, whole)) // it is cached now
			beside := submit(t, s, request(300, 5, 60))
			streams := []*scheduler.Stream{submit(t, s, judged(whole)), submit(t, s, whole), submit(t, s, judged(whole)), beside}
			for i, a := range finish(t, s, streams...)[:3] {
				if a.text != plain.text || a.end.Reason != answer.ReasonLength {
					t.Errorf("answer %d: %q, %+v, want %q", i, a.text, a.end, plain.text)
				}
				if got := promptTold(t, a); i != 1 && !cmp.Equal(want, got) {
					t.Errorf("prompt %d: %s", i, cmp.Diff(want, got))
				}
			}
		})
	}
}

// One that has lost its slot is not told again of what it was told before.
func TestScheduler_PromptLogprobs_Preempted(t *testing.T) {
	for name, evict := range map[string]bool{"its cells stay": false, "its cells go": true} {
		t.Run(name, func(t *testing.T) {
			r := judged(request(100, 3, 2))
			want := promptTold(t, alone(t, r))
			b := schedulertest.New(scheduler.Limits{Rows: 8, Cells: 512})
			s := newScheduler(t, b, scheduler.Config{Slots: 1})
			st := submit(t, s, r)
			for range 6 {
				s.Tick()
			}
			must.Do(t, control(t, s, st.Pause))
			n := 20
			if evict {
				n = 500
			}
			finish(t, s, submit(t, s, request(n, 9, 3))) // takes the slot
			must.Do(t, control(t, s, st.Resume))
			if got := promptTold(t, finish(t, s, st)[0]); !cmp.Equal(want, got) {
				t.Error(cmp.Diff(want, got))
			}
		})
	}
}

// A request that wants no answer computes its prompt but for the last token, if it wants to know
// of it, and else nothing.
func TestScheduler_NoAnswer(t *testing.T) {
	for _, c := range []struct {
		length, told, computed int
		judge                  bool
	}{{50, 49, 49, true}, {1, 0, 0, true}, {50, 0, 0, false}} {
		r := request(c.length, 3, 1)
		if r.NoAnswer = true; c.judge {
			r = judged(r)
		}
		b := schedulertest.New(scheduler.Limits{})
		s := newScheduler(t, b, scheduler.Config{})
		a := finish(t, s, submit(t, s, r))[0]
		if told := len(promptTold(t, a)); told != c.told || len(a.tokens) != 0 || a.end.Reason != answer.ReasonLength || b.Tokens != c.computed {
			t.Errorf("a prompt of %d: %d told, %d computed, %d tokens, %v", c.length, told, b.Tokens, len(a.tokens), a.end.Reason)
		}
	}
}

// A stream beside a prompt that is judged goes on with each pass, and none has more rows than
// there are.
func TestScheduler_PromptLogprobs_NeighboursGoOn(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Rows: 16})
	b.Cost = func(tokens, _ int) time.Duration { return time.Duration(tokens) * time.Millisecond }
	s := newScheduler(t, b, scheduler.Config{Slots: 4})
	beside := submit(t, s, request(10, 5, 100))
	var a received
	for a.read(beside); len(a.tokens) == 0; a.read(beside) {
		s.Tick()
	}
	judging := submit(t, s, judged(request(400, 3, 1)))
	var j received
	for ticks := 0; j.end == nil; ticks++ {
		before := len(a.tokens)
		s.Tick()
		a.read(beside)
		j.read(judging)
		if a.end == nil && len(a.tokens) == before {
			t.Fatalf("tick %d gave the stream beside no token", ticks)
		}
	}
	if got := len(promptTold(t, j)); got != 399 || b.Largest > 16 {
		t.Errorf("%d told, the largest pass had %d tokens", got, b.Largest)
	}
	if a.end == nil { // the background samplers of the other may have been slow
		finish(t, s, beside)
	}
}
