// SPDX-License-Identifier: MIT

package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
)

// computed counts the tokens of prompts and of answers that passes have computed.
func computed(t testing.TB, s *scheduler.Scheduler) (prefill, decode int) {
	t.Helper()
	snap, err := s.Inspect(t.Context(), 4096)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range snap.Ticks {
		prefill, decode = prefill+r.Prefill, decode+r.Decode
	}
	return prefill, decode
}

// Several choices for one prompt, with seeds of their own, compute it once, in both layouts of
// cells.
func TestEngine_Choices_ComputeThePromptOnce(t *testing.T) {
	for _, layout := range []string{"shared", "split"} {
		t.Run(layout, func(t *testing.T) {
			e := opened(t, Options{Slots: 4, CacheSequences: 4, ContextSize: 8192, KVLayout: layout})
			s, stop := scheduled(t, e, 4)
			defer stop()
			text := strings.Repeat("Once upon a time there was a little frog who lived by a pond. ", 12)
			prompt := len(tokens(t, e, text))
			var requests []scheduler.Request
			for seed := range uint32(4) {
				r := greedy(t, e, text, 12)
				p := sampling.Default()
				p.Seed, p.Temperature = seed, 1.5
				stages, err := e.NewChain(p)
				if err != nil {
					t.Fatal(err)
				}
				for _, old := range r.Chain {
					_ = old.Close()
				}
				r.Chain = stages
				requests = append(requests, r)
			}
			texts, ends := said(t, s, requests...)
			prefill, _ := computed(t, s)
			if most := prompt + 3*2; prefill > most {
				t.Errorf("%d prompt tokens were computed for 4 choices of a prompt of %d", prefill, prompt)
			}
			for i, end := range ends[1:] {
				if end.Usage.Cached < prompt-2 {
					t.Errorf("choice %d found %d of %d tokens", i+1, end.Usage.Cached, prompt)
				}
			}
			slices.Sort(texts)
			if len(slices.Compact(texts)) < 3 {
				t.Errorf("with other seeds the choices are the same: %q", texts)
			}
		})
	}
}

// A fork begins as a copy of a live answer, shares its cells and goes on as it would, in both
// layouts.
func TestEngine_Fork_SharesTheCells(t *testing.T) {
	for _, layout := range []string{"shared", "split"} {
		t.Run(layout, func(t *testing.T) {
			e := opened(t, Options{Slots: 2, CacheSequences: 2, ContextSize: 4096, KVLayout: layout})
			s, stop := scheduled(t, e, 2)
			defer stop()
			const most, seen = 120, 60
			st, err := s.Submit(greedy(t, e, "Once upon a time there was a little frog", most))
			if err != nil {
				t.Fatal(err)
			}
			var source strings.Builder
			read := func(st *scheduler.Stream, into *strings.Builder, events int) {
				t.Helper()
				for ; events != 0; events-- {
					event, err := st.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if into.WriteString(event.Text); event.End != nil {
						return
					}
				}
			}
			read(st, &source, seen)
			if err := st.Pause(t.Context()); err != nil {
				t.Fatal(err)
			}
			prompt, answered, err := st.Conversation(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			prefill, decode := computed(t, s)
			r := greedy(t, e, "", most)
			r.Prompt, r.Begun = []scheduler.Segment{{Tokens: prompt}}, answered
			fork, err := s.Submit(r)
			if err != nil {
				t.Fatal(err)
			}
			var forked strings.Builder
			read(fork, &forked, -1)
			morePrefill, moreDecode := computed(t, s)
			if more := morePrefill - prefill + moreDecode - decode; more > most-len(answered.Tokens)+2 {
				t.Errorf("%d tokens were computed for a fork that had %d of its %d", more, len(answered.Tokens), most)
			}
			if err := st.Resume(t.Context()); err != nil {
				t.Fatal(err)
			}
			if read(st, &source, -1); source.String() != forked.String() {
				t.Errorf("the fork says %q, the answer %q", forked.String(), source.String())
			}
		})
	}
}
