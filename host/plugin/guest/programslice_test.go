// SPDX-License-Identifier: MIT

package guest

import (
	"errors"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/turns"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler/program"
)

// A program that waits for the model holds no turn, however long it computed before: where there
// is one for all guests, as on two processors, others are set up meanwhile.
func TestInstance_RunProgram_WaitsWithoutATurn(t *testing.T) {
	h := newTestHost(t, hosttest.Tireless, func(o *plugin.HostOptions) { o.Limits.ProgramFuel = 1 << 45 })
	h.timeSlices = turns.NewPermits(1)
	g := asm.New(`{"name":"waits","branches":1}`)
	g.On(abi.ExportRun, asm.Each(1, i32c(20_000_000), []byte{0x01}), // some milliseconds: it needs a turn
		i32c(0), i32c(0), i32c(0), i32c(0), g.Call(abi.ImportBranchesWait), drop, i32c(0))
	u := begin(t, mustLoad(t, h, g), plugin.RequestInfo{}, 1)
	ended := make(chan error, 1)
	p := &program.Program{Branches: 1, Main: func(r *program.Run) error {
		err := u.RunProgram(r)
		ended <- err
		return err
	}}
	r := program.New(p, program.Options{Prompt: []program.Token{1}, Vocabulary: 100, Longest: 100, Tokens: 100, Wake: func() {}})
	r.Start()
	go r.Main()
	<-r.Done() // it waits
	r.Collect()
	if n := h.timeSlices.Taken(); n != 0 {
		t.Errorf("%d turns are taken", n)
	}
	_, opened := openLater(t, mustLoad(t, h, asm.New(`{"name":"short"}`).On(abi.ExportOpen, i32c(0))))
	if err := <-opened; err != nil {
		t.Error(err)
	}
	u.interrupt()
	r.Interrupt()
	if err := <-ended; !errors.Is(err, plugin.CauseCancelled) {
		t.Errorf("error %v", err)
	}
	if n := h.timeSlices.Taken(); n != 0 {
		t.Errorf("%d turns were not given back", n)
	}
}
