// SPDX-License-Identifier: MIT

package guest

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

func TestModule_Image_EveryInstanceStartsWarm(t *testing.T) {
	m := mustLoad(t, newTestHost(t), hosttest.Warmed())
	if m.image == nil {
		t.Fatal("no image was taken")
	}
	for range 3 {
		s := useOf(t, m, plugin.RequestInfo{}, 1)
		if peek(s, hosttest.AtScratch) != 11 || peek(s, 3<<16) != 77 || peek(s, 4<<16+8) != 78 {
			t.Errorf("global %d, memory %d and %d", peek(s, hosttest.AtScratch), peek(s, 3<<16), peek(s, 4<<16+8))
		}
		s.Memory()[3<<16] = 0 // the others must not see it
	}
}

func TestModule_Image_NoneWhereTablesChange(t *testing.T) {
	g := hosttest.Warmed()
	g.Table = 1
	g.On(abi.ExportRewind, i32c(0), asm.SetTable, i32c(0)) // table.set
	m := mustLoad(t, newTestHost(t), g)
	if m.image != nil {
		t.Fatal("an image cannot hold tables")
	}
	if s := useOf(t, m, plugin.RequestInfo{}, 1); peek(s, hosttest.AtScratch) != 11 || peek(s, 4<<16+8) != 78 {
		t.Errorf("global %d, memory %d", peek(s, hosttest.AtScratch), peek(s, 4<<16+8))
	}
}

func TestModule_Memory_IsBounded(t *testing.T) {
	g := hosttest.Plain().On(abi.ExportPrepare, poke(hosttest.AtScratch, 0), i32c(hosttest.AtScratch), i32c(abi.LimitMemoryPages), grow, store, i32c(0))
	s := use(t, g, 1)
	must.Get(s.prepare())(t)
	if peek(s, hosttest.AtScratch) != -1 {
		t.Errorf("grew to %d pages", peek(s, hosttest.AtScratch))
	}
}

// A guest that is refused memory and then fails is told so, whatever it does then; one that goes on
// and fails in a later call is not.
func TestInstance_OutOfMemory_IsCalledSo(t *testing.T) {
	const said = "out of memory: it asked for 64.3 MiB, an instance has at most 64 MiB"
	wants := [][]byte{i32c(abi.LimitMemoryPages), grow, drop} // it has four pages already
	for _, c := range []struct {
		name  string
		then  []byte
		want  string
		cause error
	}{
		{"trap", unreachable, said + "; trap: unreachable", plugin.CauseLimit},
		{"out of fuel", forever, "it was out of memory: it asked for 64.3 MiB, an instance has at most 64 MiB", plugin.CauseFuel},
	} {
		g := hosttest.Plain().On(abi.ExportAccept, append(wants, c.then)...)
		_, err := use(t, g, 1).accept(1)
		hosttest.MustFault(t, err, abi.ExportAccept, c.cause, c.want)
	}
	later := use(t, hosttest.Plain().On(abi.ExportPrepare, append(wants, i32c(0))...).On(abi.ExportAccept, unreachable), 1)
	must.Get(later.prepare())(t)
	if _, err := later.accept(1); err == nil || strings.Contains(err.Error(), "memory") {
		t.Errorf("it failed for another reason: %v", err)
	}
	much := hosttest.Plain().On(abi.ExportAccept, i32c(800), grow, drop, forever)
	_, err := use(t, much, 1).accept(1)
	hosttest.MustFault(t, err, abi.ExportAccept, plugin.CauseFuel, "its memory grew from 0.3 MiB to 50.3 MiB in this call")
}

// Go builds a command unless it is told not to; then nothing has initialised it when it is called.
func TestModule_Describe_Command(t *testing.T) {
	const want = "build a plugin in Go with -buildmode=c-shared"
	for _, c := range []struct {
		name  string
		extra string // another export
		said  bool
	}{{"command", "_start", true}, {"library", abi.ExportInitialize, false}} {
		g := (&asm.Guest{Pages: 1}).On(abi.ExportABIV1).On(abi.ExportDescribe, unreachable).Function(abi.Signature{Name: c.extra}, 0)
		m := mustCompile(t, newTestHost(t), g)
		if _, err := m.Describe(t.Context()); err == nil || strings.Contains(err.Error(), want) != c.said {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// An Open that takes too long is told where its work belongs.
func TestInstance_SlowOpen_IsToldOfWarm(t *testing.T) {
	h := newTestHost(t, hosttest.Tireless, func(o *plugin.HostOptions) { o.Limits.SetupTime = time.Nanosecond })
	for config, want := range map[string]string{"{}": "penstock_warm", `"` + strings.Repeat("x", 2<<20) + `"`: "the configuration has 2.1 MiB"} {
		m := mustLoad(t, h, hosttest.Plain().On(abi.ExportOpen, forever))
		err := plugin.CauseBusy
		for errors.Is(err, plugin.CauseBusy) { // something else had the processor
			i, notMade := m.NewInstance(t.Context(), m.NewSession(&plugin.RequestInfo{Config: []byte(config)}))
			if notMade != nil {
				t.Fatal(notMade)
			}
			_, err = i.Call(Open, 0, 0)
			if err := i.Close(false); err != nil {
				t.Error(err)
			}
		}
		hosttest.MustFault(t, err, abi.ExportOpen, plugin.CauseTime, want)
	}
}

// tally is an Observer.
type tally struct {
	mu     sync.Mutex
	calls  map[string]int
	faults map[string]int
}

func (o *tally) PluginCalls(plugin, export string) func(time.Duration) {
	return func(time.Duration) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.calls[plugin+"/"+export]++
	}
}

func (o *tally) PluginFault(plugin, kind string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.faults[plugin+"/"+kind]++
}

func TestInstance_Observer_LearnsOfCallsAndFaults(t *testing.T) {
	o := &tally{calls: map[string]int{}, faults: map[string]int{}}
	h := newTestHost(t, func(p *plugin.HostOptions) { p.Observer = o })
	f := useOf(t, mustLoad(t, h, hosttest.Plain().On(abi.ExportAccept, unreachable)), plugin.RequestInfo{}, 1)
	if _, err := f.accept(1); err == nil {
		t.Error("no fault")
	}
	if o.calls["guest/penstock_accept"] != 1 || o.faults["guest/trap"] != 1 {
		t.Errorf("%v %v", o.calls, o.faults)
	}
}

// What a module is with one model it is not with another, but its code is the same.
func TestModule_For_SharesTheCode(t *testing.T) {
	h := newTestHost(t)
	m := mustLoad(t, h, hosttest.Warmed())
	other := m.For(h.For(plugin.ModelOptions{Vocabulary: hosttest.Words{}}))
	if other.code != m.code || other.image != nil || other.Env == h || other.Env.budget != h.budget {
		t.Errorf("%+v of %+v", other, m)
	}
	must.Do(t, other.Warm(t.Context()))
	other.Close()
	i, err := m.NewInstance(t.Context(), m.NewSession(&plugin.RequestInfo{}))
	if err != nil {
		t.Fatalf("the first, without the other: %v", err)
	}
	if err := i.Close(true); err != nil {
		t.Error(err)
	}
}

func TestInstance_Call_OptionalImports(t *testing.T) {
	missing := abi.Signature{Name: abi.Optional + ".telepathy", Params: []abi.Type{"i64", "f32"}, Results: []abi.Type{"i32"}}
	g := hosttest.Plain()
	call := g.CallOf(missing)
	g.On(abi.ExportOpen, i32c(0)).On(abi.ExportAccept, i64c(1), []byte{0x43, 0, 0, 0, 0}, call)
	s := use(t, g, 1)
	_, err := s.accept(2)
	hosttest.MustFault(t, err, abi.ExportAccept, plugin.CauseCall, "telepathy")
}
