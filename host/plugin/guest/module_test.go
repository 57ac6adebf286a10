// SPDX-License-Identifier: MIT

package guest

import (
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
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
	if _, err := s.prepare(); err != nil {
		t.Fatal(err)
	}
	if peek(s, hosttest.AtScratch) != -1 {
		t.Errorf("grew to %d pages", peek(s, hosttest.AtScratch))
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
	if err := other.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	other.Close()
	i, err := m.NewInstance(t.Context(), m.NewSession(&plugin.RequestInfo{}))
	if err != nil {
		t.Fatalf("the first, without the other: %v", err)
	}
	if err := i.Close(true); err != nil {
		t.Error(err)
	}
}
