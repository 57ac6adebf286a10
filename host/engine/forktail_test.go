// SPDX-License-Identifier: MIT

package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/tools/must"
)

// branches computes the branches of a request with a real model, as the scheduler does.
type branches struct {
	t     *testing.T
	b     scheduler.Backend
	cache *kvcache.Cache
}

// step gets cells for some tokens, computes what is missing, and returns the row after the last
// with how many tokens that took.
func (w *branches) step(seq *kvcache.Sequence, tokens []int32) (after *kvcache.Sequence, row []float32, computed int) {
	w.t.Helper()
	for seq == nil {
		w.cache.BeginTick(kvcache.CopyTime{Prefix: 1 << 40, Archive: 1 << 40, Here: true})
		seq, _ = w.cache.Acquire(kvcache.Claim{Tokens: tokens, PromptLen: len(tokens), Reuse: true})
	}
	var batch scheduler.Batch
	at := seq.Len()
	for i, token := range tokens[at:] {
		batch.Add(token, int32(at+i), seq.ID(), at+i == len(tokens)-1)
	}
	if !w.cache.Reserve(batch.Len()) {
		w.t.Fatal("no room")
	}
	must.Do(w.t, w.b.Start(&batch))
	must.Do(w.t, w.b.Wait())
	w.cache.Append(seq, tokens[at:])
	return seq, slices.Clone(w.b.Row(0)), batch.Len()
}

// The branches of a beam search are forked again and again, into those that were dropped: each
// step computes one token for each branch, in both layouts of cells, and what a fork says is what
// its tokens say in a sequence of their own. Recurrent models fork at their end; models with
// sliding windows share the whole.
func TestBackend_Fork_GoesOnAsItsTokensSay(t *testing.T) {
	for name, c := range map[string]struct {
		kind   string
		layout string
		most   float32 // by which logits may differ; a split sequence's cells lie in the order of its tokens, so its sums are the same to the bit
	}{
		"split": {"", "split", 0}, "shared": {"", "shared", 0.2},
		"recurrent": {"mamba", "shared", 0.02}, "hybrid": {"falcon-h1", "shared", 0.02},
		"sliding window": {"cohere2", "shared", 0.02}, "sliding window, split": {"cohere2", "split", 0.02},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Slots: 3, CacheSequences: 4, ContextSize: 4096, KVLayout: c.layout}
			e := openedSmall(t, c.kind, o)
			l := e.Backend().Limits()
			w := &branches{t, e.Backend(), kvcache.New(e.Backend(), kvcache.Options{Cells: l.Cells, Sequences: l.Sequences, Clock: time.Now})}
			tokens := make([]int32, 200)
			for i := range tokens {
				tokens[i] = int32(20 + i%100)
			}
			first, row, _ := w.step(nil, tokens)
			var other *kvcache.Sequence
			for step := range 4 {
				best := int32(slices.Index(row, slices.Max(row)))
				if other != nil {
					w.cache.Drop(other)
				}
				forked := append(slices.Clone(tokens), 30+int32(step))
				var got []float32
				computed := 0
				if other, got, computed = w.step(nil, forked); computed != 1 {
					t.Errorf("step %d: %d tokens were computed for a fork with one token of its own", step, computed)
				}
				tokens = append(tokens, best)
				if _, row, computed = w.step(first, tokens); computed != 1 {
					t.Errorf("step %d: the branch that was forked computed %d tokens", step, computed)
				}
				alone, want := w.alone(forked)
				w.cache.Drop(alone)
				if d := distance(got, want); d > c.most {
					t.Errorf("step %d: the fork's logits are off by %v", step, d)
				}
			}
		})
	}
}

// alone is the row after some tokens in a sequence of their own.
func (w *branches) alone(tokens []int32) (*kvcache.Sequence, []float32) {
	w.cache.BeginTick(kvcache.CopyTime{Prefix: 1 << 40, Archive: 1 << 40, Here: true})
	seq, _ := w.cache.Acquire(kvcache.Claim{Tokens: tokens, PromptLen: len(tokens)})
	seq, row, _ := w.step(seq, tokens)
	return seq, row
}
