// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/tools/steadytest"
)

// loopWithHead writes a model that repeats groups of 32 tokens, with a head that is right for so
// many of a hundred.
func loopWithHead(t *testing.T, right uint32) string {
	t.Helper()
	s := smallLoop
	s.Head, s.Right = true, right
	return written(t, func(w io.Writer) error { return synth.Write(w, s, builtIn, synth.Q40, 1) })
}

var smallLoop = synth.Shape{Name: "loop", Dim: 64, Layers: 2, Heads: 2, KVHeads: 1, FFN: 64, Context: 512, Loop: 32}

// loopBlocks writes a head that guesses blocks for a loop in a file.
func loopBlocks(t *testing.T, loop string, right uint32) string {
	t.Helper()
	s := smallLoop
	s.Right = right
	return written(t, func(w io.Writer) error { return synth.WithBlocks(w, loop, s, 1) })
}

// hybridWithHead writes a model with recurrent layers and a head, which guesses the last token
// again or has random weights.
func hybridWithHead(t *testing.T, echo bool) string {
	t.Helper()
	plain := smallOf(t, "qwen35-dense")
	return written(t, func(w io.Writer) error { return synth.WithHead(w, plain, echo, 2) })
}

func openedHead(t *testing.T, path string, o Options) *Engine {
	t.Helper()
	o.Path, o.DraftRows, o.Snapshots, o.Model.LoadMTP = path, 16, 4, true
	e := openedFile(t, o)
	if e.HeadDrafter(nil) == nil {
		t.Fatal("the model has no head")
	}
	return e
}

// Greedy text is the same with the head's guesses as without, however often it is right, for one
// slot and for several, in both layouts, free and under a grammar.
func TestHeadDrafter_Draft_SameGreedyText(t *testing.T) {
	const most = 30
	free := sampling.Default()
	free.Temperature = 0
	ruled := free
	ruled.Grammar = `root ::= [^e]*`
	loop := written(t, func(w io.Writer) error { return synth.Write(w, smallLoop, builtIn, synth.Q40, 1) })
	heads := map[string]struct {
		path, head   string  // the second: in a file of its own
		least, below float64 // which part of the guesses is right
	}{
		"always right": {loopWithHead(t, 100), "", 0.9, 1.1}, "often": {loopWithHead(t, 75), "", 0.3, 0.95}, "never": {loopWithHead(t, 0), "", 0, 0.1},
		"hybrid": {hybridWithHead(t, true), "", 0, 1.1}, "hybrid, random": {hybridWithHead(t, false), "", 0, 0.5},
		"Gemma's": {smallOf(t, "gemma4"), smallOf(t, "gemma4-assistant"), 0, 1.1}, "EAGLE-3": {smallOf(t, "qwen3"), smallOf(t, "eagle3"), 0, 1.1},
		"DFlash": {smallOf(t, "qwen3"), smallOf(t, "dflash"), 0, 1.1}, "DSpark": {loop, loopBlocks(t, loop, 100), 0.9, 1.1}, "DSpark, often": {loop, loopBlocks(t, loop, 75), 0.3, 0.95},
		"DSpark, never": {loop, loopBlocks(t, loop, 0), 0, 0.1}, "chain": {smallOf(t, "step35"), "", 0, 1.1},
	}
	var all [][2]string
	for _, name := range slices.Sorted(maps.Keys(heads)) {
		all = append(all, [2]string{name, "split"}, [2]string{name, "shared"})
	}
	for _, some := range steadytest.Some(t, all, 8) {
		c, layout := heads[some[0]], some[1]
		t.Run(some[0]+" "+layout, func(t *testing.T) {
			e := openedHead(t, c.path, Options{Slots: 4, CacheSequences: 4, ContextSize: 8 * 256, KVLayout: layout, Model: native.ModelOptions{Head: c.head}})
			prompts := randomPrompts(steadytest.InLongTest(32, 6), e.Info().Vocabulary)
			for _, p := range []sampling.Params{free, ruled} {
				want, _, _ := answersOf(t, e, nil, 4, prompts, p, most)
				for _, slots := range []int{1, 3, 4} {
					got, drafted, accepted := answersOf(t, e, confident{e.HeadDrafter(nil)}, slots, prompts, p, most)
					if part := float64(accepted) / float64(max(drafted, 1)); p.Grammar == "" && (drafted == 0 || part < c.least || part >= c.below) {
						t.Errorf("%d slots: %d of %d guessed tokens are accepted", slots, accepted, drafted)
					}
					for i := range prompts {
						same := kvcache.CommonPrefix(got[i], want[i])
						if same < most && gapAfter(t, e, slices.Concat(prompts[i], want[i][:same])) >= near["shared"] {
							t.Errorf("%d slots, grammar %q, prompt %d: %v, without %v", slots, p.Grammar, i, got[i], want[i])
						}
					}
				}
			}
		})
	}
}

// walker does with the sequences of a backend what a scheduler may do, and knows what they hold.
type walker struct {
	t      *testing.T
	b      *backend
	rng    *rand.Rand
	held   [][]int32
	saved  kvcache.State
	stored []int32
}

// step does one thing.
func (w *walker) step() {
	seq := int32(w.rng.IntN(len(w.held)))
	held := &w.held[seq]
	switch w.rng.IntN(8) {
	case 0:
		n := w.b.Truncate(seq, w.rng.IntN(len(*held)+1))
		*held = (*held)[:n]
	case 1:
		other := int32(w.rng.IntN(len(w.held)))
		if n := len(w.held[other]); n > 0 && other != seq {
			w.b.Truncate(seq, 0)
			n = w.b.Share(other, seq, 1+w.rng.IntN(n))
			*held = slices.Clone(w.held[other][:n])
			w.b.ContinueCopy(time.Hour, true)
		}
	case 2:
		if len(*held) > 0 && w.saved == nil {
			state, err := w.b.SaveState(seq)
			if err != nil {
				w.t.Fatal(err)
			}
			w.b.ContinueCopy(time.Hour, true)
			w.saved, w.stored = state, slices.Clone(*held)
		}
	case 3:
		if w.saved != nil {
			if err := w.b.RestoreState(seq, w.saved, len(w.stored)); err != nil {
				w.t.Fatal(err)
			}
			w.b.ContinueCopy(time.Hour, true)
			*held = slices.Clone(w.stored)
			if err := w.saved.Close(); err != nil {
				w.t.Error(err)
			}
			w.saved = nil
		}
	default:
		w.compute()
	}
}

// compute runs a pass over some of the sequences, with pieces of several lengths or a token of
// each.
func (w *walker) compute() {
	var batch scheduler.Batch
	most := 1 + w.rng.IntN(2)*w.rng.IntN(20)
	for seq := range w.held {
		if n := 1 + w.rng.IntN(most); w.rng.IntN(3) > 0 && len(w.held[seq])+n < 120 {
			for i := range n {
				batch.Add(64+int32(w.rng.IntN(32)), int32(len(w.held[seq])), int32(seq), most == 1 || i == n-1)
				w.held[seq] = append(w.held[seq], batch.Tokens[batch.Len()-1])
			}
		}
	}
	if batch.Len() > 0 {
		pass(w.t, w.b, &batch)
	}
}

// Whatever happens to sequences, a head that knows the next token of each guesses it for all at
// once, and the model goes on as one without a head.
func TestHeadDrafter_Draft_WhateverHappens(t *testing.T) {
	path := loopWithHead(t, 100)
	for _, layout := range []string{"split", "shared"} {
		t.Run(layout, func(t *testing.T) {
			e := openedHead(t, path, Options{Slots: 4, ContextSize: 4 * 256, KVLayout: layout})
			plain := openedFile(t, Options{Path: path, Slots: 4, ContextSize: 4 * 256, KVLayout: layout})
			d, rng := e.HeadDrafter(nil), steadytest.Rand(t)
			w := &walker{t: t, b: e.backend, rng: rng, held: make([][]int32, 4)}
			for range steadytest.InLongTest(3000, 200) {
				w.step()
				var asks []*draft.Ask
				for seq, held := range w.held {
					if len(held) > 0 {
						next := 64 + int32(rng.IntN(32))
						asks = append(asks, &draft.Ask{Slot: seq, Sequence: int32(seq), Position: len(held), Context: append(slices.Clone(held), next), Most: 1 + rng.IntN(3), Within: time.Hour})
					}
				}
				d.Draft(asks)
				for _, a := range asks {
					next := a.Context[len(a.Context)-1]
					var right []int32
					for i := range a.Draft {
						right = append(right, 64+(next-63+int32(i))%32)
					}
					if len(a.Draft) == 0 || !slices.Equal(a.Draft, right) {
						t.Fatalf("sequence %d at %d: after token %d it guesses %v of %d", a.Sequence, a.Position, next, a.Draft, a.Most)
					}
				}
			}
			for seq, held := range w.held {
				if len(held) < 2 {
					continue
				}
				n := w.b.Truncate(int32(seq), len(held)-1)
				if n == 0 {
					continue
				}
				got, want := feed(t, e.Backend(), int32(seq), n, held[n]), feed(t, plain.Backend(), int32(seq), 0, held...)
				if far := distance(got, want); far > 0.05 {
					t.Errorf("sequence %d: its logits are %v from those without a head", seq, far)
				}
			}
			if w.saved != nil {
				if err := w.saved.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A guess that costs nothing is taken where it is sure.
func TestHeadDrafter_Draft_LeavesSureGuesses(t *testing.T) {
	e := openedHead(t, loopWithHead(t, 100), Options{Slots: 2, ContextSize: 512})
	for grade, want := range map[int]int32{draft.Likely: 7, draft.Likely - 1: 67} {
		feed(t, e.Backend(), 0, 0, 64, 65)
		a := &draft.Ask{Position: 2, Context: []int32{64, 65, 66}, Most: 1, Within: time.Hour}
		if e.HeadDrafter(fixed{grade}).Draft([]*draft.Ask{a}); !slices.Equal(a.Draft, []int32{want}) {
			t.Errorf("beside a guess of grade %d: %v", grade, fmt.Sprint(a.Draft))
		}
		e.Backend().Truncate(0, 0)
	}
}

// fixed guesses token 7 with a grade.
type fixed struct{ grade int }

func (f fixed) Draft(asks []*draft.Ask) {
	for _, a := range asks {
		a.Draft, a.Grade = append(a.Draft[:0], 7), f.grade
	}
}

// Answers are the same with the head's guesses as without, together and with few cells, so that
// some lose theirs and come back: plain ones and those that begin alike, under adapters and a
// grammar, from the middle of another's, and by a program whose branches go on by themselves
// until it adopts one.
func TestHeadDrafter_Draft_SameTextInEveryUse(t *testing.T) {
	loop := written(t, func(w io.Writer) error { return synth.Write(w, smallLoop, builtIn, synth.Q40, 1) })
	for _, head := range []string{"", loopBlocks(t, loop, 75)} {
		path := loop
		if head == "" {
			path = loopWithHead(t, 75)
		}
		for _, layout := range []string{"split", "shared"} {
			t.Run(fmt.Sprintf("%s, blocks %v", layout, head != ""), func(t *testing.T) { sameInEveryUse(t, path, head, layout) })
		}
	}
}

// sameInEveryUse compares the answers of a model with its head, which may be in a file of its own.
func sameInEveryUse(t *testing.T, path, head, layout string) {
	const most = 70
	cells := map[string]int{"split": 4 * 256, "shared": 256}[layout]
	e := openedHead(t, path, Options{Slots: 4, CacheSequences: 4, ContextSize: cells, KVLayout: layout, Model: native.ModelOptions{Head: head}})
	a, err := e.LoadAdapter(written(t, synth.Adapter{Model: path, Seed: 1, Deviation: 0.1}.Write))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	answers := func(d draft.Drafter) (texts []string, drafted int) {
		b := &paced{Backend: e.Backend()}
		s, err := scheduler.New(b, scheduler.Config{Slots: 4, Drafter: d, Clock: b.clock, ArchiveBytes: 1 << 24})
		if err != nil {
			t.Fatal(err)
		}
		stop := running(s)
		defer stop()
		var requests []scheduler.Request
		for i := range 12 {
			requests = append(requests, useOf(t, e, i, most, a))
		}
		for wave := range slices.Chunk(requests, 4) { // prompts that wait would have the ticks for themselves
			more, ends := said(t, s, wave...)
			texts = append(texts, more...)
			for _, end := range ends {
				if drafted += end.Usage.Drafted; end.Err != nil {
					t.Error(end.Err)
				}
			}
		}
		for seq := range e.Backend().Limits().Sequences {
			e.Backend().Truncate(int32(seq), 0)
		}
		return texts, drafted
	}
	want, _ := answers(nil)
	got, drafted := answers(confident{e.HeadDrafter(nil)})
	if drafted < 30 {
		t.Errorf("%d tokens are guessed", drafted)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("request %d: %q, without %q", i, got[i], want[i])
		}
	}
}

// useOf is one of twelve requests that use sequences in different ways.
func useOf(t *testing.T, e *Engine, i, most int, a *Adapter) scheduler.Request {
	t.Helper()
	ruled := sampling.Default()
	ruled.Temperature, ruled.Grammar = 0, `root ::= [^e]*`
	r := greedy(t, e, "x", most)
	r.Prompt[0].Tokens = letters(30+i%3, i/2)
	switch i {
	case 4, 5, 6, 7: // others have no drafts beside them
		r.Adapters = Adapters([]Scaled{{a, 1}})
	case 1:
		for _, old := range r.Chain {
			_ = old.Close()
		}
		stages, err := e.NewChain(ruled)
		if err != nil {
			t.Fatal(err)
		}
		r.Chain = stages
	case 2, 9:
		r.Begun.Tokens = []scheduler.Token{70, 71, 90}
	case 10, 11:
		r.Program = &program.Program{Branches: 3, Main: func(r *program.Run) error {
			b, err := r.Open(r.Prompt())
			if err == nil {
				err = b.Run(mostLikely(e), 20, false)
			}
			if err == nil {
				_, err = r.Wait(0, false, b)
			}
			if err != nil {
				return err
			}
			fork, err := b.Fork()
			if err = errors.Join(err, b.Cut(len(r.Prompt())+7)); err == nil {
				err = errors.Join(b.Run(mostLikely(e), 13, false), fork.Run(mostLikely(e), 25, i == 11))
			}
			if err == nil {
				_, err = r.Wait(0, false, b, fork)
			}
			if err == nil && !slices.Equal(b.Tokens(), fork.Tokens()[:len(b.Tokens())]) {
				err = fmt.Errorf("a branch has written %v, and its fork %v", b.Tokens(), fork.Tokens())
			}
			if err != nil {
				return err
			}
			return r.Adopt(0, fork, len(r.Prompt()))
		}}
	}
	return r
}

// running runs a scheduler until stop is called.
func running(s *scheduler.Scheduler) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Run(ctx) }()
	return func() { cancel(); <-done }
}
