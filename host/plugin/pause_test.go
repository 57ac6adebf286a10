// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// tireless has fuel for hours and a minute of time.
func tireless(o *Options) {
	o.Limits.SetupFuel, o.Limits.HookFuel = 1<<45, 1<<45
}

// openLater begins a stage and opens it in a goroutine.
func openLater(t *testing.T, m *Module) (*Stage, <-chan error) {
	t.Helper()
	s, err := m.NewStage(Request{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	opened := make(chan error, 1)
	go func() { opened <- s.Rewind([]int32{1}, 1) }()
	return s, opened
}

func TestStage_Interrupt_EndsTheCall(t *testing.T) {
	m := mustLoad(t, newTestRuntime(t, tireless), plain().On(abi.ExportOpen, forever))
	s, opened := openLater(t, m)
	s.Interrupt()
	s.Interrupt() // twice does no harm
	if err := <-opened; !errors.Is(err, CauseCancelled) {
		t.Errorf("error %v", err)
	}
	if h := m.Health(); h.Faults != 0 || h.Quarantined {
		t.Errorf("an interruption counts against the plugin: %+v", h)
	}
}

// Who waits for a turn is woken too.
func TestStage_Interrupt_EndsTheWait(t *testing.T) {
	r := newTestRuntime(t, tireless)
	m := mustLoad(t, r, plain().On(abi.ExportOpen, i32(0)))
	for range cap(r.turns) {
		r.turns <- struct{}{}
	}
	s, opened := openLater(t, m)
	s.Interrupt()
	if err := <-opened; !errors.Is(err, CauseCancelled) {
		t.Errorf("error %v", err)
	}
	for range cap(r.turns) {
		<-r.turns
	}
}

// Guests that are set up take turns: a short one is through while long ones go on.
func TestStage_Rewind_LongOnesTakeTurns(t *testing.T) {
	r := newTestRuntime(t, tireless)
	long := mustLoad(t, r, plain().On(abi.ExportOpen, forever))
	var stages []*Stage
	var ends []<-chan error
	for range 2*cap(r.turns) + 1 {
		s, opened := openLater(t, long)
		stages, ends = append(stages, s), append(ends, opened)
	}
	_, opened := openLater(t, mustLoad(t, r, newGuest(`{"name":"short"}`).On(abi.ExportOpen, i32(0))))
	if err := <-opened; err != nil {
		t.Error(err)
	}
	for i, s := range stages {
		s.Interrupt()
		if err := <-ends[i]; !errors.Is(err, CauseCancelled) {
			t.Errorf("error %v", err)
		}
	}
	if n := len(r.turns); n != 0 {
		t.Errorf("%d turns were not given back", n)
	}
}

func TestStage_Rewind_IsEndedByTheClock(t *testing.T) {
	m := mustLoad(t, newTestRuntime(t, tireless, func(o *Options) { o.Limits.SetupTime = 50 * time.Millisecond }), plain().On(abi.ExportOpen, forever))
	_, opened := openLater(t, m)
	if err := <-opened; !errors.Is(err, CauseTime) && !errors.Is(err, CauseBusy) { // by what else the machine does
		t.Errorf("error %v", err)
	}
}

// Loading a module is nobody's request: it has more time, and no share to keep to.
func TestRuntime_Load_HasTimeOfItsOwn(t *testing.T) {
	r := newTestRuntime(t, tireless, func(o *Options) {
		o.Limits.SetupTime, o.Limits.LoadTime = time.Nanosecond, 50*time.Millisecond
	})
	if m, err := r.Load(t.Context(), plain().On(abi.ExportWarm, i32(0)).Wasm()); err != nil {
		t.Error(err)
	} else {
		m.Release()
	}
	if _, err := r.Load(t.Context(), plain().On(abi.ExportWarm, forever).Wasm()); !errors.Is(err, CauseTime) && !errors.Is(err, CauseBusy) {
		t.Errorf("error %v", err)
	}
}

// Time that passes while others have their turns says nothing against a plugin.
func TestStage_Rewind_WaitingIsNoFault(t *testing.T) {
	r := newTestRuntime(t, tireless)
	m := mustLoad(t, r, plain().On(abi.ExportOpen, i32(0)))
	r.limits.SetupTime = 20 * time.Millisecond
	for range cap(r.turns) {
		r.turns <- struct{}{}
	}
	_, opened := openLater(t, m)
	if err := <-opened; !errors.Is(err, CauseBusy) {
		t.Errorf("error %v", err)
	}
	for range cap(r.turns) {
		<-r.turns
	}
	if m.Reset(); m.Health().Quarantined {
		t.Error("quarantined")
	}
}

// The guests of a choice have one time for all their set-up.
func TestSetup_Until_IsShared(t *testing.T) {
	var s Setup
	first := s.until(time.Minute)
	if second := s.until(time.Hour); !second.Equal(first) {
		t.Errorf("until %v, then %v", first, second)
	}
	var none *Setup
	if until := none.until(time.Hour); time.Until(until) < time.Minute {
		t.Errorf("without one until %v", until)
	}
}

// A call that takes long needs a turn, whatever it is for.
func TestStage_Prepare_LongOnesTakeTurns(t *testing.T) {
	r := newTestRuntime(t, tireless, func(o *Options) { o.Limits.HookTime = 10 * time.Second })
	s := useOf(t, mustLoad(t, r, plain().On(abi.ExportPrepare, forever)), Request{}, 1)
	for range cap(r.turns) {
		r.turns <- struct{}{}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := s.Prepare()
		ended <- err
	}()
	<-r.turns // once it is given away again, it is the guest that has it
	for len(r.turns) < cap(r.turns) {
		select {
		case err := <-ended:
			t.Fatalf("it ended without a turn: %v", err)
		default:
			runtime.Gosched()
		}
	}
	s.Interrupt()
	if err := <-ended; !errors.Is(err, CauseCancelled) {
		t.Errorf("error %v", err)
	}
	if n := len(r.turns); n != cap(r.turns)-1 {
		t.Errorf("%d turns are taken, not %d", n, cap(r.turns)-1)
	}
	for range cap(r.turns) - 1 {
		<-r.turns
	}
}

// Close is called because the request is over: that does not end it, whether it waits for a turn or has taken long.
func TestStage_Close_IsNotInterrupted(t *testing.T) {
	for _, taken := range []bool{false, true} {
		r := newTestRuntime(t, tireless, func(o *Options) { o.Limits.HookTime = 200 * time.Millisecond })
		m := mustLoad(t, r, plain().On(abi.ExportOpen, i32(0)).On(abi.ExportClose, forever))
		s, opened := openLater(t, m)
		if err := <-opened; err != nil {
			t.Fatal(err)
		}
		for range cap(r.turns) {
			if taken {
				r.turns <- struct{}{}
			}
		}
		s.Interrupt()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if h := m.Health(); h.Faults != 1 {
			t.Errorf("it did not end by the clock: %+v", h)
		}
		for range len(r.turns) {
			<-r.turns
		}
	}
}

func TestStage_Sample_IsEndedByTheClock(t *testing.T) {
	s := use(t, plain(), 1)
	s.module.runtime.limits.HookTime = time.Millisecond
	s.module.runtime.limits.HookFuel = 1 << 45
	g := useOf(t, mustLoad(t, s.module.runtime, plain().On(abi.ExportPrepare, forever)), Request{}, 1)
	if _, err := g.Prepare(); !errors.Is(err, CauseTime) {
		t.Errorf("error %v", err)
	}
}

// An instance that is told a long answer anew has one time for all of it.
func TestStage_Rewind_TellingAnewIsEndedByTheClock(t *testing.T) {
	slow := asm.Each(1, i32(1_000_000), []byte{0x01})
	g := plain().On(abi.ExportOpen, i32(0))
	g.Function(abi.Signature{Name: abi.ExportAccept, Params: []abi.Type{"i32"}, Results: []abi.Type{"i32"}}, 1, slow, i32(0))
	s := useOf(t, mustLoad(t, newTestRuntime(t, tireless), g), Request{}, 1)
	s.module.runtime.limits.SetupTime = 20 * time.Millisecond
	if err := s.Rewind(make([]int32, 1<<20), 1); !errors.Is(err, CauseTime) {
		t.Errorf("error %v", err)
	}
}

func TestModule_Render_EndsWithItsContext(t *testing.T) {
	m := mustLoad(t, newTestRuntime(t, tireless), plain().On(abi.ExportTemplate, forever))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := m.Render(ctx, nil, Request{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

func TestRuntime_Memory_IsBounded(t *testing.T) {
	const pages = 16
	r := newTestRuntime(t, func(o *Options) { o.Limits.Memory = 3 * pages << 16 })
	g := plain()
	g.Pages = pages
	m := mustLoad(t, r, g.On(abi.ExportPrepare, i32(pages), grow, drop, unreachable))
	first := useOf(t, m, Request{}, 1)
	second := useOf(t, m, Request{}, 1)
	if used, limit := r.Memory(); used != 2*pages<<16 || limit != 3*pages<<16 {
		t.Errorf("%d of %d bytes", used, limit)
	}
	if _, err := first.Prepare(); !errors.Is(err, CauseTrap) { // it could grow
		t.Errorf("error %v", err)
	}
	third, fourth := useOf(t, m, Request{}, 1), openAnother(t, m)
	if err := <-fourth; err != nil { // the first has faulted and is gone
		t.Error(err)
	}
	if _, err := third.Prepare(); !errors.Is(err, CauseBudget) {
		t.Errorf("growing past the limit: %v", err)
	}
	for range 2 {
		_ = openAnother(t, m)
	}
	if err := <-openAnother(t, m); !errors.Is(err, CauseBudget) {
		t.Errorf("an instance past the limit: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

func openAnother(t *testing.T, m *Module) <-chan error {
	t.Helper()
	_, opened := openLater(t, m)
	err := <-opened
	again := make(chan error, 1)
	again <- err
	return again
}
