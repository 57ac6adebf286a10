// SPDX-License-Identifier: MIT

package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// BenchmarkFork is what a fork of a branch of 2,000 tokens takes, without computing its own token:
// a fresh one, and one into the sequence of a sibling that was dropped, by the layout of the
// cells. Copies are done in one go here; a tick bounds them. Recurrent models fork at their end.
func BenchmarkFork(b *testing.B) {
	const length = 2000
	for _, c := range []struct {
		name, kind, layout string
		from               int // so many of the branch's tokens are the fork's
	}{
		{"shared", "", "shared", length - 1}, {"split", "", "split", length - 1}, {"recurrent", "mamba", "shared", length},
	} {
		for _, sibling := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/sibling=%v", c.name, sibling), func(b *testing.B) {
				o := Options{Slots: 3, CacheSequences: 4, ContextSize: 4 * 4096, KVLayout: c.layout}
				var e *Engine
				if c.kind == "" {
					e = opened(b, o)
				} else {
					e = openedSmall(b, c.kind, o)
				}
				l := e.Backend().Limits()
				cache := kvcache.New(e.Backend(), kvcache.Options{Cells: l.Cells, Sequences: l.Sequences, Clock: time.Now})
				tokens := letters(length, 1)
				acquire := func(tokens []int32) *kvcache.Sequence {
					for {
						cache.BeginTick(kvcache.CopyTime{Prefix: 1 << 40, Archive: 1 << 40, Here: true})
						if seq, _ := cache.Acquire(kvcache.Claim{Tokens: tokens, PromptLen: len(tokens), Reuse: true}); seq != nil {
							return seq
						}
					}
				}
				branch := acquire(tokens)
				fill(b, e.Backend(), cache, branch, tokens)
				forked := append(tokens[:c.from:c.from], 7)
				b.ResetTimer()
				for b.Loop() {
					seq := acquire(forked)
					if seq.Len() != c.from {
						b.Fatalf("%d tokens are forked of %d", seq.Len(), c.from)
					}
					b.StopTimer()
					cache.Drop(seq)
					if !sibling {
						cache.EvictIdle()
					}
					b.StartTimer()
				}
			})
		}
	}
}

// fill computes all tokens of a sequence.
func fill(b *testing.B, backend scheduler.Backend, cache *kvcache.Cache, seq *kvcache.Sequence, tokens []int32) {
	b.Helper()
	for seq.Len() < len(tokens) {
		var batch scheduler.Batch
		n := min(len(tokens), seq.Len()+backend.Limits().Batch)
		for at := seq.Len(); at < n; at++ {
			batch.Add(tokens[at], int32(at), seq.ID(), at == n-1)
		}
		if !cache.Reserve(batch.Len()) {
			b.Fatal("no room")
		}
		if err := backend.Start(&batch); err != nil {
			b.Fatal(err)
		}
		if err := backend.Wait(); err != nil {
			b.Fatal(err)
		}
		cache.Append(seq, tokens[seq.Len():n])
	}
}
