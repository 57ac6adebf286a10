// SPDX-License-Identifier: MIT

package guest

import (
	"runtime"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/turns"
)

// newTimeSlices limit how many guests compute at a time in set-up calls and in long ones, which
// share the processors by time slices. At most half of the processors are theirs, since the tick
// may need one at any moment. Clients take turns, so that who has many guests set up, or plans
// without end, slows down only itself.
func newTimeSlices() *turns.Permits { return turns.NewPermits(max(1, runtime.GOMAXPROCS(0)/2)) }

// A time slice is sliceTime long. A set-up call that has computed for more than freeTime also rests
// three times as long as each slice was: a request's share is a quarter of a processor. Of other
// calls the background sampler counts the time when they are over.
const (
	sliceTime = 5 * time.Millisecond
	freeTime  = 100 * time.Millisecond
)

// takeSlice waits for a time slice. It returns a violation if the request is over before, or the
// deadline of a call whose waits count.
func (i *Instance) takeSlice() *Violation {
	turn := i.module.Env.timeSlices.Ask(i.session.client())
	select {
	case <-turn.Came():
		i.slice, i.sliceSince = turn, time.Now()
		return nil
	default:
	}
	began := time.Now()
	var late <-chan time.Time
	if !i.patient() {
		late = time.After(time.Until(i.deadline))
	}
	select {
	case <-turn.Came():
		i.slice, i.sliceSince = turn, time.Now()
		i.hasWaited(i.sliceSince.Sub(began))
		i.resume(i.sliceSince)
		return nil
	case <-late:
		turn.End()
		i.waited += time.Since(began)
		return i.tooLate()
	case <-i.requestOver():
		turn.End()
		return Violationf(plugin.CauseCancelled, "while it waited for its turn")
	}
}

// giveSlice ends a time slice.
func (i *Instance) giveSlice() {
	if i.slice != nil {
		i.slice.End()
		i.slice = nil
	}
}

// shareSlice ends a slice that was long enough and waits for the next. A call that began without a
// slice needs one after sliceTime.
func (i *Instance) shareSlice() *Violation {
	if i.slice == nil {
		if time.Since(i.started) < sliceTime {
			return nil
		}
		return i.takeSlice()
	}
	had := time.Since(i.sliceSince)
	if had < sliceTime {
		return nil
	}
	i.giveSlice()
	if worked := time.Since(i.started) - i.waited; worked > freeTime && i.running.setup() && (i.session.request != nil || i.session.owner != "") {
		began, rest := time.Now(), time.NewTimer(3*had)
		defer rest.Stop()
		select {
		case <-rest.C:
			i.rested += time.Since(began)
		case <-i.requestOver():
			return Violationf(plugin.CauseCancelled, "while it rested")
		}
	}
	return i.takeSlice()
}
