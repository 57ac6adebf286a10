// SPDX-License-Identifier: MIT

package stage

import (
	"errors"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

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
