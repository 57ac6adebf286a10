// SPDX-License-Identifier: MIT

package kvcache_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// The digests that docs/routing.md describes, computed by another program: routers rely on them.
func TestDigests_AsDescribed(t *testing.T) {
	tokens := make([]kvcache.Token, 130)
	for i := range tokens {
		tokens[i] = kvcache.Token(1000 * i)
	}
	for n, want := range map[int][]string{
		63: nil, 64: {"f5d5bd7705f15b86"}, 130: {"f5d5bd7705f15b86", "d96604ac0d582c14"},
	} {
		var got []string
		for _, d := range kvcache.Digests(tokens[:n]) {
			got = append(got, d.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d tokens: %q, want %q", n, got, want)
		}
	}
}

// settled lists the prefixes once no digest is missing.
func (w world) settled() []kvcache.Prefix {
	w.Helper()
	for range 1000 {
		list := w.cache.Prefixes(1 << 20)
		if !slices.ContainsFunc(list, func(p kvcache.Prefix) bool { return len(p.Digests) < p.Blocks }) {
			return list
		}
	}
	w.Fatal("digests are still missing")
	return nil
}

// matched is how many tokens of a prompt a router expects to be found.
func matched(prefixes []kvcache.Prefix, tokens []kvcache.Token) (most int) {
	wanted := kvcache.Digests(tokens[:len(tokens)-1])
	for _, p := range prefixes {
		n := 0
		for n < min(len(p.Digests), len(wanted)) && p.Digests[n] == wanted[n] {
			n++
		}
		most = max(most, n*kvcache.BlockTokens)
	}
	return most
}

// Whatever was computed, taken over, shared, evicted, archived and restored: what the digests tell
// of a prompt is what the cache has of it.
func TestCache_Prefixes_TellWhatIsFound(t *testing.T) {
	hits := 0
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(t, scheduler.Limits{Cells: 4000, Context: 2000, Sequences: 4}, int64(seed%2)<<20)
		conversations := [][]kvcache.Token{prompt(70, 1)}
		for range 60 {
			before := conversations[random.IntN(len(conversations))]
			before = before[:random.IntN(len(before)+1)]
			tokens := slices.Concat(before, prompt(1+random.IntN(300), 2+random.IntN(3)))
			if len(tokens) > 1800 {
				continue
			}
			longest := w.cache.LongestPrefix(tokens, kvcache.Scope{})
			if got := matched(w.settled(), tokens); got != longest/kvcache.BlockTokens*kvcache.BlockTokens {
				t.Fatalf("seed %d: the digests tell of %d tokens, %d are there", seed, got, longest)
			} else if got > 0 {
				hits++
			}
			all, _ := w.answer(tokens, 1+random.IntN(100))
			conversations = append(conversations, all)
		}
	}
	if hits < 100 {
		t.Errorf("only %d prompts had something cached", hits)
	}
}

// A look computes only so many digests, those of what was used last first; and it is bounded.
func TestCache_Prefixes_AreBounded(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Cells: 30000, Context: 15000, Sequences: 2}, 0)
	w.answer(prompt(12000, 1), 1)
	w.answer(slices.Concat(prompt(1, 5), prompt(10000, 2)), 1)
	blocks := func(list []kvcache.Prefix) (n []int) {
		for _, p := range list {
			n = append(n, len(p.Digests))
		}
		return n
	}
	const each = 128 // mostHashed
	first, second := w.cache.Prefixes(1<<20), w.cache.Prefixes(1<<20)
	if a, b := blocks(first), blocks(second); !slices.Equal(a, []int{each, 0}) || !slices.Equal(b, []int{10001 / 64, 2*each - 10001/64}) {
		t.Errorf("the first look had %v digests, the second %v", a, b)
	}
	if first[0].Blocks != 10001/64 || first[1].Blocks != 12000/64 {
		t.Errorf("of %d and %d blocks", first[0].Blocks, first[1].Blocks)
	}
	if got := blocks(w.cache.Prefixes(200)); !slices.Equal(got, []int{10001 / 64, 200 - 10001/64}) {
		t.Errorf("of 200 digests at most it has %v", got)
	}
}

// Digests of a shorter conversation are not those of what was cut off.
func TestCache_Prefixes_AfterTruncate(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Cells: 1000, Context: 1000, Sequences: 1}, 0)
	tokens := prompt(300, 1)
	s, _ := w.acquire(tokens)
	w.compute(s, tokens)
	w.settled()
	w.cache.Truncate(s, 150)
	other := slices.Concat(tokens[:150], prompt(150, 2))
	w.compute(s, other)
	list := w.settled()
	if len(list) != 1 || !slices.Equal(list[0].Digests, kvcache.Digests(other)) {
		t.Errorf("%v, want %v", list, kvcache.Digests(other))
	}
}
