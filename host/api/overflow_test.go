// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"slices"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/tools/must"
)

// A reader that stops reading may have said that its answer goes on without the oldest events, or
// ends. No slot is parked for it then.
func TestSocket_Overflow_IsAsAsked(t *testing.T) {
	for _, tc := range []struct{ overflow, reason string }{{"drop", "length"}, {"cancel", "cancelled"}} {
		r := newRig(t, func(s *setup) { s.slots = 2 })
		slow, quick := r.dialTight(), r.dial()
		slow.send(`{"type":"generate","id":"s","overflow":"%s","request":{"prompt":"x","max_tokens":1500}}`, tc.overflow)
		inspect := func() scheduler.Snapshot {
			return must.Get(r.scheduler.Inspect(context.Background(), 1))(t)
		}
		for len(inspect().Ticks) == 0 { // the answer is not begun
		}
		for running := true; running; {
			quick.send(`{"type":"generate","id":"q","request":{"prompt":"y","max_tokens":100}}`)
			quick.until("end")
			running = slices.ContainsFunc(inspect().Slots, func(s scheduler.SlotInfo) bool { return s.Stream != "" })
		}
		tokens, gaps, last := 0, uint64(0), uint64(0)
		f := slow.next()
		for ; f.Type != "end"; f = slow.next() {
			if f.Type == "token" {
				tokens, gaps, last = tokens+1, gaps+f.Seq-last-1, f.Seq
			}
		}
		if f.Reason != tc.reason || f.Missed < gaps || f.Missed > gaps+1 || tokens == 0 || tokens+int(gaps) > 1500 { // started may be dropped, too
			t.Errorf("%s: after %d tokens and gaps of %d: %+v", tc.overflow, tokens, gaps, f)
		}
		if dropped := gaps > 0; dropped != (tc.overflow == "drop") {
			t.Errorf("%s: the gaps are of %d", tc.overflow, gaps)
		}
	}
}
