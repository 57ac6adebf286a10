// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/tools/must"
)

// uncuttable are small models whose sequences cannot be cut everywhere.
var uncuttable = []string{"mamba", "falcon-h1", "cohere2"}

// letters are n tokens of small models.
func letters(n, seed int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(20 + (i*13+i*i*seed)%200)
	}
	return out
}

// tokenCounter counts the tokens of the passes of a backend.
type tokenCounter struct {
	*backend
	tokens int
}

func (c *tokenCounter) Start(b *scheduler.Batch) error {
	c.tokens += b.Len()
	return c.backend.Start(b)
}

// ticked is a scheduler that the test ticks, whose clock stands still: copying takes no time.
type ticked struct {
	testing.TB
	*Engine
	*scheduler.Scheduler
	passes *tokenCounter
}

func newTicked(t testing.TB, e *Engine, checkpoints int) ticked {
	passes := &tokenCounter{backend: e.backend}
	now := time.Now()
	s := must.Get(scheduler.New(passes, scheduler.Config{Slots: 2, ArchiveBytes: 1 << 26, Clock: func() time.Time { return now },
		Checkpoints: kvcache.CheckpointOptions{Most: checkpoints, MinStep: 8192, Bytes: 1 << 26}}))(t)
	t.Cleanup(func() { // it frees what it holds
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Run(ctx)
	})
	return ticked{t, e, s, passes}
}

// begin submits a request for n tokens, the likeliest ones.
func (s ticked) begin(prompt []int32, n int) *scheduler.Stream {
	s.Helper()
	p := sampling.Default()
	p.Temperature, p.IgnoreEOS = 0, true
	stages, err := s.NewChain(p)
	if err != nil {
		s.Fatal(err)
	}
	st, err := s.Submit(scheduler.Request{Prompt: []scheduler.Segment{{Tokens: prompt}}, Ending: scheduler.Ending{MaxTokens: n}, Reports: scheduler.Reports{Logprobs: -1}, Caching: scheduler.Caching{CachePrompt: true}, Delivery: scheduler.Delivery{Buffer: 1024}, Chain: stages})
	if err != nil {
		s.Fatal(err)
	}
	return st
}

// answer ticks until the answer has so many tokens, or has ended.
func (s ticked) answer(st *scheduler.Stream, tokens []int32, n int) []int32 {
	for len(tokens) < n {
		s.Tick()
		for e, ok := st.TryNext(); ok; e, ok = st.TryNext() {
			switch e.Kind {
			case scheduler.KindToken:
				tokens = append(tokens, e.Token)
			case scheduler.KindRewound:
				tokens = tokens[:len(tokens)-e.Rewound.Tokens]
			case scheduler.KindEnd:
				return tokens
			}
		}
	}
	return tokens
}

// rewind takes back the last tokens of an answer.
func (s ticked) rewind(st *scheduler.Stream, n int) {
	s.Helper()
	done := make(chan error, 1)
	go func() { done <- st.Rewind(s.Context(), n) }()
	for {
		select {
		case err := <-done:
			if err != nil {
				s.Fatal(err)
			}
			return
		default:
			s.Tick()
		}
	}
}

// A rewind, a turn that parts from the conversation, and the same after its cells were needed by
// others compute little again, and the text is that of a computation from the beginning.
func TestCheckpoint_ComputesLittleAgain(t *testing.T) {
	const promptLen, most = 100, 330 // so the window of 256 cells has moved on
	for _, kind := range uncuttable {
		t.Run(kind, func(t *testing.T) {
			prompt := letters(promptLen, 1)
			turn := slices.Concat(prompt[:promptLen-2], letters(20, 3))
			plain := newTicked(t, openedSmall(t, kind, Options{Slots: 2, ContextSize: 500, UBatch: 32}), 0)
			want := plain.answer(plain.begin(prompt, most), nil, most+1)
			plain.answer(plain.begin(letters(480, 9), 1), nil, 2) // which leaves nothing of it
			wantTurn := plain.answer(plain.begin(turn, 20), nil, 21)

			s := newTicked(t, openedSmall(t, kind, Options{Slots: 2, ContextSize: 500, UBatch: 32}), 32)
			st := s.begin(prompt, most)
			got := s.answer(st, nil, 100)
			s.rewind(st, 20)
			if got = s.answer(st, got, most+1); !slices.Equal(got, want) {
				t.Errorf("after a rewind:\n%v, alone\n%v", got, want)
			}
			if again := s.passes.tokens - (promptLen + most - 1); again > 20+64 {
				t.Errorf("%d tokens were computed again after 20 were taken back", again)
			}
			for _, step := range []string{"", " after it was archived"} {
				if step != "" {
					s.answer(s.begin(letters(480, 9), 1), nil, 2)
				}
				before := s.passes.tokens
				if got := s.answer(s.begin(turn, 20), nil, 21); !slices.Equal(got, wantTurn) {
					t.Errorf("the next turn%s:\n%v, alone\n%v", step, got, wantTurn)
				}
				if computed := s.passes.tokens - before; computed > 20+20+8 {
					t.Errorf("the next turn%s computes %d tokens", step, computed)
				}
			}
		})
	}
}

// Only memories that cannot be cut have checkpoints.
func TestBackend_TakesCheckpoints(t *testing.T) {
	full := Options{Slots: 2, Context: native.ContextOptions{FullWindowCache: true}}
	for _, c := range []struct {
		kind string
		o    Options
		want bool
	}{{"mamba", Options{Slots: 2}, true}, {"falcon-h1", full, true}, {"cohere2", Options{Slots: 2}, true}, {"cohere2", full, false}, {"embedder", Options{Slots: 2}, false},
		{"mamba", Options{Slots: 2, Lacks: Lacks{Saving: true}}, false}} {
		if got := openedSmall(t, c.kind, c.o).backend.TakesCheckpoints(); got != c.want {
			t.Errorf("%s, %+v: %v", c.kind, c.o, got)
		}
	}
}
