// SPDX-License-Identifier: MIT

package isolation

import (
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/steadytest"
)

// trials is how often a load is tried that seems to hold up others.
const trials = 5

// allowed is the longest gap that streams may have beside a load where they have another without
// it. It is far from what is promised, since each is one gap of many.
func allowed(alone time.Duration) time.Duration { return 3*alone + 100*time.Millisecond }

// holdsUpNobody compares how long streams wait for a token beside a load with how long they wait
// without it on the same machine, in turns, so that what else the machine does is in both. What
// the load does, it does each time, and what chance does, it does not: the shortest wait beside
// the load counts, and of those without it the median. A wait beside the load that is allowed
// whatever the other one is needs no other one; the long test has both, for their figures.
func holdsUpNobody(t *testing.T, what string, streams func() (stop func() time.Duration), load func()) {
	t.Helper()
	var beside, alone []time.Duration
	for range trials {
		stop, begun := streams(), time.Now()
		load()
		gap, took := stop(), time.Since(begun)
		if gap <= allowed(0) && !steadytest.Long() {
			t.Logf("%-26s longest gap %8v", what, gap.Round(time.Millisecond))
			return
		}
		beside = append(beside, gap)
		stop = streams()
		time.Sleep(took) // a measurement, not a wait for a state
		alone = append(alone, stop())
		t.Logf("%-26s longest gap %8v, without it %8v", what, gap.Round(time.Millisecond), alone[len(alone)-1].Round(time.Millisecond))
		slices.Sort(alone)
		if slices.Min(beside) <= allowed(alone[len(alone)/2]) {
			return
		}
	}
	t.Errorf("%s holds up others in each of %d trials", what, trials)
}
