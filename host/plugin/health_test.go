// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/plugins/abi"
)

// quarantine lets a test fault as clients in virtual time.
type quarantine struct {
	*testing.T
	module *Module
}

func inQuarantine(t *testing.T, test func(q quarantine)) {
	t.Helper()
	m := mustLoad(t, newTestRuntime(t), plain().On(abi.ExportPrepare, unreachable))
	synctest.Test(t, func(t *testing.T) { test(quarantine{t, m}) })
}

func sent(client, config string) Request { return Request{Client: client, Config: []byte(config)} }

func (q quarantine) fault(client, config string) {
	r := sent(client, config)
	q.module.faulted(&Fault{Plugin: q.module.Name, Export: abi.ExportPrepare, Cause: CauseTrap}, &r)
}

// waits is how long a request is refused for; 0: it is served.
func (q quarantine) waits(client, config string) time.Duration {
	q.Helper()
	r := sent(client, config)
	err := q.module.allow(&r)
	var refusal *QuarantineError
	if err != nil && (!errors.As(err, &refusal) || !errors.Is(err, ErrQuarantined) || !strings.Contains(err.Error(), "trap")) {
		q.Errorf("refused with %v", err)
	}
	if err == nil {
		return 0
	}
	return refusal.Wait
}

func (q quarantine) want(client, config string, want time.Duration) {
	q.Helper()
	if got := q.waits(client, config); got != want {
		q.Errorf("%s with %s waits %v, want %v", client, config, got, want)
	}
}

// What one client sends is nobody else's to pay for, however much of it there is.
func TestHealth_Faults_OfOneClient_AreItsOwn(t *testing.T) {
	inQuarantine(t, func(q quarantine) {
		for i := range 500 {
			q.fault("mallory", fmt.Sprintf(`{"n":%d}`, i))
		}
		q.want("alice", `{"n":1}`, 0)
		q.want("alice", "", 0)
		if q.waits("mallory", "") == 0 || !q.module.Health().Quarantined {
			t.Error("a client whose every configuration faults is not kept waiting")
		}
	})
}

// One configuration that faults leaves the client's others alone; five of them do not.
func TestHealth_Faults_OfOneConfiguration_AreItsOwn(t *testing.T) {
	inQuarantine(t, func(q quarantine) {
		for range abi.LimitFaults {
			q.want("bob", `{"a":1}`, 0)
			q.fault("bob", `{"a":1}`)
		}
		q.want("bob", `{"a":1}`, time.Second)
		q.want("bob", `{"a":2}`, 0)
		for i := range abi.LimitFaults - 1 {
			q.want("bob", `{"b":1}`, 0)
			q.fault("bob", fmt.Sprintf(`{"c":%d}`, i))
		}
		q.want("bob", `{"b":1}`, time.Second)
	})
}

// A pause ends by itself, and the next is twice as long, up to five minutes; a request that is served ends it all.
func TestHealth_Pauses_GrowAndEnd(t *testing.T) {
	inQuarantine(t, func(q quarantine) {
		for range abi.LimitFaults {
			q.fault("bob", "{}")
		}
		for want := firstPause; want < longestPause; want *= 2 {
			q.want("bob", "{}", want)
			time.Sleep(want)
			q.want("bob", "{}", 0)
			if q.module.Health().Quarantined {
				t.Error("quarantined after the pause")
			}
			q.fault("bob", "{}")
		}
		q.want("bob", "{}", longestPause)
		time.Sleep(longestPause)
		q.fault("bob", "{}")
		q.want("bob", "{}", longestPause)
		good := sent("bob", "{}")
		q.module.served(&good)
		q.want("bob", "{}", 0)
		q.fault("bob", "{}")
		q.want("bob", "{}", 0)
	})
}

func TestHealth_Faults_FarApart_AreForgotten(t *testing.T) {
	inQuarantine(t, func(q quarantine) {
		for range 3 * abi.LimitFaults {
			q.fault("bob", "{}")
			q.want("bob", "{}", 0)
			time.Sleep(time.Minute / (abi.LimitFaults - 1))
		}
	})
}

// Stages and templates are refused alike; without a client, which is how the operator's own plugins come, never.
func TestHealth_Quarantine_RefusesUntilReset(t *testing.T) {
	inQuarantine(t, func(q quarantine) {
		for range 2 * abi.LimitFaults {
			q.fault("bob", "")
			q.fault("", "")
		}
		if _, err := q.module.NewStage(Request{Client: "bob"}); !errors.Is(err, ErrQuarantined) {
			t.Errorf("got %v", err)
		}
		if _, err := q.module.Render(context.Background(), nil, Request{Client: "bob"}); !errors.Is(err, ErrQuarantined) {
			t.Errorf("got %v", err)
		}
		q.want("", "", 0)
		q.module.Reset()
		if h := q.module.Health(); h != (Health{}) {
			t.Errorf("got %+v", h)
		}
		q.want("bob", "", 0)
	})
}

func TestHealth_Records_AreBounded(t *testing.T) {
	inQuarantine(t, func(q quarantine) {
		for i := range 3 * mostBlamed {
			q.fault(fmt.Sprint("client ", i), "{}")
		}
		if n := len(q.module.health.blamed); n > mostBlamed {
			t.Errorf("%d records", n)
		}
	})
}

// A real stage lays its faults to its request, and one that ends well clears it.
func TestStage_Faults_AreItsRequests(t *testing.T) {
	g := plain()
	g.On(abi.ExportAccept, local(0), when(unreachable), i32(0))
	m := mustLoad(t, newTestRuntime(t), g)
	use := func(token int32) error {
		s, err := m.NewStage(sent("bob", "{}"))
		if err != nil {
			return err
		}
		if err := s.Rewind([]int32{1}, 1); err != nil {
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
			if err := use(1); errors.Is(err, ErrQuarantined) || err == nil {
				t.Fatalf("got %v, want a fault", err)
			}
		}
	}
	faults(abi.LimitFaults - 1)
	if err := use(0); err != nil {
		t.Fatal(err)
	}
	faults(abi.LimitFaults)
	if err := use(0); !errors.Is(err, ErrQuarantined) {
		t.Errorf("got %v", err)
	}
}
