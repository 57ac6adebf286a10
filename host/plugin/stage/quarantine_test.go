// SPDX-License-Identifier: MIT

package stage

import (
	"errors"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/quarantine"
	"github.com/penstock/penstock/plugins/abi"
)

// Stages and templates are refused alike; without a client, which is how the operator's own
// plugins come, never.
func TestStage_Quarantine_RefusesUntilReset(t *testing.T) {
	p := hosttest.Load(t, hosttest.Open(t, load.New), hosttest.Plain().On(abi.ExportPrepare, unreachable))
	bob := plugin.RequestInfo{Client: "bob"}
	for range 2 * abi.LimitFaults {
		for _, r := range []plugin.RequestInfo{bob, {}} {
			s, err := New(p, r)
			if errors.Is(err, plugin.ErrQuarantined) && r.Client != "" {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Reset([]int32{1}, 1); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Prepare(); err == nil {
				t.Error("no fault")
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := New(p, bob); !errors.Is(err, plugin.ErrQuarantined) {
		t.Errorf("got %v", err)
	}
	if _, err := Render(t.Context(), p, nil, bob); !errors.Is(err, plugin.ErrQuarantined) {
		t.Errorf("got %v", err)
	}
	p.Reset()
	if h := p.Health(); h != (quarantine.Health{}) {
		t.Errorf("got %+v", h)
	}
	useOf(t, p, bob, 1)
}

// A real stage lays its faults to its request, and one that ends well clears it.
func TestStage_Faults_AreItsRequests(t *testing.T) {
	g := hosttest.Plain()
	g.On(abi.ExportAccept, local(0), when(unreachable), i32(0))
	m := hosttest.Load(t, hosttest.Open(t, load.New), g)
	use := func(token int32) error {
		s, err := New(m, plugin.RequestInfo{Client: "bob", Config: []byte("{}")})
		if err != nil {
			return err
		}
		if err := s.Reset([]int32{1}, 1); err != nil {
			t.Fatal(err)
		}
		_, fault := s.Accept(token)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return fault
	}
	faults := func(n int) {
		for range n {
			if err := use(1); errors.Is(err, plugin.ErrQuarantined) || err == nil {
				t.Fatalf("got %v, want a fault", err)
			}
		}
	}
	faults(abi.LimitFaults - 1)
	if err := use(0); err != nil {
		t.Fatal(err)
	}
	faults(abi.LimitFaults)
	if err := use(0); !errors.Is(err, plugin.ErrQuarantined) {
		t.Errorf("got %v", err)
	}
}
