// SPDX-License-Identifier: MIT

package kvcache_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

// newRecurrentWorld is a cache of a memory that cannot be cut.
func newRecurrentWorld(t *testing.T, o kvcache.CheckpointOptions) world {
	b := schedulertest.New(scheduler.Limits{})
	b.Recurrent = true
	l := b.Limits()
	return world{t, b, kvcache.New(b, kvcache.Options{Cells: l.Cells, Sequences: l.Sequences, ArchiveBytes: 1 << 20, Checkpoints: o, Clock: b.Now})}
}

// write computes a prompt and then so many tokens one by one, with checkpoints as they are due. It
// leaves the sequence running.
func (w world) write(n, seed, most int) (s *kvcache.Sequence, tokens []kvcache.Token) {
	w.Helper()
	tokens = prompt(n, seed)
	s, _ = w.acquire(tokens)
	for s.Len() < n+most {
		if s.Len() < n {
			w.compute(s, tokens[:s.Len()+min(n-s.Len(), s.Uninterrupted())])
		} else {
			tokens = append(tokens, kvcache.Token(1+s.Len()%200))
			w.compute(s, tokens)
		}
		w.cache.Checkpoint(s, time.Hour)
	}
	return s, tokens
}

// Going back in an answer costs little at its end, and the more the further it goes back; never
// much more than that.
func TestCache_Truncate_GoesBackToACheckpoint(t *testing.T) {
	for _, back := range []int{1, 5, 31, 32, 33, 70, 200, 500, 800, 950, 1050} {
		w := newRecurrentWorld(t, kvcache.CheckpointOptions{Most: 32, MinStep: 8192, Bytes: 1 << 20})
		s, tokens := w.write(100, 1, 1000)
		n := len(tokens) - back
		kept := w.cache.Truncate(s, n)
		if w.agree(); kept != s.Len() || kept > n || n-kept > back+64 {
			t.Errorf("%d tokens back of %d: %d are kept", back, len(tokens), kept)
		}
		w.compute(s, tokens[:n]) // which checks what the model says there
	}
}

// There are never more checkpoints than are allowed, nor do they take more bytes, and all are
// freed in the end.
func TestCache_Checkpoint_Bounds(t *testing.T) {
	for _, o := range []kvcache.CheckpointOptions{{Most: 3, MinStep: 16, Bytes: 1 << 20}, {Most: 32, MinStep: 16, Bytes: 80}, {Most: 1, MinStep: 0, Bytes: 1 << 20}, {Most: 32, Bytes: 8}, {}} {
		w := newRecurrentWorld(t, o)
		for seed := range 3 {
			s, _ := w.write(200, seed, 200)
			w.cache.Release(s)
			if most := 3*o.Most + min(o.Most, 2); w.States > most || int64(w.StateBytes) > o.Bytes {
				t.Errorf("%+v: %d checkpoints take %d bytes", o, w.States, w.StateBytes)
			}
		}
		if want := o.Most > 0 && o.Bytes > 8; (w.Checkpoints > 1) != want { // the first one tells how large they are
			t.Errorf("%+v: %d checkpoints were taken", o, w.Checkpoints)
		}
		if w.cache.Close(); w.States != 0 {
			t.Errorf("%+v: %d are left", o, w.States)
		}
	}
}

// An entry of the archive has the checkpoints of the sequence that it was saved from, beyond the
// life of that.
func TestCache_Archive_KeepsCheckpoints(t *testing.T) {
	w := newRecurrentWorld(t, kvcache.CheckpointOptions{Most: 32, MinStep: 8192, Bytes: 1 << 20})
	s, tokens := w.write(300, 1, 100)
	w.cache.Release(s)
	for w.cache.EvictIdle() {
	}
	parted := slices.Concat(tokens[:298], prompt(40, 9))
	s, found := w.acquire(parted)
	if w.compute(s, parted); found != 296 || w.Restored != 1 {
		t.Errorf("%d tokens were found, %d states put back; want 296 and 1", found, w.Restored)
	}
	w.agree()
	w.cache.Release(s)
	if w.cache.Close(); w.States != 0 {
		t.Errorf("%d states are left", w.States)
	}
}

// A conversation that is restored has the checkpoints that it was saved with, also where others
// take all the room that there is; these go before those of the one that goes on.
func TestCache_Import_HasCheckpoints(t *testing.T) {
	for _, full := range []bool{false, true} {
		w := newRecurrentWorld(t, kvcache.CheckpointOptions{Most: 8, MinStep: 32, Bytes: 8 * 8})
		s, tokens := w.write(100, 1, 0)
		w.cache.Release(s)
		var saved *kvcache.Saved
		w.cache.Export(s.Conversation(), "", func(all *kvcache.Saved, _ error) { saved = all })
		if w.cache.Erase(s.Conversation(), ""); len(saved.Checkpoints) == 0 {
			t.Fatal("no checkpoints are saved")
		}
		for seed := 2; full && seed < 4; seed++ {
			s, _ := w.write(200, seed, 200)
			w.cache.Release(s)
		}
		if _, wait, err := w.cache.Import(saved); wait != kvcache.WaitNone || err != nil {
			t.Fatalf("it waits for %v, %v", wait, err)
		}
		must.Do(t, saved.Close())
		parted := slices.Concat(tokens[:98], prompt(40, 9))
		s, found := w.acquire(parted)
		if w.compute(s, parted); found != 96 {
			t.Errorf("full %v: %d tokens were found, want 96", full, found)
		}
		w.agree()
		w.cache.Release(s)
		if w.cache.Close(); w.States != 0 || w.StateBytes != 0 {
			t.Errorf("full %v: %d states are left", full, w.States)
		}
	}
}

// Around the length of a sliding window, what is cut, shared, archived or exported goes on as the
// model says; only what a window has lost is computed again.
func TestCache_Window_BeforeAndBeyondItsEnd(t *testing.T) {
	const window = 64
	for n := window - 2; n <= window+2; n++ {
		for _, back := range []int{0, 1, 2, n / 3} {
			for _, way := range []string{"cut", "shared", "archived", "imported"} {
				t.Run(fmt.Sprintf("%s %d of %d", way, n-back, n), func(t *testing.T) {
					b := schedulertest.New(scheduler.Limits{Cells: 1000, Sequences: 3})
					b.Window = window
					w := world{t, b, newCache(b, b, 1<<20)}
					tokens := prompt(n, 1)
					s, _ := w.acquire(tokens)
					w.compute(s, tokens)
					if way != "shared" {
						w.cache.Release(s)
					}
					switch way {
					case "archived":
						w.cache.EvictIdle()
					case "imported":
						var saved *kvcache.Saved
						w.cache.Export(s.Conversation(), "", func(all *kvcache.Saved, _ error) { saved = all })
						w.cache.Erase(s.Conversation(), "")
						if _, wait, err := w.cache.Import(saved); wait != kvcache.WaitNone || err != nil {
							t.Fatalf("it waits for %v, %v", wait, err)
						}
						_ = saved.Close()
					}
					r := slices.Concat(tokens[:n-back], prompt(5, 9))
					s, found := w.acquire(r)
					if want := n - back; n <= window && (way != "archived" || want >= window) && found != want {
						t.Errorf("%d tokens found, want %d", found, want)
					} else if back == 0 && found != n && (way != "archived" || n >= window) {
						t.Errorf("%d tokens found of all %d", found, n)
					}
					w.compute(s, r)
					w.agree()
				})
			}
		}
	}
}
