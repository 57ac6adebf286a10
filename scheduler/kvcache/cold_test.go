// SPDX-License-Identifier: MIT

package kvcache_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

// coldWorld is a cache with a cold store.
type coldWorld struct {
	world
	cold *schedulertest.Cold
}

func newColdWorld(t *testing.T, archive int64, recurrent bool) coldWorld {
	b := schedulertest.New(scheduler.Limits{Cells: 8192, Context: 8192, Sequences: 3})
	b.Recurrent = recurrent
	cold, l := schedulertest.NewCold(b), b.Limits()
	return coldWorld{world{t, b, kvcache.New(b, kvcache.Options{Cells: l.Cells, Sequences: l.Sequences, ArchiveBytes: archive, Cold: cold,
		Checkpoints: kvcache.CheckpointOptions{Most: 8, MinStep: 1024, Bytes: 1 << 20}, Pieces: b.Pieces, Clock: b.Now})}, cold}
}

// rest lets time pass, and ticks as often as the cache asks for it until then.
func (w coldWorld) rest(d time.Duration) {
	end := w.Now().Add(d)
	for range 1000 {
		w.cache.BeginTick(patient)
		w.cache.SaveAhead()
		w.cache.OfferIdle()
		at, due := w.cache.Next()
		if !due {
			at, due = w.cache.NextOffer()
		}
		if !due || at.After(end) {
			w.Advance(end.Sub(w.Now()))
			return
		}
		w.Advance(max(at.Sub(w.Now()), time.Microsecond))
	}
	w.Fatal("the cache never rests")
}

// thaw restores for a request what the cold store has for it.
func (w coldWorld) thaw(tokens []kvcache.Token, scope kvcache.Scope) error {
	w.Helper()
	found, ok := w.cold.Find(kvcache.Digests(tokens), scope)
	if !ok {
		w.Fatal("nothing is found")
	}
	var err error
	w.cold.Fetch(found.ID, scope, func(saved *kvcache.Saved, _ error) {
		wait := kvcache.WaitCopy
		for range 1000 {
			w.cache.BeginTick(patient)
			if wait, err = w.cache.Thaw(saved, kvcache.Claim{Tokens: tokens, Scope: scope}); wait != kvcache.WaitCopy {
				break
			}
		}
		if wait != kvcache.WaitNone {
			w.Fatalf("it waits for %v", wait)
		}
		_ = saved.Close()
	})
	w.cold.Deliver()
	return err
}

// end frees everything.
func (w coldWorld) end() {
	w.Helper()
	w.cold.Clear()
	if w.cache.Close(); w.States != 0 {
		w.Errorf("%d states are left", w.States)
	}
}

// A conversation is offered once when it has rested, again when it has grown by a quarter, and not
// before or if it is short.
func TestCache_OfferIdle(t *testing.T) {
	for _, archive := range []int64{0, 1 << 20} {
		w := newColdWorld(t, archive, false)
		tokens := prompt(2100, 1)
		w.leave(tokens)
		w.leave(prompt(500, 2))
		for _, step := range []struct {
			more int
			rest time.Duration
			want int
		}{{0, 9 * time.Second, 0}, {0, 2 * time.Second, 1}, {0, time.Hour, 1}, {200, time.Hour, 1}, {600, time.Hour, 2}} {
			if step.more > 0 {
				tokens = append(tokens, prompt(step.more, step.more)...)
				w.leave(tokens)
			}
			if w.rest(step.rest); w.cold.Offered != step.want {
				t.Errorf("archive of %d, %+v: %d offered", archive, step, w.cold.Offered)
			}
		}
		w.agree()
		w.end()
	}
}

// Who wants the sequence, or another copy, does not wait for one that is made for the cold store,
// which is then made later.
func TestCache_OfferIdle_GivesWay(t *testing.T) {
	w := newColdWorld(t, 0, false)
	w.CopyCost = time.Microsecond
	long := prompt(4000, 1)
	w.leave(long)
	w.Advance(time.Minute)
	w.cache.SaveAhead() // there is nothing to save
	w.cache.BeginTick(kvcache.CopyTime{Ahead: time.Nanosecond})
	w.cache.OfferIdle()
	if !w.cache.Copying() {
		t.Fatal("nothing is copied")
	}
	s, wait := w.cache.Acquire(kvcache.Claim{Tokens: append(slices.Clone(long), 5), PromptLen: 4001, Reuse: true})
	if s == nil || s.Len() != 4000 || w.cold.Offered > 0 {
		t.Fatalf("it waits for %v, %d offered", wait, w.cold.Offered)
	}
	w.compute(s, append(slices.Clone(long), 5))
	w.cache.Release(s)
	if w.rest(time.Minute); w.cold.Offered != 1 {
		t.Errorf("%d offered", w.cold.Offered)
	}
	w.end()
}

// What leaves the archive for want of room is offered, unless it is short.
func TestCache_Retire(t *testing.T) {
	w := newColdWorld(t, 2*8*3000+2*4*4096, false)
	for seed := range 9 {
		w.leave(prompt(2500, seed))
		w.leave(prompt(300, 100+seed))
	}
	if n, _ := w.cold.Kept(); n == 0 || w.cold.Offered != n {
		t.Errorf("%d kept, %d offered", n, w.cold.Offered)
	}
	for _, seed := range []int{100, 101} {
		if _, ok := w.cold.Find(kvcache.Digests(prompt(300, seed)), kvcache.Scope{}); ok {
			t.Error("a short one is offered")
		}
	}
	w.end()
}

// At the end everything is offered that is worth it, in cache and archive, and not what is stored.
func TestCache_OfferAll(t *testing.T) {
	w := newColdWorld(t, 1<<20, false)
	w.leave(prompt(3000, 1))
	w.rest(time.Minute)
	for seed := 2; seed < 6; seed++ {
		w.leave(prompt(3000, seed))
	}
	before := w.cold.Offered
	w.cache.OfferAll()
	for seed := 1; seed < 6; seed++ {
		if found, ok := w.cold.Find(kvcache.Digests(prompt(3000, seed)), kvcache.Scope{}); !ok || found.Usable < 2944 {
			t.Errorf("conversation %d: %+v, %v", seed, found, ok)
		}
	}
	if again := w.cold.Ended; again+before != w.cold.Offered || again == 0 {
		t.Errorf("%d offered before, %d at the end, %d in all", before, again, w.cold.Offered)
	}
	n := w.cold.Offered
	if w.cache.OfferAll(); w.cold.Offered != n {
		t.Error("what is stored is offered again")
	}
	w.end()
}

// Of a conversation only what the request can use comes back, and it computes the rest as if it
// had computed all.
func TestCache_Thaw(t *testing.T) {
	for name, cuts := range map[string][]int{"cuttable": {3000, 2999, 2000, 1500}, "recurrent": {3000, 2999}} {
		t.Run(name, func(t *testing.T) {
			recurrent := name == "recurrent"
			w := newColdWorld(t, 0, recurrent)
			s, tokens := w.write(3000, 1, 0)
			w.cache.Release(s)
			w.cache.OfferAll()
			for i, cut := range cuts {
				w.cache.EvictIdle()
				other := append(slices.Clone(tokens[:cut]), prompt(200, 50+i)...)
				must.Do(t, w.thaw(other, kvcache.Scope{}))
				s, found := w.acquire(other)
				if found != cut && !(recurrent && cut == 2999 && found == 2996) {
					t.Errorf("%d of %d tokens found", found, cut)
				}
				w.compute(s, other) // which checks what the model says
				w.agree()
				w.cache.Release(s)
			}
			w.end()
		})
	}
}

// A part of a conversation comes back without the checkpoints of the rest: the sequence goes on
// with other tokens, of which those hold nothing.
func TestCache_Thaw_PartHasNoLaterCheckpoints(t *testing.T) {
	w := newColdWorld(t, 0, false)
	w.Window, w.Slack = 4000, 8
	w.cache = kvcache.New(w.Backend, kvcache.Options{Cells: 8192, Sequences: 3, Cold: w.cold,
		Checkpoints: kvcache.CheckpointOptions{Most: 8, MinStep: 1024, Bytes: 1 << 20}, Pieces: w.Pieces, Clock: w.Now})
	s, tokens := w.write(3000, 1, 0)
	w.cache.Release(s)
	w.cache.OfferAll()
	w.cache.EvictIdle()
	other := append(slices.Clone(tokens[:1500]), prompt(1400, 50)...)
	must.Do(t, w.thaw(other, kvcache.Scope{}))
	s, found := w.acquire(other)
	if found != 1500 {
		t.Errorf("%d tokens found", found)
	}
	long := append(other, prompt(4500, 51)...)
	w.compute(s, long)
	w.cache.Release(s)
	again := append(slices.Clone(long[:3050]), prompt(10, 52)...)
	s, _ = w.acquire(again)
	w.compute(s, again) // which checks what the model says
	w.end()
}

// What is of another scope, or begins otherwise, is refused whatever the store says.
func TestCache_Thaw_Others(t *testing.T) {
	w := newColdWorld(t, 0, false)
	tokens := prompt(2200, 1)
	w.leave(tokens)
	w.cache.OfferAll()
	w.cache.EvictIdle()
	found, _ := w.cold.Find(kvcache.Digests(tokens), kvcache.Scope{})
	for name, claim := range map[string]kvcache.Claim{
		"salt":     {Tokens: tokens, Scope: kvcache.Scope{Salt: "other"}},
		"adapters": {Tokens: tokens, Scope: kvcache.Scope{Adapters: "1:1 "}},
		"tokens":   {Tokens: prompt(2200, 2)},
	} {
		w.cold.Fetch(found.ID, kvcache.Scope{}, func(saved *kvcache.Saved, _ error) {
			if _, err := w.cache.Thaw(saved, claim); !errors.Is(err, kvcache.ErrState) {
				t.Errorf("another %s: %v", name, err)
			}
			_ = saved.Close()
		})
		w.cold.Deliver()
	}
	if w.cache.LongestPrefix(tokens, kvcache.Scope{}) > 0 {
		t.Error("something was restored")
	}
	w.end()
}

// What a client has erased is on no disk any more.
func TestCache_Erase_IsForgotten(t *testing.T) {
	w := newColdWorld(t, 0, false)
	name := w.leave(prompt(2200, 1))
	w.leave(prompt(2200, 2))
	w.cache.OfferAll()
	if n, wait := w.cache.Erase(name, ""); n != 2200 || wait != kvcache.WaitNone {
		t.Fatalf("%d erased, it waits for %v", n, wait)
	}
	if _, ok := w.cold.Find(kvcache.Digests(prompt(2200, 1)), kvcache.Scope{}); ok {
		t.Error("it is still there")
	}
	if _, ok := w.cold.Find(kvcache.Digests(prompt(2200, 2)), kvcache.Scope{}); !ok {
		t.Error("another one is gone, too")
	}
	w.end()
}

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
