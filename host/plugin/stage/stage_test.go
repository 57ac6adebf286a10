// SPDX-License-Identifier: MIT

package stage

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// openLater begins a stage and opens it in a goroutine.
func openLater(t *testing.T, p *load.Plugin) (*Stage, <-chan error) {
	t.Helper()
	s, err := New(p, plugin.RequestInfo{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	opened := make(chan error, 1)
	go func() { opened <- s.Reset([]int32{1}, 1) }()
	return s, opened
}

func TestStage_Interrupt_EndsTheCall(t *testing.T) {
	m := hosttest.Load(t, hosttest.Open(t, load.New, hosttest.Tireless), hosttest.Plain().On(abi.ExportOpen, forever))
	s, opened := openLater(t, m)
	s.Interrupt()
	s.Interrupt() // twice does no harm
	if err := <-opened; !errors.Is(err, plugin.CauseCancelled) {
		t.Errorf("error %v", err)
	}
	if h := m.Health(); h.Faults != 0 || h.Quarantined {
		t.Errorf("an interruption counts against the plugin: %+v", h)
	}
}

func TestStage_Reset_IsEndedByTheClock(t *testing.T) {
	m := hosttest.Load(t, hosttest.Open(t, load.New, hosttest.Tireless, func(o *plugin.HostOptions) { o.Limits.SetupTime = 50 * time.Millisecond }), hosttest.Plain().On(abi.ExportOpen, forever))
	_, opened := openLater(t, m)
	if err := <-opened; !errors.Is(err, plugin.CauseTime) && !errors.Is(err, plugin.CauseBusy) { // by what else the machine does
		t.Errorf("error %v", err)
	}
}

// An instance that is told a long answer anew has one time for all of it.
func TestStage_Reset_TellingAnewIsEndedByTheClock(t *testing.T) {
	slow := asm.Each(1, i32(1_000_000), []byte{0x01})
	g := hosttest.Plain().On(abi.ExportOpen, i32(0))
	g.Function(abi.Signature{Name: abi.ExportAccept, Params: []abi.Type{"i32"}, Results: []abi.Type{"i32"}}, 1, slow, i32(0))
	s := useOf(t, hosttest.Load(t, hosttest.Open(t, load.New, hosttest.Tireless), g), plugin.RequestInfo{}, 1)
	s.module.Env.Limits.SetupTime = 20 * time.Millisecond
	if err := s.Reset(make([]int32, 1<<20), 1); !errors.Is(err, plugin.CauseTime) {
		t.Errorf("error %v", err)
	}
}

func TestStage_Release_LastUserFrees(t *testing.T) {
	l := hosttest.Open(t, load.New)
	m, err := l.Load(context.Background(), hosttest.Plain().Wasm())
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(m, plugin.RequestInfo{})
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
	if err := s.Reset([]int32{1}, 1); err != nil {
		t.Errorf("a module in use was freed: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := New(m, plugin.RequestInfo{}); !errors.Is(err, plugin.ErrUnknown) {
		t.Errorf("got %v", err)
	}
}

func TestStage_Hammer_InstancesDoNotMeet(t *testing.T) {
	m, err := hosttest.Open(t, load.New).Load(t.Context(), counting(false).Wasm())
	if err != nil {
		t.Fatal(err)
	}
	bad, err := hosttest.Open(t, load.New, func(o *plugin.HostOptions) { o.Limits.Faults = 1 << 30 }).Load(t.Context(), hosttest.Plain().On(abi.ExportAccept, unreachable).Wasm())
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				hammer(t, m, bad)
			}
		})
	}
	group.Wait()
	for _, p := range []*load.Plugin{m, bad} {
		if p.Release(); p.Retain() {
			t.Error("users are left")
		}
	}
}

func hammer(t *testing.T, good, bad *load.Plugin) {
	for _, m := range []*load.Plugin{good, bad} {
		s, err := New(m, plugin.RequestInfo{})
		if err != nil {
			t.Error(err)
			return
		}
		history := []scheduler.Token{1}
		if err := s.Reset(history, 1); err != nil {
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
			if got := peek(s, hosttest.AtScratch); err != nil || got != n {
				t.Errorf("%d accepted, want %d; %v", got, n, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestStage_Memory_IsBounded(t *testing.T) {
	const pages = 16
	l := hosttest.Open(t, load.New, func(o *plugin.HostOptions) { o.Limits.Memory = 3 * pages << 16 })
	g := hosttest.Plain()
	g.Pages = pages
	m := hosttest.Load(t, l, g.On(abi.ExportPrepare, i32(pages), grow, drop, unreachable))
	first := useOf(t, m, plugin.RequestInfo{}, 1)
	second := useOf(t, m, plugin.RequestInfo{}, 1)
	if used, limit := l.MemoryUse(); used != 2*pages<<16 || limit != 3*pages<<16 {
		t.Errorf("%d of %d bytes", used, limit)
	}
	if _, err := first.Prepare(); !errors.Is(err, plugin.CauseTrap) { // it could grow
		t.Errorf("error %v", err)
	}
	third, fourth := useOf(t, m, plugin.RequestInfo{}, 1), openAnother(t, m)
	if err := <-fourth; err != nil { // the first has faulted and is gone
		t.Error(err)
	}
	if _, err := third.Prepare(); !errors.Is(err, plugin.CauseBudget) {
		t.Errorf("growing past the limit: %v", err)
	}
	for range 2 {
		_ = openAnother(t, m)
	}
	if err := <-openAnother(t, m); !errors.Is(err, plugin.CauseBudget) {
		t.Errorf("an instance past the limit: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

func openAnother(t *testing.T, m *load.Plugin) <-chan error {
	t.Helper()
	_, opened := openLater(t, m)
	err := <-opened
	again := make(chan error, 1)
	again <- err
	return again
}

func TestStage_Usage_OfTheLastCall(t *testing.T) {
	g := hosttest.Plain().On(abi.ExportAccept, asm.Each(1, local(0), i32(1), drop), i32(1), grow, drop, i32(0))
	s := use(t, g, 1)
	var fuel [2]int64
	for i, loops := range []int32{10, 1000} {
		if _, err := s.Accept(loops); err != nil {
			t.Fatal(err)
		}
		u := s.Usage()
		if fuel[i] = u.Fuel; u.Limit != abi.LimitHookFuel || u.Memory != (5+i)<<16 {
			t.Errorf("%+v", u)
		}
	}
	if more := fuel[1] - fuel[0]; more < 990 || more > 990*20 {
		t.Errorf("%d units for 10 loops, %d for 1000", fuel[0], fuel[1])
	}
	if err := s.Close(); err != nil || s.Usage() != (Usage{}) {
		t.Errorf("%+v, %v", s.Usage(), err)
	}
}

func TestStage_Refuse_IsAFault(t *testing.T) {
	why := errors.New("no frogs here")
	for _, c := range []struct {
		act    chain.Act
		why    error
		export string
		cause  error
	}{
		{chain.ActMask, chain.ErrNotAllowed, abi.ExportPrepare, plugin.CauseConflict},
		{chain.ActForce, chain.ErrNotAllowed, abi.ExportPrepare, plugin.CauseConflict},
		{chain.ActChoose, chain.ErrNotAllowed, abi.ExportSample, plugin.CauseConflict},
		{chain.ActSplice, chain.ErrNotAllowed, abi.ExportAccept, plugin.CauseConflict},
		{chain.ActSplice, why, abi.ExportAccept, plugin.CauseAnswer},
		{chain.ActSplice, answer.ErrSpliceLimit, abi.ExportAccept, plugin.CauseLimit},
	} {
		s := use(t, preparing(i32(0)), 1)
		hosttest.MustFault(t, s.Refuse(c.act, c.why), c.export, c.cause, c.why.Error())
	}
}

func TestStage_Refuse_Skip(t *testing.T) {
	calls := hosttest.Plain().On(abi.ExportPrepare, i32(hosttest.AtScratch), i32(1), store, i32(0))
	s, err := New(hosttest.Load(t, hosttest.Open(t, load.New), calls), plugin.RequestInfo{Skip: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := s.Reset([]scheduler.Token{1}, 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Refuse(chain.ActMask, errors.New("no frogs here")); err != nil {
		t.Errorf("the request ends: %v", err)
	}
	if p, err := s.Prepare(); err != nil || p.Mask != nil || s.instance != nil {
		t.Errorf("it goes on: %+v, %v", p, err)
	}
}

// TestStage_Refuse_Conflicts_NoQuarantine: a client that asks for what a plugin does not do cannot
// take it from others.
func TestStage_Refuse_Conflicts_NoQuarantine(t *testing.T) {
	m := hosttest.Load(t, hosttest.Open(t, load.New), preparing(i32(0)))
	for range 2 * abi.LimitFaults {
		hosttest.MustFault(t, useOf(t, m, plugin.RequestInfo{Client: "bob"}, 1).Refuse(chain.ActMask, chain.ErrNotAllowed), abi.ExportPrepare, plugin.CauseConflict, "")
	}
	if h := m.Health(); h.Quarantined || h.Faults != 2*abi.LimitFaults {
		t.Errorf("%+v", h)
	}
	for range abi.LimitFaults {
		_ = useOf(t, m, plugin.RequestInfo{Client: "bob"}, 1).Refuse(chain.ActSplice, answer.ErrSpliceLimit)
	}
	if !m.Health().Quarantined {
		t.Error("faults of its own lead to no quarantine")
	}
}
