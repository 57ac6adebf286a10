// SPDX-License-Identifier: MIT

package diskcache

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// A conversation outlives the process, and is found by whatever begins as it does.
func TestStore_OutlivesTheProcess(t *testing.T) {
	dir := t.TempDir()
	list := tokens(3000, 1)
	w := open(t, dir, nil)
	w.Tier("m", w.states).Offer(w.states.conversation(list, 9<<20), false)
	w.end() // which writes what was offered
	w = open(t, dir, nil)
	tier := w.Tier("m", w.states)
	w.settle()
	found, ok := tier.Find(kvcache.Digests(append(slices.Clone(list[:1000]), tokens(500, 9)...)), kvcache.Scope{})
	if !ok || found.Common != 960 || found.Usable != 960 || found.Tokens != 3000 || found.Computing != time.Minute || found.Reading <= 0 {
		t.Errorf("%+v, %v", found, ok)
	}
	if !w.has(tier, list, kvcache.Scope{}, 9<<20) {
		t.Error("it does not come back")
	}
	if s := w.Stats(); s.Files != 1 || s.Read != 1 || s.ReadBytes != s.Bytes || s.Bytes < 9<<20 {
		t.Errorf("%+v", s)
	}
}

// What was computed otherwise, or for another client, is not found, whatever the tokens are.
func TestStore_OthersFindNothing(t *testing.T) {
	w := open(t, t.TempDir(), nil)
	tier := w.Tier("m", w.states)
	list := tokens(600, 1)
	own := kvcache.Scope{Salt: "a", Adapters: "1:1 ", From: 5}
	s := w.states.conversation(list, 1000)
	s.Scope = own
	tier.Offer(s, false)
	w.settle()
	if !w.has(tier, list, own, 1000) {
		t.Error("its own client does not find it")
	}
	for _, other := range []kvcache.Scope{{}, {Salt: "b", Adapters: "1:1 ", From: 5}, {Adapters: "1:1 ", From: 5}, {Salt: "a"}, {Salt: "a", Adapters: "2:1 ", From: 5},
		{Salt: "a", Adapters: "1:1 ", From: 6}, {Salt: "a", Adapters: "gone"}} {
		if s := w.fetch(tier, list, other); s != nil {
			t.Errorf("%+v finds it", other)
		}
	}
	if s := w.fetch(w.Tier("m with quantised cells", w.states), list, own); s != nil {
		t.Error("another model finds it")
	}
}

// A file is not even readable with another client's salt.
func TestStore_Fetch_NeedsTheSalt(t *testing.T) {
	w := open(t, t.TempDir(), nil)
	tier := w.Tier("m", w.states)
	list := tokens(600, 1)
	s := w.states.conversation(list, 1000)
	s.Scope.Salt = "a"
	tier.Offer(s, false)
	w.settle()
	found, _ := tier.Find(kvcache.Digests(list), kvcache.Scope{Salt: "a"})
	done := make(chan error)
	tier.Fetch(found.ID, kvcache.Scope{Salt: "b"}, func(_ *kvcache.Saved, err error) { done <- err })
	if err := <-done; !errors.Is(err, errDamaged) {
		t.Errorf("got %v", err)
	}
}

// Of random conversations of many clients, models and adapters nobody finds another's, though all
// begin alike.
func TestStore_RandomScopes_NeverCross(t *testing.T) {
	rng := steadytest.Rand(t)
	w := open(t, t.TempDir(), nil)
	tiers := []*Tier{w.Tier("m", w.states), w.Tier("n", w.states)}
	list := tokens(128, 1)
	digests := kvcache.Digests(list)
	scope := func() kvcache.Scope {
		s := kvcache.Scope{Salt: []string{"", "a", "b", "ab", "key-1", "key-11"}[rng.IntN(6)], From: rng.IntN(3)}
		if rng.IntN(2) == 0 {
			s.Adapters = []string{"1:1 ", "1:1 2:1 ", "11:1 "}[rng.IntN(3)]
		}
		return s
	}
	type place struct {
		tier int
		kvcache.Scope
	}
	normal := func(tier int, s kvcache.Scope) place {
		if s.Adapters == "" {
			s.From = 0
		}
		return place{tier, s}
	}
	owners := map[uint64]place{}
	for range 40 {
		n, s := rng.IntN(2), scope()
		in, _ := tiers[n].space(s)
		w.mu.Lock()
		e := &entry{name: fmt.Sprint(len(owners)), bytes: 1, in: in, digests: digests, about: about{Tokens: 128, Cuttable: true}}
		w.index.add(e)
		owners[e.id] = normal(n, s)
		w.mu.Unlock()
	}
	for range steadytest.InLongTest(100_000, 5000) {
		n, s := rng.IntN(2), scope()
		if found, ok := tiers[n].Find(digests, s); ok && owners[found.ID] != normal(n, s) {
			t.Fatalf("%+v of model %d finds what is %+v's", s, n, owners[found.ID])
		}
	}
}

// What grows is written anew when it has grown by a quarter, in the place of what it begins with,
// and at the end when it has grown by what is worth a file.
func TestStore_Offer_Growing(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, nil)
	tier := w.Tier("m", w.states)
	all := tokens(6000, 1)
	for _, step := range []struct {
		n     int
		end   bool
		wrote int64
	}{{2000, false, 1}, {2000, false, 1}, {2400, false, 1}, {2600, false, 2}, {2600 + 400, true, 2}, {2600 + 600, true, 3}} {
		tier.Offer(w.states.conversation(all[:step.n], 1000), step.end)
		if w.settle(); w.Stats().Wrote != step.wrote || len(files(t, dir)) != 1 {
			t.Errorf("%+v: %+v, files %v", step, w.Stats(), files(t, dir))
		}
	}
	if !w.has(tier, all[:3200], kvcache.Scope{}, 1000) {
		t.Error("the last one is not there")
	}
}

// A memory that cannot be cut gives back what a checkpoint is of, or all. Three are kept.
func TestStore_Checkpoints(t *testing.T) {
	w := open(t, t.TempDir(), nil)
	tier := w.Tier("m", w.states)
	list := tokens(1000, 1)
	s := w.states.conversation(list, 1000)
	s.Cuttable, s.Prompt = false, 800
	for _, n := range []int{300, 500, 796, 900, 990} {
		s.Checkpoints = append(s.Checkpoints, kvcache.SavedCheckpoint{N: n, State: w.states.make(contentsOf(list, n))})
	}
	tier.Offer(s, false)
	w.settle()
	for n, want := range map[int]int{1000: 960, 999: 960, 900: 796, 700: 300, 200: 0} {
		if found, ok := tier.Find(kvcache.Digests(list[:n]), kvcache.Scope{}); !ok || found.Usable != want {
			t.Errorf("%d tokens: %+v, want %d", n, found, want)
		}
	}
	got := w.fetch(tier, list, kvcache.Scope{})
	if got == nil || len(got.Checkpoints) != 3 || got.Cuttable || got.Prompt != 800 {
		t.Fatalf("%+v", got)
	}
	for i, n := range []int{300, 796, 990} {
		if p := got.Checkpoints[i]; p.N != n || !slices.Equal(p.State.Contents(), contentsOf(list, n)) {
			t.Errorf("checkpoint %d is at %d", i, p.N)
		}
	}
	_ = got.Close()
}

// The files never take more than they may. What no model can read goes first, then what nobody
// continued, then what was used least recently; a conversation of more than half is not written.
func TestStore_Bytes_AreBounded(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, func(o *Options) { o.Bytes = 100_000 })
	tier, other := w.Tier("m", w.states), w.Tier("of before", w.states)
	offer := func(tier *Tier, seed, size int, continued bool) {
		s := w.states.conversation(tokens(600, seed), size)
		s.Continued = continued
		tier.Offer(s, false)
		w.settle()
		if s := w.Stats(); s.Bytes > 100_000 {
			t.Errorf("they take %d bytes", s.Bytes)
		}
	}
	there := func(tier *Tier, seed int) bool {
		_, ok := tier.Find(kvcache.Digests(tokens(600, seed)), kvcache.Scope{})
		return ok
	}
	offer(tier, 1, 20_000, true)
	offer(tier, 2, 20_000, false)
	offer(other, 3, 20_000, true)
	_ = other.Close()
	offer(tier, 4, 20_000, true)
	offer(tier, 5, 45_000, true)
	if other := w.Tier("of before", w.states); there(other, 3) || there(tier, 2) || !there(tier, 1) || !there(tier, 4) || !there(tier, 5) {
		t.Error("others should be there")
	}
	if !w.has(tier, tokens(600, 1), kvcache.Scope{}, 20_000) {
		t.Error("it should be there")
	}
	if offer(tier, 6, 20_000, true); there(tier, 4) || !there(tier, 1) {
		t.Error("not the one that was used least recently is gone")
	}
	if offer(tier, 7, 60_000, true); there(tier, 7) {
		t.Error("one conversation takes more than half")
	}
	if n := len(files(t, dir)); int64(n) != w.Stats().Files {
		t.Errorf("%d files, and %+v", n, w.Stats())
	}
}

// A full disk is told once, and nothing is written for a while; what is there is read on.
func TestStore_DiskIsFull(t *testing.T) {
	var log strings.Builder
	w := open(t, t.TempDir(), func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	tier := w.Tier("m", w.states)
	tier.Offer(w.states.conversation(tokens(600, 1), 1000), false)
	w.settle()
	write, tries := w.create, 0
	w.create = func(*os.Root, string, fs.FileMode, func(*os.File) error) (fs.FileInfo, error) {
		tries++
		return nil, &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	}
	for seed := 2; seed < 5; seed++ {
		tier.Offer(w.states.conversation(tokens(600, seed), 1000), false)
		w.settle()
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 || tries != 1 || w.Stats().Dropped != 3 {
		t.Errorf("%d tries, %+v, logged %d times:\n%s", tries, w.Stats(), n, &log)
	}
	if !w.has(tier, tokens(600, 1), kvcache.Scope{}, 1000) {
		t.Error("what is there is not read")
	}
	w.create = write
	w.mu.Lock()
	w.paused = time.Time{} // a minute later
	w.mu.Unlock()
	tier.Offer(w.states.conversation(tokens(600, 5), 1000), false)
	if w.settle(); w.Stats().Files != 2 {
		t.Errorf("%+v", w.Stats())
	}
}

// Some of the disk stays free, but no more of a large one than is of use. That nothing is written
// is told once.
func TestStore_DiskIsNearlyFull(t *testing.T) {
	const mb, gb = 1 << 20, 1 << 30
	for _, c := range []struct {
		free, whole, files uint64
		bytes              int
	}{
		{free: 6 * mb, whole: 100 * mb, files: 1}, {free: 5 * mb, whole: 100 * mb},
		{free: gb + 1*mb, whole: 4000 * gb, files: 1}, {free: gb, whole: 4000 * gb},
		{free: gb + 2*mb, whole: 4000 * gb, bytes: 3 * mb}, {free: gb + 4*mb, whole: 4000 * gb, bytes: 3 * mb, files: 1},
	} {
		var log strings.Builder
		w := open(t, t.TempDir(), func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		w.disk = func(string) (uint64, uint64, bool) { return c.free, c.whole, true }
		tier := w.Tier("m", w.states)
		for seed := range 3 {
			tier.Offer(w.states.conversation(tokens(600, seed), max(c.bytes, 1000)), false)
			w.settle()
		}
		want := Stats{Dropped: 3}
		if c.files > 0 {
			want = Stats{Files: 3, Wrote: 3}
		}
		got, warned := w.Stats(), strings.Count(log.String(), "level=WARN")
		if got.Files != want.Files || got.Wrote != want.Wrote || got.Dropped != want.Dropped || warned != int(1-c.files) {
			t.Errorf("%+v: %+v, logged\n%s", c, got, &log)
		}
		if warned > 0 && !strings.Contains(log.String(), "stay free") {
			t.Errorf("%+v: it does not say why:\n%s", c, &log)
		}
		w.end()
	}
}

// What waits to be written takes no more memory than it may, besides one conversation of any size.
func TestTier_Offer_MemoryIsBounded(t *testing.T) {
	w := open(t, t.TempDir(), func(o *Options) { o.Memory = 1000 })
	tier := w.Tier("m", w.states)
	w.settle()
	written := make(chan struct{})
	write := w.create
	w.create = func(r *os.Root, name string, mode fs.FileMode, fill func(*os.File) error) (fs.FileInfo, error) {
		<-written
		return write(r, name, mode, fill)
	}
	for seed, size := range []int{5000, 500, 400, 200} {
		tier.Offer(w.states.conversation(tokens(600, seed), size), false)
	}
	if n := w.states.open.Load(); n != 1 {
		t.Errorf("%d are in memory", n)
	}
	close(written)
	w.settle()
	if s := w.Stats(); s.Wrote != 1 || s.Dropped != 3 {
		t.Errorf("%+v", s)
	}
}

// At the end what is offered waits for room, until the time is up.
func TestTier_Offer_AtTheEnd(t *testing.T) {
	for name, late := range map[string]bool{"in time": false, "too late": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			w := open(t, dir, func(o *Options) { o.Memory = 1000 })
			tier := w.Tier("m", w.states)
			w.settle()
			if w.EndBy(time.Now().Add(time.Hour)); late {
				w.EndBy(time.Now().Add(-time.Second))
			}
			for seed := range 5 {
				if more := tier.Offer(w.states.conversation(tokens(600, seed), 900), true); more == late {
					t.Errorf("conversation %d: more %v", seed, more)
				}
			}
			if w.end(); late != (len(files(t, dir)) == 0) || !late && len(files(t, dir)) != 5 {
				t.Errorf("%d are written", len(files(t, dir)))
			}
		})
	}
}

// A conversation that cannot be read, as without memory for it, leaves no file that nobody counts.
func TestStore_Fetch_Fails(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, nil)
	list := tokens(600, 1)
	w.Tier("m", w.states).Offer(w.states.conversation(list, 1000), false)
	w.settle()
	if w.fetch(w.Tier("m", noStates{w.states}), list, kvcache.Scope{}) != nil {
		t.Error("it is read")
	}
	if w.settle(); len(files(t, dir)) != 0 || w.Stats().Bytes != 0 || w.Stats().Damaged != 0 {
		t.Errorf("%+v, files %v", w.Stats(), files(t, dir))
	}
}

// What is offered at the end comes in the order of its last use, the latest first: so the first
// stays where there is no room for all, also at the next start.
func TestTier_Offer_AtTheEnd_FirstStays(t *testing.T) {
	dir := t.TempDir()
	few := func(o *Options) { o.Bytes = 100_000 }
	there := func(tier *Tier) (seeds []int) {
		for seed := range 4 {
			if _, ok := tier.Find(kvcache.Digests(tokens(600, seed)), kvcache.Scope{}); ok {
				seeds = append(seeds, seed)
			}
		}
		return seeds
	}
	w := open(t, dir, few)
	tier := w.Tier("m", w.states)
	tier.Offer(w.states.conversation(tokens(600, 3), 40_000), false)
	w.settle()
	for _, e := range w.index.byID {
		e.used = e.used.Add(-time.Hour)
	}
	for seed := range 3 {
		tier.Offer(w.states.conversation(tokens(600, seed), 40_000), true)
	}
	if w.settle(); !slices.Equal(there(tier), []int{0, 1}) {
		t.Errorf("conversations %v stay", there(tier))
	}
	w.end()
	w = open(t, dir, few)
	tier = w.Tier("m", w.states)
	w.settle()
	tier.Offer(w.states.conversation(tokens(600, 3), 40_000), false)
	if w.settle(); !slices.Equal(there(tier), []int{0, 3}) {
		t.Errorf("after the next start conversations %v stay", there(tier))
	}
}

// A model's end takes no longer than all that it offers may take together.
func TestTier_Offer_AtTheEnd_TimeIsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		states := &states{}
		s := &Store{changed: make(chan struct{}), options: Options{Bytes: 1 << 30}, held: 1}
		var writer sync.WaitGroup
		defer writer.Wait()
		writer.Go(func() {
			for range 3 { // conversations that are written
				time.Sleep(partingTime * 2 / 5)
				s.mu.Lock()
				s.held = 0
				s.tell()
				s.mu.Unlock()
			}
		})
		tier, begin := &Tier{store: s}, time.Now()
		for seed, want := range []bool{true, true, false} {
			if more := tier.Offer(states.conversation(tokens(600, seed), 900), true); more != want {
				t.Errorf("conversation %d: more %v", seed, more)
			}
		}
		if took := time.Since(begin); took != partingTime {
			t.Errorf("it takes %v", took)
		}
	})
}

// Of two processes with the same folder one writes, until it ends, and both read.
func TestStore_TwoProcesses(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, nil)
	one := first.Tier("m", first.states)
	one.Offer(first.states.conversation(tokens(600, 1), 1000), false)
	first.settle()
	second := open(t, dir, nil)
	two := second.Tier("m", second.states)
	if second.settle(); !second.has(two, tokens(600, 1), kvcache.Scope{}, 1000) {
		t.Error("the second one does not read")
	}
	two.Offer(second.states.conversation(tokens(600, 2), 1000), false)
	if second.settle(); len(files(t, dir)) != 1 {
		t.Error("both write")
	}
	one.Offer(first.states.conversation(tokens(600, 3), 1000), false)
	first.settle()
	first.end()
	second.mu.Lock()
	second.locked = time.Time{} // a while later
	second.mu.Unlock()
	two.Offer(second.states.conversation(tokens(600, 2), 1000), false)
	if second.settle(); len(files(t, dir)) != 3 || !second.has(two, tokens(600, 3), kvcache.Scope{}, 1000) || !second.has(two, tokens(600, 2), kvcache.Scope{}, 1000) {
		t.Errorf("the second one has %+v of %d files", second.Stats(), len(files(t, dir)))
	}
}

// What a client has erased is gone, with what goes on with it, also while it is being written.
// What only begins alike stays.
func TestTier_Erase(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, nil)
	tier := w.Tier("m", w.states)
	list := tokens(1000, 1)
	sibling := append(slices.Clone(list[:500]), tokens(500, 2)...)
	tier.Offer(w.states.conversation(list, 1000), false)
	tier.Offer(w.states.conversation(sibling, 1000), false)
	w.settle()
	tier.Erase(kvcache.Digests(list[:800]), kvcache.Scope{Salt: "other"})
	if len(files(t, dir)) != 2 {
		t.Error("another client has erased it")
	}
	tier.Erase(kvcache.Digests(list[:800]), kvcache.Scope{})
	if w.settle(); len(files(t, dir)) != 1 || !w.has(tier, sibling, kvcache.Scope{}, 1000) {
		t.Errorf("%d files are left", len(files(t, dir)))
	}
	tier.Offer(w.states.conversation(list, 1<<20), false)
	tier.Erase(kvcache.Digests(list), kvcache.Scope{})
	if w.settle(); len(files(t, dir)) != 1 {
		t.Errorf("%d files are left", len(files(t, dir)))
	}
}

// A file that a crash has torn is removed at the next start, or when it is read; files of another
// key are left alone, and only take room.
func TestStore_TornAndForeignFiles(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, nil)
	tier := w.Tier("m", w.states)
	for seed := range 3 {
		tier.Offer(w.states.conversation(tokens(600, seed), 1000), false)
	}
	w.settle()
	w.end()
	names := files(t, dir)
	must.Do(t, os.Truncate(filepath.Join(dir, names[0]), 500))
	damaged := must.Get(os.ReadFile(filepath.Join(dir, names[1])))(t)
	damaged[len(damaged)-1] ^= 1
	must.Do(t, os.WriteFile(filepath.Join(dir, names[1]), damaged, 0o600))
	keyFile := filepath.Join(t.TempDir(), "key")
	must.Do(t, os.WriteFile(keyFile, []byte(strings.Repeat("k", leastKey)), 0o600))
	foreign := open(t, dir, func(o *Options) { o.KeyFile = keyFile })
	if foreign.settle(); foreign.Stats().Files != 3 || foreign.fetch(foreign.Tier("m", foreign.states), tokens(600, 0), kvcache.Scope{}) != nil {
		t.Errorf("with another key: %+v", foreign.Stats())
	}
	foreign.end()
	w = open(t, dir, nil)
	tier = w.Tier("m", w.states)
	if w.settle(); w.Stats().Files != 2 {
		t.Errorf("%+v", w.Stats())
	}
	found := 0
	for seed := range 3 {
		if w.has(tier, tokens(600, seed), kvcache.Scope{}, 1000) {
			found++
		}
	}
	if w.settle(); found != 1 || len(files(t, dir)) != 1 || w.Stats().Damaged != 2 {
		t.Errorf("%d found, %d files left, %+v", found, len(files(t, dir)), w.Stats())
	}
}

// A folder that others may write to is refused, and so is a key that can be guessed.
func TestOpen_Refuses(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.Chmod(dir, 0o777))
	if _, err := Open(Options{Dir: dir, Log: slog.Default()}); err == nil || !strings.Contains(err.Error(), "by others") {
		t.Errorf("got %v", err)
	}
	short := filepath.Join(t.TempDir(), "key")
	must.Do(t, os.WriteFile(short, []byte("secret\n"), 0o600))
	if _, err := Open(Options{Dir: t.TempDir(), KeyFile: short, Log: slog.Default()}); err == nil || !strings.Contains(err.Error(), "at least 32") {
		t.Errorf("got %v", err)
	}
	made := filepath.Join(t.TempDir(), "a", "b")
	w := open(t, made, nil)
	w.settle()
	for path, want := range map[string]fs.FileMode{made: 0o700, filepath.Join(made, "key"): 0o600} {
		if stat, err := os.Stat(path); err != nil || stat.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, stat.Mode(), err)
		}
	}
}

// Waiting for a change ends in time, whether it comes or not.
func TestStore_Wait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Store{changed: make(chan struct{})}
		s.mu.Lock()
		defer s.mu.Unlock()
		begin := time.Now()
		if s.wait(begin.Add(time.Minute)); time.Since(begin) != time.Minute {
			t.Errorf("it took %v", time.Since(begin))
		}
	})
}

// BenchmarkTier_Find is what a tick pays for a prompt of 20,000 tokens in the worst folder: it is
// full, and all conversations begin with the first half of the prompt.
func BenchmarkTier_Find(b *testing.B) {
	w := open(b, b.TempDir(), nil)
	tier := w.Tier("m", w.states)
	w.settle()
	list := tokens(20_000, 1)
	in, _ := tier.space(kvcache.Scope{})
	w.mu.Lock()
	for n := range mostFiles {
		other := kvcache.Digests(append(slices.Clone(list[:10_000]), tokens(64, n)...))
		w.index.add(&entry{name: fmt.Sprint(n), bytes: 1, in: in, digests: other, about: about{Tokens: 10_064, Cuttable: true}})
	}
	w.mu.Unlock()
	digests := kvcache.Digests(list)
	for b.Loop() {
		tier.Find(digests, kvcache.Scope{})
	}
}
