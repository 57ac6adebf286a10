// SPDX-License-Identifier: MIT

package quarantine

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clients lets a test fault as clients in virtual time.
type clients struct {
	*testing.T
	*Quarantine
}

func inQuarantine(t *testing.T, test func(q clients)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(clients{t, New("guest", abi.LimitFaults, slog.New(slog.DiscardHandler))})
	})
}

func sent(client, config string) plugin.RequestInfo {
	return plugin.RequestInfo{Client: client, Config: []byte(config)}
}

func (q clients) fault(client, config string) {
	r := sent(client, config)
	q.Faulted(&plugin.Fault{Plugin: "guest", Export: abi.ExportPrepare, Cause: plugin.CauseTrap}, &r)
}

// waits is how long a request is refused for; 0: it is served.
func (q clients) waits(client, config string) time.Duration {
	q.Helper()
	r := sent(client, config)
	err := q.Check(&r)
	var refusal *plugin.QuarantineError
	if err != nil && (!errors.As(err, &refusal) || !errors.Is(err, plugin.ErrQuarantined) || !strings.Contains(err.Error(), "trap")) {
		q.Errorf("refused with %v", err)
	}
	if err == nil {
		return 0
	}
	return refusal.Wait
}

func (q clients) want(client, config string, want time.Duration) {
	q.Helper()
	if got := q.waits(client, config); got != want {
		q.Errorf("%s with %s waits %v, want %v", client, config, got, want)
	}
}

// Faults that say nothing against a plugin, of a machine that was short of time for one, refuse
// nobody, however many there are.
func TestQuarantine_Faulted_Blameless(t *testing.T) {
	inQuarantine(t, func(q clients) {
		r := sent("alice", "")
		for _, cause := range []error{plugin.CauseConflict, plugin.CauseBusy, plugin.CauseBudget, plugin.CauseCancelled} {
			for range 2 * abi.LimitFaults {
				q.Faulted(&plugin.Fault{Plugin: "guest", Export: abi.ExportPrepare, Cause: cause}, &r)
			}
		}
		q.want("alice", "", 0)
	})
}

// Who edits a script on a slow machine goes on: the plan is late, and says where the script was.
// One that says nothing counts, and so does another call.
func TestQuarantine_Faulted_LatePlan(t *testing.T) {
	inQuarantine(t, func(q clients) {
		for n, f := range []plugin.Fault{{Export: abi.ExportPlan, Said: "line 3"}, {Export: abi.ExportPlan}, {Export: abi.ExportOpen, Said: "line 3"}} {
			f.Cause = plugin.CauseTime
			r := sent(f.Export+f.Said, "")
			for range abi.LimitFaults {
				q.Faulted(&f, &r)
			}
			if err := q.Check(&r); (err != nil) != (n > 0) {
				t.Errorf("fault %d: %v", n, err)
			}
		}
	})
}

// A client that is refused is told of its own last fault, and nobody of what a guest has logged.
func TestQuarantine_Check_TellsTheSendersOwnFault(t *testing.T) {
	inQuarantine(t, func(q clients) {
		for range abi.LimitFaults {
			q.fault("alice", "")
		}
		mallory, alice := sent("mallory", ""), sent("alice", "")
		q.Faulted(&plugin.Fault{Plugin: "guest", Export: abi.ExportAccept, Cause: plugin.CauseExit, Log: []string{"a secret"}}, &mallory)
		err := q.Check(&alice)
		if err == nil || !strings.HasSuffix(err.Error(), "the last fault: plugin guest: penstock_prepare: trap") {
			t.Errorf("alice reads %v", err)
		}
		if last := q.Health().LastFault; last != "plugin guest: penstock_accept: exit" {
			t.Errorf("everybody reads %q", last)
		}
		q.Faulted(&plugin.Fault{Plugin: "a-secret", Export: abi.ExportAccept, Cause: plugin.CauseExit}, &mallory)
		if last := q.Health().LastFault; last != "plugin guest: penstock_accept: exit" {
			t.Errorf("everybody reads what mallory's request calls the plugin: %q", last)
		}
	})
}

// What a request calls a script is a word of its client, which others do not read.
func TestQuarantine_Health_NamesThePlugin(t *testing.T) {
	q, r := New("script", abi.LimitFaults, slog.New(slog.DiscardHandler)), sent("a", "")
	q.Faulted(&plugin.Fault{Plugin: "canary", Export: abi.ExportPrepare, Cause: plugin.CauseTrap}, &r)
	if last := q.Health().LastFault; !strings.HasPrefix(last, "plugin script: ") || strings.Contains(last, "canary") {
		t.Error(last)
	}
}

// What one client sends is nobody else's to pay for, however much of it there is.
func TestQuarantine_Faults_OfOneClient_AreItsOwn(t *testing.T) {
	inQuarantine(t, func(q clients) {
		for i := range 500 {
			q.fault("mallory", fmt.Sprintf(`{"n":%d}`, i))
		}
		q.want("alice", `{"n":1}`, 0)
		q.want("alice", "", 0)
		if q.waits("mallory", "") == 0 || !q.Health().Quarantined {
			t.Error("a client whose every configuration faults is not kept waiting")
		}
	})
}

// One configuration that faults leaves the client's others alone; five of them do not.
func TestQuarantine_Faults_OfOneConfiguration_AreItsOwn(t *testing.T) {
	inQuarantine(t, func(q clients) {
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

// A pause ends by itself, and the next is twice as long, up to five minutes; a request that is
// served ends it all.
func TestQuarantine_Pauses_GrowAndEnd(t *testing.T) {
	inQuarantine(t, func(q clients) {
		for range abi.LimitFaults {
			q.fault("bob", "{}")
		}
		for want := firstPause; want < longestPause; want *= 2 {
			q.want("bob", "{}", want)
			time.Sleep(want)
			q.want("bob", "{}", 0)
			if q.Health().Quarantined {
				t.Error("quarantined after the pause")
			}
			q.fault("bob", "{}")
		}
		q.want("bob", "{}", longestPause)
		time.Sleep(longestPause)
		q.fault("bob", "{}")
		q.want("bob", "{}", longestPause)
		good := sent("bob", "{}")
		q.Served(&good)
		q.want("bob", "{}", 0)
		q.fault("bob", "{}")
		q.want("bob", "{}", 0)
	})
}

func TestQuarantine_Faults_FarApart_AreForgotten(t *testing.T) {
	inQuarantine(t, func(q clients) {
		for range 3 * abi.LimitFaults {
			q.fault("bob", "{}")
			q.want("bob", "{}", 0)
			time.Sleep(time.Minute / (abi.LimitFaults - 1))
		}
	})
}

func TestQuarantine_RefusesUntilReset(t *testing.T) {
	inQuarantine(t, func(q clients) {
		for range 2 * abi.LimitFaults {
			q.fault("bob", "")
			q.fault("", "")
		}
		if q.waits("bob", "") == 0 {
			t.Error("a client whose requests fault is not kept waiting")
		}
		q.want("", "", 0)
		q.Reset()
		if h := q.Health(); h != (Health{}) {
			t.Errorf("got %+v", h)
		}
		q.want("bob", "", 0)
	})
}

func TestQuarantine_Records_AreBounded(t *testing.T) {
	inQuarantine(t, func(q clients) {
		for i := range 3 * mostRecords {
			q.fault(fmt.Sprint("client ", i), "{}")
		}
		if n := len(q.records); n > mostRecords {
			t.Errorf("%d records", n)
		}
	})
}
