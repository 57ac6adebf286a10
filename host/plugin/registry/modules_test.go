// SPDX-License-Identifier: MIT

package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// labels are the names of plugins that metrics hear of.
type labels struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (l *labels) note(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[name] = true
}

func (l *labels) PluginCalls(name, _ string) func(time.Duration) {
	l.note(name)
	return func(time.Duration) {}
}
func (l *labels) PluginFault(name, _ string) { l.note(name) }

// modulesRig has the modules of clients for one model.
type modulesRig struct {
	*Modules
	model *load.Model
	heard *labels
	log   bytes.Buffer
	used  func() int64 // bytes of all plugins
}

func newModulesRig(t *testing.T, lock plugin.Lock, change ...func(*plugin.HostOptions)) *modulesRig {
	t.Helper()
	r := &modulesRig{heard: &labels{seen: map[string]bool{}}}
	log := slog.New(slog.NewTextHandler(&r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	loader := hosttest.Open(t, load.New, append(change, func(o *plugin.HostOptions) { o.Vocabulary, o.Log = nil, log })...)
	g := must.Get(Open(t.Context(), loader, Options{Dir: t.TempDir(), Lock: lock, ModuleLife: time.Hour, Log: log}))(t)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if left := r.used(); left != 0 {
			t.Errorf("%d bytes are left of the modules", left)
		}
	})
	r.Modules, r.model = g.Modules, withModel(t, g, plugin.ModelOptions{Model: plugin.Model{Name: "toy"}, Vocabulary: hosttest.Words{}, Observer: r.heard})
	r.used = func() int64 { n, _ := loader.MemoryUse(); return n }
	return r
}

func sumOf(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}

func (r *modulesRig) upload(t *testing.T, client string, wasm []byte) {
	t.Helper()
	must.Both(r.Upload(t.Context(), client, wasm))(t)
}

// Two clients with the same module know nothing of each other: for each it is new, and what one
// does to it the other does not notice.
func TestModules_AreTheirClients(t *testing.T) {
	r := newModulesRig(t, nil)
	wasm := named("same", "1")
	sum := sumOf(wasm)
	r.upload(t, "alice", wasm)
	alone := r.used()
	if _, err := r.Get("bob", sum); !errors.Is(err, ErrNoModule) {
		t.Errorf("bob gets it: %v", err)
	}
	if _, err := r.FindFor(t.Context(), "bob", sum, r.model); !errors.Is(err, ErrNoModule) {
		t.Errorf("bob uses it: %v", err)
	}
	if err := r.Remove("bob", sum); !errors.Is(err, ErrNoModule) {
		t.Errorf("bob removes it: %v", err)
	}
	if info, created, err := r.Upload(t.Context(), "bob", wasm); err != nil || !created || info.Name != "same" {
		t.Errorf("bob brings it: %+v, %v, %v", info, created, err)
	}
	if r.used() != 2*alone {
		t.Errorf("one has %d bytes, two have %d: something of it is shared", alone, r.used())
	}
	if _, created, err := r.Upload(t.Context(), "alice", wasm); err != nil || created {
		t.Errorf("alice brings it again: %v, %v", created, err)
	}
	if err := r.Remove("bob", sum); err != nil {
		t.Error(err)
	}
	if list := r.List("alice"); len(list) != 1 || list[0].SHA256 != sum || len(r.List("bob")) != 0 {
		t.Errorf("alice has %v, bob %v", list, r.List("bob"))
	}
}

// A client has so many at a time, and others have as many.
func TestModules_Upload_Quota(t *testing.T) {
	r := newModulesRig(t, nil)
	for i := range ModulesOfClient {
		r.upload(t, "alice", named(fmt.Sprint("m-", i), "1"))
	}
	if _, _, err := r.Upload(t.Context(), "alice", named("more", "1")); !errors.Is(err, ErrQuota) || !strings.Contains(err.Error(), "remove one") {
		t.Errorf("one more: %v", err)
	}
	r.upload(t, "alice", named("m-3", "1"))
	r.upload(t, "bob", named("more", "1"))
	if err := r.Remove("alice", sumOf(named("m-3", "1"))); err != nil {
		t.Error(err)
	}
	r.upload(t, "alice", named("more", "1"))
}

// What a client's modules take as long as they are there is bounded, the memory that they have
// warmed included, and leaves room for others.
func TestModules_Upload_Memory(t *testing.T) {
	const whole = 32 << 20
	r := newModulesRig(t, nil, func(o *plugin.HostOptions) { o.Limits.Memory = whole })
	large := func(n int) []byte { // 1 MiB each
		return asm.New(fmt.Sprintf(`{"name":"m-%d"}`, n)).On(abi.ExportWarm, asm.I32(12), asm.GrowMemory, asm.Drop, asm.I32(0)).Wasm()
	}
	kept := map[string]int{}
	for _, client := range []string{"alice", "bob"} {
		for n := range ModulesOfClient {
			_, _, err := r.Upload(t.Context(), client, large(n))
			if errors.Is(err, ErrQuota) && strings.Contains(err.Error(), "plugins.memory") {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			kept[client]++
		}
	}
	if kept["alice"] < 2 || kept["alice"] > 4 || kept["bob"] < 1 || kept["bob"] >= kept["alice"] || r.used() > whole/4 {
		t.Errorf("%v are kept, %d bytes", kept, r.used())
	}
	for n := range kept["alice"] {
		if err := r.Remove("alice", sumOf(large(n))); err != nil {
			t.Error(err)
		}
	}
	r.upload(t, "bob", large(kept["bob"]))
}

// A module that nobody uses for its life is gone, and its memory is free; each use begins its life
// anew, and no life ends while the module is in use.
func TestModules_Expire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newModulesRig(t, nil)
		wasm := named("a", "1")
		r.upload(t, "alice", wasm)
		find := func() *load.Plugin {
			t.Helper()
			return must.Get(r.FindFor(t.Context(), "alice", sumOf(wasm), r.model))(t)
		}
		time.Sleep(50 * time.Minute)
		p := find()
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		p.Release()
		find().Release()
		time.Sleep(time.Hour - time.Second)
		synctest.Wait()
		if info, err := r.Get("alice", sumOf(wasm)); err != nil || time.Until(info.Expires) != time.Second {
			t.Errorf("%v before its end: %v, %v", time.Second, info.Expires, err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if _, err := r.Get("alice", sumOf(wasm)); !errors.Is(err, ErrNoModule) || r.used() != 0 {
			t.Errorf("after its end: %v, %d bytes", err, r.used())
		}
	})
}

// A request that uses a module goes on when that is removed, and the memory is free at its end.
func TestModules_Remove_InUse(t *testing.T) {
	r := newModulesRig(t, nil)
	wasm := asm.New(`{"name":"a"}`).On(abi.ExportOpen, asm.I32(0)).Wasm()
	r.upload(t, "alice", wasm)
	p := must.Get(r.FindFor(t.Context(), "alice", sumOf(wasm), r.model))(t)
	must.Do(t, r.Remove("alice", sumOf(wasm)))
	if _, err := r.FindFor(t.Context(), "alice", sumOf(wasm), r.model); !errors.Is(err, ErrNoModule) {
		t.Errorf("a new request: %v", err)
	}
	if s, err := p.Begin(&plugin.RequestInfo{Client: "alice"}); err != nil {
		t.Error(err)
	} else if i, err := p.Module.NewInstance(t.Context(), s); err != nil {
		t.Error(err)
	} else {
		if err := i.Close(false); err != nil {
			t.Error(err)
		}
		p.End()
	}
	if r.used() == 0 {
		t.Error("what is in use takes no memory")
	}
	p.Release()
	if r.used() != 0 {
		t.Errorf("%d bytes are left", r.used())
	}
}

// Where the operator has listed what may run, clients bring nothing else.
func TestModules_Upload_Locked(t *testing.T) {
	r := newModulesRig(t, plugin.Lock{"a": {sumOf(named("a", "1"))}, "b": {sumOf(named("other", "1"))}})
	r.upload(t, "alice", named("a", "1"))
	for _, name := range []string{"a", "other"} { // another version, and a name that the lock has not
		if _, _, err := r.Upload(t.Context(), "alice", named(name, map[string]string{"a": "2", "other": "1"}[name])); !errors.Is(err, plugin.ErrLocked) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a module does while it is loaded ends with its upload, is told its client alone, and leaves
// nothing.
func TestModules_Upload_Refused(t *testing.T) {
	r := newModulesRig(t, nil, func(o *plugin.HostOptions) { o.Limits.SetupFuel = 1 << 20 })
	says := asm.New(`{"name":"says"}`)
	says.Put(hosttest.AtScratch, "canary")
	for name, tc := range map[string]struct {
		wasm []byte
		want error
	}{
		"text":           {[]byte("text"), plugin.ErrNotWasm},
		"a trap":         {asm.New(`{"name":"traps"}`).On(abi.ExportWarm, asm.Unreachable).Wasm(), plugin.CauseTrap},
		"an endless one": {asm.New(`{"name":"endless"}`).On(abi.ExportWarm, asm.Forever).Wasm(), plugin.CauseFuel},
		"one that talks": {says.On(abi.ExportWarm, asm.I32(abi.LogError), asm.I32(hosttest.AtScratch), asm.I32(6), says.Call(abi.ImportLog), asm.Unreachable).Wasm(), plugin.CauseTrap},
	} {
		_, _, err := r.Upload(t.Context(), "alice", tc.wasm)
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "one that talks" && !strings.Contains(plugin.Told(err), "canary") {
			t.Errorf("its client is not told what it said: %s", plugin.Told(err))
		}
	}
	if len(r.List("alice")) != 0 || r.used() != 0 {
		t.Errorf("left are %v, %d bytes", r.List("alice"), r.used())
	}
	if strings.Contains(r.log.String(), "canary") {
		t.Errorf("the log has what a client's module said: %s", r.log.String())
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if _, _, err := r.Upload(ctx, "alice", named("a", "1")); !errors.Is(err, context.Canceled) {
		t.Errorf("who has left is told %v", err)
	}
}

// Metrics have one name for all: a client could make up any number.
func TestModules_Metrics_OneName(t *testing.T) {
	r := newModulesRig(t, nil)
	for i := range 3 {
		wasm := asm.New(fmt.Sprintf(`{"name":"made-up-%d"}`, i)).On(abi.ExportOpen, asm.I32(0)).On(abi.ExportWarm, asm.I32(0)).Wasm()
		r.upload(t, "alice", wasm)
	}
	if len(r.heard.seen) != 1 || !r.heard.seen[load.ClientModule] {
		t.Errorf("metrics hear of %v", r.heard.seen)
	}
}

// Clients who bring, use, remove and look at modules at the same time get what is theirs, and all
// memory comes back.
func TestModules_Hammer(t *testing.T) {
	r := newModulesRig(t, nil)
	var group sync.WaitGroup
	seeds := steadytest.Rand(t)
	for c := range 4 {
		random := rand.New(rand.NewPCG(seeds.Uint64(), 0))
		group.Go(func() {
			client := fmt.Sprint("client-", c)
			for range 40 {
				wasm := named(fmt.Sprint("m-", random.IntN(3)), "1")
				switch random.IntN(4) {
				case 0:
					if _, _, err := r.Upload(t.Context(), client, wasm); err != nil {
						t.Error(err)
					}
				case 1:
					if p, err := r.FindFor(t.Context(), client, sumOf(wasm), r.model); err == nil {
						p.Release()
					} else if !errors.Is(err, ErrNoModule) {
						t.Error(err)
					}
				case 2:
					if err := r.Remove(client, sumOf(wasm)); err != nil && !errors.Is(err, ErrNoModule) {
						t.Error(err)
					}
				default:
					r.List(client)
				}
			}
		})
	}
	group.Wait()
}
