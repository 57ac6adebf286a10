// SPDX-License-Identifier: MIT

package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

func TestLayout_Place(t *testing.T) {
	idle := func(sequences ...int32) (all []kvcache.IdleSequence) {
		for _, s := range sequences {
			all = append(all, kvcache.IdleSequence{Sequence: s, Saved: s%2 == 0})
		}
		return all
	}
	decoding := []kvcache.RunningSequence{{Sequence: 2, Prefill: 20}, {Sequence: 4}}
	prefilling := []kvcache.RunningSequence{{Sequence: 3, Prefill: 1000}}
	for name, c := range map[string]struct {
		prefill int
		running []kvcache.RunningSequence
		idle    []kvcache.IdleSequence
		want    int32
	}{
		"between those that decode":           {20, decoding, idle(0, 1, 3, 6), 3},
		"beside them, though it must wait":    {20, decoding, idle(0, 6, 1, 7), 1},
		"as near as others, and saved":        {20, decoding, idle(7, 0, 6), 0},
		"as near and saved as others, oldest": {20, decoding, idle(6, 0), 6},
		"a long prompt, at the far end":       {257, decoding, idle(0, 3, 6), 6},
		"a long prompt, without waiting":      {257, decoding, idle(0, 3, 7), 0},
		"nobody decodes, at the near end":     {20, prefilling, idle(4, 2, 7), 2},
		"nobody decodes, without waiting":     {20, prefilling, idle(1, 6, 7), 6},
	} {
		if got := (layout{sequences: 8}).Place(c.prefill, c.running, c.idle); got != c.want {
			t.Errorf("%s: sequence %d, want %d", name, got, c.want)
		}
	}
}

// placed is a backend without arithmetic that the layout chooses sequences for.
type placed struct {
	*schedulertest.Backend
	layout
}

// placedScheduler is one on virtual time; the test calls Tick.
func placedScheduler(t *testing.T, l scheduler.Limits, archive int64) (*scheduler.Scheduler, *schedulertest.Backend) {
	t.Helper()
	l.Vocabulary = 2000 // more than the tokens of stories
	b := schedulertest.New(l)
	s := must.Get(scheduler.New(placed{b, layout{sequences: l.Sequences}}, scheduler.Config{Slots: l.Sequences, ArchiveBytes: archive, Clock: b.Now}))(t)
	return s, b
}

// submitStory asks for up to so many tokens after a story of n.
func submitStory(t *testing.T, s *scheduler.Scheduler, n, seed, most int, reuse bool) *scheduler.Stream {
	t.Helper()
	st := must.Get(s.Submit(scheduler.Request{Prompt: []scheduler.Segment{{Tokens: story(n, int32(seed))}}, Ending: scheduler.Ending{MaxTokens: most}, Reports: scheduler.Reports{Logprobs: -1}, Caching: scheduler.Caching{CachePrompt: reuse},
		Chain: []chain.Stage{schedulertest.Greedy{}}}))(t)
	return st
}

// untilEnd ticks until some streams have ended.
func untilEnd(s *scheduler.Scheduler, streams ...*scheduler.Stream) {
	for _, st := range streams {
		for e := (scheduler.Event{}); e.Kind != scheduler.KindEnd; {
			s.Tick()
			e, _ = st.TryNext()
		}
	}
}

// TestLayout_LongPromptsStandAside: however requests arrive mixed, those that generate have
// sequences that follow one another, and stay so as answers end and others begin.
func TestLayout_LongPromptsStandAside(t *testing.T) {
	s, b := placedScheduler(t, scheduler.Limits{Cells: 1 << 16, Context: 1 << 13, Batch: 2048, Sequences: 8, SeparatePasses: true}, 0)
	b.Cost = schedulertest.Measured.Cost
	widest := 0
	b.Fail = func(batch *scheduler.Batch) error {
		if batch.Rows() == batch.Len() && batch.Len() > 1 { // decoding only
			widest = max(widest, int(slices.Max(batch.Sequences)-slices.Min(batch.Sequences))+1)
		}
		return nil
	}
	serial := 0
	next := func(n, most int) *scheduler.Stream {
		serial++
		return submitStory(t, s, n, serial, most, false)
	}
	running := []*scheduler.Stream{next(20, 50), next(1500, 1), next(25, 60), next(2000, 1), next(30, 70), next(20, 80)}
	for start := b.Now(); b.Now().Sub(start) < time.Minute; {
		s.Tick()
		for i, st := range running {
			for e, ok := st.TryNext(); ok; e, ok = st.TryNext() {
				if e.Kind != scheduler.KindEnd {
					continue
				}
				if i == 1 || i == 3 {
					running[i] = next(1500, 1)
				} else {
					running[i] = next(20+serial%9, 50+serial%40)
				}
			}
		}
	}
	if serial < 50 || widest > 4 {
		t.Errorf("of %d requests, those that generate spread over up to %d sequences; want 4", serial, widest)
	}
}

// Beside nothing but a long prompt, a request takes a sequence that is free at once: there is
// nobody to decode with, and a tick is long.
func TestLayout_NoWaitBesideALongPrompt(t *testing.T) {
	s, b := placedScheduler(t, scheduler.Limits{Cells: 8000, Sequences: 8}, 1<<20)
	b.CopyCost = time.Millisecond
	b.Cost = func(tokens, _ int) time.Duration { return time.Duration(tokens) * time.Millisecond }
	first := submitStory(t, s, 100, 1, 2, true) // in the first place, and not saved: the others are empty
	untilEnd(s, first)
	long := submitStory(t, s, 4000, 2, 2, true)
	s.Tick()
	short := submitStory(t, s, 20, 3, 2, true)
	s.Tick()
	if waiting := s.Stats().Waiting; waiting != 0 {
		t.Error("it waits until a sequence is saved")
	}
	untilEnd(s, long, short)
}
