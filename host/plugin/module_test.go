// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler"
)

// warmed counts its initialisations and warm-ups in a global and in memory, and shows them at atScratch in open.
func warmed() *guestModule {
	g := plain()
	g.Globals = 1
	g.On(abi.ExportInitialize, global(0), i32(1), add, setGlobal(0))
	g.On(abi.ExportWarm, global(0), i32(10), add, setGlobal(0), poke(3<<16, 77), i32(1), grow, drop, poke(4<<16+8, 78), i32(0))
	return g.On(abi.ExportOpen, i32(atScratch), global(0), store, i32(0))
}

func TestModule_Image_EveryInstanceStartsWarm(t *testing.T) {
	m := mustLoad(t, newTestRuntime(t), warmed())
	if m.image == nil {
		t.Fatal("no image was taken")
	}
	for range 3 {
		s := useOf(t, m, Request{}, 1)
		if peek(s, atScratch) != 11 || peek(s, 3<<16) != 77 || peek(s, 4<<16+8) != 78 {
			t.Errorf("global %d, memory %d and %d", peek(s, atScratch), peek(s, 3<<16), peek(s, 4<<16+8))
		}
		slice[int32](s.instance.region.Bytes())[3<<14] = 0 // the others must not see it
	}
}

func TestModule_Image_NoneWhereTablesChange(t *testing.T) {
	g := warmed()
	g.Table = 1
	g.On(abi.ExportRewind, i32(0), asm.SetTable, i32(0)) // table.set
	m := mustLoad(t, newTestRuntime(t), g)
	if m.image != nil {
		t.Fatal("an image cannot hold tables")
	}
	if s := useOf(t, m, Request{}, 1); peek(s, atScratch) != 11 || peek(s, 4<<16+8) != 78 {
		t.Errorf("global %d, memory %d", peek(s, atScratch), peek(s, 4<<16+8))
	}
}

func TestModule_Memory_IsBounded(t *testing.T) {
	g := plain().On(abi.ExportPrepare, poke(atScratch, 0), i32(atScratch), i32(abi.LimitMemoryPages), grow, store, i32(0))
	s := use(t, g, 1)
	if _, err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	if peek(s, atScratch) != -1 {
		t.Errorf("grew to %d pages", peek(s, atScratch))
	}
}

func TestModule_Buffers_SurviveGrowth(t *testing.T) {
	s := use(t, candidates(i32(100), grow, drop, poke(atBuffer, 3)), 1)
	v := raw(ramp())
	if err := s.Apply(v); err != nil || v.ID[0] != 3 {
		t.Errorf("%v, %v", v.ID, err)
	}
}

func TestModule_Release_LastUserFrees(t *testing.T) {
	r := newTestRuntime(t)
	m, err := r.Load(context.Background(), plain().Wasm())
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.NewStage(Request{})
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
	if err := s.Rewind([]int32{1}, 1); err != nil {
		t.Errorf("a module in use was freed: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := m.NewStage(Request{}); !errors.Is(err, ErrUnknown) {
		t.Errorf("got %v", err)
	}
}

// tally is an Observer.
type tally struct {
	mu     sync.Mutex
	calls  map[string]int
	faults map[string]int
}

func (o *tally) PluginCall(plugin, export string, _ time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls[plugin+"/"+export]++
}

func (o *tally) PluginFault(plugin, kind string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.faults[plugin+"/"+kind]++
}

func TestRuntime_Observer_LearnsOfCallsAndFaults(t *testing.T) {
	o := &tally{calls: map[string]int{}, faults: map[string]int{}}
	r := newTestRuntime(t, func(p *Options) { p.Observer = o })
	f := useOf(t, mustLoad(t, r, plain().On(abi.ExportAccept, unreachable)), Request{}, 1)
	if _, err := f.Accept(1); err == nil {
		t.Error("no fault")
	}
	if o.calls["guest/penstock_accept"] != 1 || o.faults["guest/trap"] != 1 {
		t.Errorf("%v %v", o.calls, o.faults)
	}
}

func TestStage_Hammer_InstancesDoNotMeet(t *testing.T) {
	m := mustLoad(t, newTestRuntime(t), counting(false))
	bad := mustLoad(t, newTestRuntime(t, func(o *Options) { o.Limits.Faults = 1 << 30 }), plain().On(abi.ExportAccept, unreachable))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				hammer(t, m, bad)
			}
		})
	}
	group.Wait()
	if n := m.uses.Load() + bad.uses.Load(); n != 2 {
		t.Errorf("%d users are left", n-2)
	}
}

func hammer(t *testing.T, good, bad *Module) {
	for _, m := range []*Module{good, bad} {
		s, err := m.NewStage(Request{})
		if err != nil {
			t.Error(err)
			return
		}
		history := []scheduler.Token{1}
		if err := s.Rewind(history, 1); err != nil {
			t.Error(err)
		}
		for n := int32(1); n <= 10; n++ {
			_, err := s.Accept(n)
			if m == bad {
				if err == nil && n == 1 {
					t.Error("no fault")
				}
				continue
			}
			if got := peek(s, atScratch); err != nil || got != n {
				t.Errorf("%d accepted, want %d; %v", got, n, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
