// SPDX-License-Identifier: MIT

package guest

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// Who waits for a turn is woken too.
func TestInstance_Call_Over_EndsTheWait(t *testing.T) {
	h := newTestHost(t, hosttest.Tireless)
	m := mustLoad(t, h, hosttest.Plain().On(abi.ExportOpen, i32c(0)))
	for range cap(h.timeSlices) {
		h.timeSlices <- struct{}{}
	}
	s, opened := openLater(t, m)
	s.interrupt()
	if err := <-opened; !errors.Is(err, plugin.CauseCancelled) {
		t.Errorf("error %v", err)
	}
	for range cap(h.timeSlices) {
		<-h.timeSlices
	}
}

// Guests that are set up take turns: a short one is through while long ones go on.
func TestInstance_Call_SetupTakesTurns(t *testing.T) {
	h := newTestHost(t, hosttest.Tireless)
	long := mustLoad(t, h, hosttest.Plain().On(abi.ExportOpen, forever))
	var users []*user
	var ends []<-chan error
	for range 2*cap(h.timeSlices) + 1 {
		s, opened := openLater(t, long)
		users, ends = append(users, s), append(ends, opened)
	}
	_, opened := openLater(t, mustLoad(t, h, asm.New(`{"name":"short"}`).On(abi.ExportOpen, i32c(0))))
	if err := <-opened; err != nil {
		t.Error(err)
	}
	for i, s := range users {
		s.interrupt()
		if err := <-ends[i]; !errors.Is(err, plugin.CauseCancelled) {
			t.Errorf("error %v", err)
		}
	}
	if n := len(h.timeSlices); n != 0 {
		t.Errorf("%d turns were not given back", n)
	}
}

// Time that passes while others have their turns says nothing against a plugin.
func TestInstance_Call_WaitingIsNoFault(t *testing.T) {
	h := newTestHost(t, hosttest.Tireless)
	m := mustLoad(t, h, hosttest.Plain().On(abi.ExportOpen, i32c(0)))
	h.Limits.SetupTime = 20 * time.Millisecond
	for range cap(h.timeSlices) {
		h.timeSlices <- struct{}{}
	}
	_, opened := openLater(t, m)
	var fault *plugin.Fault
	if err := <-opened; !errors.Is(err, plugin.CauseBusy) || !errors.As(err, &fault) || !fault.Blameless() {
		t.Errorf("error %v", err)
	}
	for range cap(h.timeSlices) {
		<-h.timeSlices
	}
}

// A call that takes long needs a turn, whatever it is for.
func TestInstance_Call_LongOnesTakeTurns(t *testing.T) {
	h := newTestHost(t, hosttest.Tireless, func(o *plugin.HostOptions) { o.Limits.HookTime = 10 * time.Second })
	s := useOf(t, mustLoad(t, h, hosttest.Plain().On(abi.ExportPrepare, forever)), plugin.RequestInfo{}, 1)
	for range cap(h.timeSlices) {
		h.timeSlices <- struct{}{}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := s.prepare()
		ended <- err
	}()
	<-h.timeSlices // once it is given away again, it is the guest that has it
	for len(h.timeSlices) < cap(h.timeSlices) {
		select {
		case err := <-ended:
			t.Fatalf("it ended without a turn: %v", err)
		default:
			runtime.Gosched()
		}
	}
	s.interrupt()
	if err := <-ended; !errors.Is(err, plugin.CauseCancelled) {
		t.Errorf("error %v", err)
	}
	if n := len(h.timeSlices); n != cap(h.timeSlices)-1 {
		t.Errorf("%d turns are taken, not %d", n, cap(h.timeSlices)-1)
	}
	for range cap(h.timeSlices) - 1 {
		<-h.timeSlices
	}
}

// Close is called because the request is over: that does not end it, whether it waits for a turn
// or has taken long.
func TestInstance_Close_IsNotInterrupted(t *testing.T) {
	for _, taken := range []bool{false, true} {
		h := newTestHost(t, hosttest.Tireless, func(o *plugin.HostOptions) { o.Limits.HookTime = 200 * time.Millisecond })
		m := mustLoad(t, h, hosttest.Plain().On(abi.ExportOpen, i32c(0)).On(abi.ExportClose, forever))
		faults := 0
		m.Faulted = func(*plugin.Fault, *plugin.RequestInfo) { faults++ }
		s, opened := openLater(t, m)
		if err := <-opened; err != nil {
			t.Fatal(err)
		}
		for range cap(h.timeSlices) {
			if taken {
				h.timeSlices <- struct{}{}
			}
		}
		s.interrupt()
		if err := s.Close(true); err != nil {
			t.Error(err)
		}
		if faults != 1 {
			t.Errorf("it did not end by the clock: %d faults", faults)
		}
		for range len(h.timeSlices) {
			<-h.timeSlices
		}
	}
}

func TestInstance_Call_IsEndedByTheClock(t *testing.T) {
	s := use(t, hosttest.Plain(), 1)
	s.module.Env.Limits.HookTime = time.Millisecond
	s.module.Env.Limits.HookFuel = 1 << 45
	g := useOf(t, mustLoad(t, s.module.Env, hosttest.Plain().On(abi.ExportPrepare, forever)), plugin.RequestInfo{}, 1)
	if _, err := g.prepare(); !errors.Is(err, plugin.CauseTime) {
		t.Errorf("error %v", err)
	}
}
