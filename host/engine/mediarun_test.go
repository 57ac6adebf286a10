// SPDX-License-Identifier: MIT

package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/tools/must"
)

// served is a pair behind a scheduler, with what each prompt is answered by the binding alone.
type served struct {
	*perceiving
	*scheduler.Scheduler
	context *native.Context
}

// serve starts a scheduler. The binding has a context of its own.
func serve(t *testing.T, p *perceiving, o scheduler.Config) *served {
	t.Helper()
	o.Pieces = p.table
	c := must.Get(native.NewContext(p.weights, native.ContextOptions{Cells: 4096, Threads: 1}))(t)
	s, stop := scheduledWith(t, p.Engine, o)
	t.Cleanup(func() {
		stop()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return &served{perceiving: p, Scheduler: s, context: c}
}

// request asks for a greedy answer to parts.
func (s *served) request(t *testing.T, parts ...part) scheduler.Request {
	t.Helper()
	r := greedy(t, s.Engine, "", replied)
	r.Prompt = nil
	for _, of := range parts {
		r.Prompt = append(r.Prompt, scheduler.Segment{Tokens: of.tokens})
		if of.piece != nil {
			r.Pieces = append(r.Pieces, of.piece)
		}
	}
	return r
}

// alone is what the binding answers.
func (s *served) alone(t *testing.T, parts ...part) string {
	t.Helper()
	must.Do(t, s.context.Remove(0, -1, -1))
	return lone(t, s.perceiving, s.context, parts)
}

// checks asks for all prompts at once and compares the answers with the binding's.
func (s *served) checks(t *testing.T, what string, prompts ...[]part) (ends []scheduler.End) {
	t.Helper()
	requests := make([]scheduler.Request, len(prompts))
	for i, parts := range prompts {
		requests[i] = s.request(t, parts...)
	}
	texts, ends := said(t, s.Scheduler, requests...)
	for i, parts := range prompts {
		if want := s.alone(t, parts...); texts[i] != want || ends[i].Err != nil {
			t.Errorf("%s, prompt %d: %q instead of %q; %v", what, i, texts[i], want, ends[i].Err)
		}
	}
	return ends
}

func joined(parts []part) (tokens []scheduler.Token) {
	for _, of := range parts {
		tokens = append(tokens, of.tokens...)
	}
	return tokens
}

func length(parts []part) int { return len(joined(parts)) }

// after is a conversation that goes on after an answer.
func (s *served) after(t *testing.T, parts []part, answer string, more ...part) []part {
	t.Helper()
	return slices.Concat(parts, []part{s.said(t, answer+"<|im_end|>\n<|im_start|>user\nmore ")}, more, []part{s.said(t, "?<|im_end|>\n<|im_start|>assistant\n")})
}

// Answers to prompts with pictures and sounds are those of a run by itself: alone, beside others,
// where a conversation goes on, begins as another, is forked or rewound in the middle, or was
// saved.
func TestEngine_Media_AnswersAsAlone(t *testing.T) {
	eachPair(t, func(t *testing.T, p *perceiving) {
		s := serve(t, p, scheduler.Config{Slots: 3, ArchiveBytes: 1 << 26})
		first := p.conversation(t)
		words := []part{p.said(t, "<|im_start|>user\nwhat?<|im_end|>\n<|im_start|>assistant\n")}
		s.checks(t, "alone", first)
		if !p.pair.Sees() {
			return
		}
		other := slices.Concat(first[:1], p.seen(t, 3), p.seen(t, 3), first[len(first)-1:])
		s.checks(t, "beside others", other, words, first)

		answer := s.alone(t, first...)
		goesOn := s.after(t, first, answer, p.seen(t, 5)...)
		if end := s.checks(t, "going on", goesOn)[0]; end.Usage.Cached < length(first) {
			t.Errorf("%d of %d tokens were kept", end.Usage.Cached, length(first))
		}
		at := len(first) - 1
		for first[at].piece == nil {
			at--
		}
		begins := slices.Concat(first[:at+1], []part{p.said(t, "or not?<|im_end|>\n<|im_start|>assistant\n")})
		if end := s.checks(t, "beginning as another", begins)[0]; end.Usage.Cached < length(first[:at+1]) && p.backend.window == 0 {
			t.Errorf("%d of %d tokens were shared", end.Usage.Cached, length(first[:at+1]))
		}
		s.rewound(t, first)
		s.forked(t, first)
		s.restored(t, goesOn)
	})
}

// paused begins a long answer and pauses it in its middle.
func (s *served) paused(t *testing.T, parts []part) (_ *scheduler.Stream, prompt, answered []scheduler.Token) {
	t.Helper()
	r := s.request(t, parts...)
	r.MaxTokens = 1000
	st := must.Get(s.Submit(r))(t)
	for range 6 {
		must.Get(st.Next(t.Context()))(t)
	}
	must.Do(t, st.Pause(t.Context()))
	prompt, begun := must.Both(st.Conversation(t.Context()))(t)
	return st, prompt, begun.Tokens
}

// rewound goes back to the beginning of an answer, and writes the same again.
func (s *served) rewound(t *testing.T, parts []part) {
	t.Helper()
	st, _, answered := s.paused(t, parts)
	defer st.Cancel()
	const kept = 2
	must.Do(t, st.Rewind(t.Context(), len(answered)-kept))
	must.Do(t, st.Resume(t.Context()))
	want, got, back := s.alone(t, parts...), "", false
	for len(got) < len(want)-kept {
		e, err := st.Next(t.Context())
		if err != nil || e.End != nil {
			t.Fatal(e, err)
		}
		if back {
			got += e.Text
		}
		back = back || e.Kind == scheduler.KindRewound
	}
	if got = want[:kept] + got; got != want {
		t.Errorf("rewound: %q instead of %q", got, want)
	}
}

// forked begins as a live answer in its middle.
func (s *served) forked(t *testing.T, parts []part) {
	t.Helper()
	st, prompt, answered := s.paused(t, parts)
	defer st.Cancel()
	r := s.request(t, parts...)
	r.Prompt, r.Begun.Tokens = []scheduler.Segment{{Tokens: prompt}}, answered[:3]
	texts, ends := said(t, s.Scheduler, r)
	if want := s.alone(t, parts...); texts[0] != want || ends[0].Err != nil {
		t.Errorf("forked: %q instead of %q; %v", texts[0], want, ends[0].Err)
	}
}

// restored saves the conversation of a slot as a file does, erases it and goes on after it is
// there again.
func (s *served) restored(t *testing.T, parts []part) {
	t.Helper()
	s.checks(t, "to be saved", parts)
	var saved *kvcache.Saved
	for slot := range 3 {
		one, err := s.SaveSlot(t.Context(), slot, "")
		if err != nil && !errors.Is(err, kvcache.ErrNothingCached) {
			t.Fatal(err)
		}
		if err == nil && slices.Equal(one.Tokens[:min(len(one.Tokens), length(parts))], joined(parts)) {
			saved = one
		} else if err == nil {
			_ = one.Close()
		}
	}
	if saved == nil {
		t.Fatal("no slot has the conversation")
	}
	state := saved.State.(state)
	copied := must.Get(s.NewState(len(state.Contents()), state.positions))(t)
	copy(copied.Contents(), state.Contents())
	read := &kvcache.Saved{Tokens: saved.Tokens, Pieces: saved.Pieces, Scope: saved.Scope, State: copied}
	for slot := range 3 {
		must.Get(s.EraseSlot(t.Context(), slot, ""))(t)
	}
	must.Do(t, s.RestoreSlot(t.Context(), 1, read))
	for _, of := range []kvcache.State{saved.State, copied} {
		if err := of.Close(); err != nil {
			t.Error(err)
		}
	}
	goesOn := s.after(t, parts, s.alone(t, parts...))
	if end := s.checks(t, "restored", goesOn)[0]; end.Usage.Cached < length(parts) {
		t.Errorf("restored: %d of %d tokens were kept", end.Usage.Cached, length(parts))
	}
}

// Conversations with pictures that lose their cells to others go on as if they had not: those that
// run and those that rest.
func TestEngine_Media_WithFewCells(t *testing.T) {
	for _, pair := range []synth.MediaPair{synth.MediaPairs[0], synth.MediaPairs[1], synth.MediaPairs[3], synth.MediaPairs[5]} {
		t.Run(pair.Projector, func(t *testing.T) {
			p := openPair(t, pair, Options{Slots: 3, KVLayout: "shared", ContextSize: 256})
			s := serve(t, p, scheduler.Config{Slots: 3, ArchiveBytes: 1 << 26})
			var prompts [][]part
			for seed := range 4 {
				prompts = append(prompts, slices.Concat([]part{p.said(t, "<|im_start|>user\n"+strings.Repeat("beside ", 8+seed))}, p.seen(t, 2*seed+1),
					[]part{p.said(t, "what?<|im_end|>\n<|im_start|>assistant\n")}))
			}
			s.checks(t, "at once", prompts...)
			for range 2 {
				for i, parts := range prompts {
					prompts[i] = s.after(t, parts, s.alone(t, parts...))
					if length(prompts[i]) < 200 {
						s.checks(t, "in turns", prompts[i])
					}
				}
			}
		})
	}
}
