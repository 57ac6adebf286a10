// SPDX-License-Identifier: MIT

package guest

import (
	"runtime"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
)

// Nor does the time count in which the machine gives a guest's processor to others, a little at a
// time. Here all that the instance knows of the clock lies further back, and of its thread's not.
func TestInstance_Pause_WithoutAProcessor(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const computes, waits, each = 100 * time.Millisecond, 30, 10 * time.Millisecond
	h := newTestHost(t, hosttest.Tireless, func(o *plugin.HostOptions) { o.Limits.PlanTime, o.Limits.HookTime = computes, computes })
	for _, running := range []Export{Plan, Sample} {
		i := &Instance{module: &Module{Env: h}, session: &Session{request: &plugin.RequestInfo{}}, running: running}
		if v := i.startCall(); v != nil {
			t.Fatal(v)
		}
		i.resume(i.started)
		for range waits {
			for _, at := range []*time.Time{&i.started, &i.deadline, &i.yieldedAt, &i.sliceSince} {
				*at = at.Add(-each)
			}
			if err := i.pause(); err != nil {
				t.Fatalf("%v: %v", running, err)
			}
		}
		for began := time.Now(); ; {
			if err := i.pause(); err != nil {
				break
			}
			if time.Since(began) > time.Minute {
				t.Fatalf("%v: what it computes does not count", running)
			}
		}
		i.giveSlice()
	}
}
