// SPDX-License-Identifier: MIT

package guest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// What a guest says before it traps is for its client; the log gets the host's words alone.
func TestInstance_FailBeforeATrap(t *testing.T) {
	const said = "secret is null, line 3"
	for name, then := range map[string][]byte{"a trap": unreachable, "no memory": slices.Concat(i32c(abi.LimitMemoryPages), grow, drop, unreachable)} {
		g := hosttest.Plain().Put(hosttest.AtScratch, said)
		g.On(abi.ExportAccept, i32c(hosttest.AtScratch), i32c(len(said)), g.Call(abi.ImportFail), then)
		_, err := use(t, g, 1).accept(1)
		hosttest.MustFault(t, err, abi.ExportAccept, plugin.CauseError, said)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the log gets %v", name, err)
		}
	}
	for _, endless := range []func(g *asm.Guest) []byte{ // what it would say at its end it says before
		func(*asm.Guest) []byte { return forever },
		func(g *asm.Guest) []byte {
			return asm.Loop(i32c(0), i32c(4096), i32c(0), i32c(0), i32c(0), g.Call(abi.ImportTokenize), drop)
		},
	} {
		g := hosttest.Plain().Put(hosttest.AtScratch, said)
		g.On(abi.ExportAccept, i32c(hosttest.AtScratch), i32c(len(said)), g.Call(abi.ImportFail), endless(g), i32c(0))
		_, err := use(t, g, 1).accept(1)
		hosttest.MustFault(t, err, abi.ExportAccept, plugin.CauseError, said)
	}
}

// Where a call is too slow, which is the machine's, too, the client is told what the guest has said
// of it before.
func TestInstance_FailBeforeTheClock(t *testing.T) {
	const said = "it used up its time, line 3"
	s := use(t, hosttest.Plain(), 1)
	s.module.Env.Limits.HookTime, s.module.Env.Limits.HookFuel = time.Millisecond, 1<<45
	g := hosttest.Plain().Put(hosttest.AtScratch, said)
	g.On(abi.ExportPrepare, i32c(hosttest.AtScratch), i32c(len(said)), g.Call(abi.ImportFail), forever)
	_, err := useOf(t, mustLoad(t, s.module.Env, g), plugin.RequestInfo{}, 1).prepare()
	if !errors.Is(err, plugin.CauseTime) || strings.Contains(err.Error(), said) || !strings.Contains(plugin.Told(err), said) {
		t.Errorf("got %v, told %s", err, plugin.Told(err))
	}
}

// A plan is nobody else's: its instance is gone with it, and the module that it came from is as it
// was.
func TestModule_Plan_LeavesTheModule(t *testing.T) {
	g := hosttest.Warmed()
	g.On(abi.ExportPlan, poke(3<<16, 5), i32c(0)).On(abi.ExportSample, i32c(-1))
	m := mustLoad(t, newTestHost(t), g)
	request := &plugin.RequestInfo{Config: []byte(`{}`)}
	planned, err := m.Plan(nil, request, func(planned *Module, said string) error {
		if said != "" {
			t.Errorf("it said %q", said)
		}
		planned.Narrow([]string{abi.ExportOpen}, 0)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if planned.Has(Sample) || planned.Has(Plan) || !planned.Has(Open) || !m.Has(Sample) || !m.Has(Plan) || planned.PlanFuel == 0 {
		t.Errorf("%v of %v", planned.Exports, m.Exports)
	}
	for of, want := range map[*Module]int32{planned: 5, m: 77} {
		if u := useOf(t, of, plugin.RequestInfo{}, 1); peek(u, 3<<16) != want || peek(u, 4<<16+8) != 78 {
			t.Errorf("memory has %d, want %d", peek(u, 3<<16), want)
		}
	}
	if used := m.Env.budget.used.Load(); used == 0 {
		t.Error("nothing is taken for the plan")
	}
	planned.Close()
	wrong := errors.New("hold is 99")
	_, err = m.Plan(nil, request, func(*Module, string) error { return wrong })
	hosttest.MustFault(t, err, abi.ExportPlan, plugin.CauseAnswer, "the plan cannot be used: hold is 99")
	over := make(chan struct{})
	close(over)
	endless := mustLoad(t, newTestHost(t, hosttest.Tireless), hosttest.Plain().On(abi.ExportPlan, forever))
	_, err = endless.Plan(over, request, func(*Module, string) error { return nil })
	hosttest.MustFault(t, err, abi.ExportPlan, plugin.CauseCancelled, "")
}

// What scripts keep of their plans counts for their client, as their instances do.
func TestModule_Plan_CountsByClient(t *testing.T) {
	const pages = 64 // 4 MiB, of which a plan keeps half
	g := hosttest.Plain().On(abi.ExportPlan, i32c(pages), grow, drop, i32c(4<<16), i32c(1), i32c(pages/2<<16), asm.Fill, i32c(0))
	h := newTestHost(t, func(o *plugin.HostOptions) { o.Limits.Memory = 32 << 20 })
	m := mustLoad(t, h, g)
	m.Shares = true
	plan := func(client string) error {
		planned, err := m.Plan(nil, &plugin.RequestInfo{Client: client}, func(*Module, string) error { return nil })
		if err == nil {
			t.Cleanup(planned.Close)
		}
		return err
	}
	var err error
	kept := 0
	for ; err == nil; kept++ {
		err = plan("mallory")
	}
	hosttest.MustFault(t, err, abi.ExportPlan, plugin.CauseBudget, "your scripts and modules have ")
	if used := h.budget.used.Load(); used > h.budget.limit/2 || kept < 3 {
		t.Errorf("%d bytes are taken after %d plans", used, kept)
	}
	if err := plan("alice"); err != nil {
		t.Errorf("another client: %v", err)
	}
}
