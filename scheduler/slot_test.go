// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

// A request for a slot of its own gets it from an answer that makes no use of it, as any request
// does, and from no other.
func TestScheduler_Slot_OfAParkedAnswer(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{Slots: 3})
	var parked []*scheduler.Stream
	for slot := range 3 {
		r := request(10, slot, 30)
		r.Slot = &slot
		st, _ := reach(t, s, r, 3)
		must.Do(t, control(t, s, st.Pause))
		parked = append(parked, st)
	}
	wanted := 1
	r := request(10, 5, 30)
	r.Slot = &wanted
	for a := submit(t, s, r); ; {
		s.Tick()
		e, ok := a.TryNext()
		if !ok {
			t.Fatal("the answer does not begin")
		}
		if e.Kind == scheduler.KindStarted && e.Started.Slot != wanted {
			t.Errorf("it began in slot %d", e.Started.Slot)
		}
		if e.Kind == scheduler.KindEnd {
			break
		}
	}
	for i, info := range scheduler.SnapshotOf(s).Slots {
		if (info.Stream != "") != (i != wanted) {
			t.Errorf("slot %d: %+v", i, info)
		}
	}
	for _, st := range parked {
		if err := control(t, s, st.Resume); err != nil {
			t.Error(err)
		}
	}
	for i, a := range finish(t, s, parked...) {
		if a.end.Usage.Generated != 30 {
			t.Errorf("answer %d: %+v", i, a.end)
		}
	}
}
