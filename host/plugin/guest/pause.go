// SPDX-License-Identifier: MIT

package guest

import (
	"fmt"
	"runtime"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/turns"
	"github.com/penstock/penstock/scheduler/background"
)

// This file is what happens between two slices of a guest's fuel. Guest code cannot be preempted:
// Go's garbage collector waits for it, and so does every goroutine that needs its processor. So a
// guest returns to Go about every hundred microseconds. Here others may run, the call's deadline
// is checked, and the call ends if nobody waits for it any more.

// yieldTime is how long a guest keeps a processor from goroutines that wait for one. Between two
// pauses it computes for about as long, and code that waits for memory at every instruction for
// less than longestGap. After more than likelyGap the clock of the thread is asked whether the
// machine has given the processor to other programs.
const (
	yieldTime  = 100 * time.Microsecond
	likelyGap  = time.Millisecond
	longestGap = 50 * time.Millisecond
)

// pause is called in the guest's goroutine. An error, which is a *Violation, ends the call.
func (i *Instance) pause() error {
	select {
	case <-i.requestOver():
		return Violationf(plugin.CauseCancelled, "the request is over")
	default:
	}
	now := time.Now()
	if lost := i.lost(now); lost > 0 {
		i.hasWaited(lost)
	}
	if now.After(i.deadline) || i.hasSpentPlanTime(now) {
		return i.tooLate(now)
	}
	if v := i.shareSlice(); v != nil {
		return v
	}
	if now.Sub(i.yieldedAt) > yieldTime {
		began := time.Now()
		runtime.Gosched()
		i.resume(time.Now())
		i.hasWaited(i.yieldedAt.Sub(began))
	}
	return nil
}

// resume says since when the guest computes without a pause.
func (i *Instance) resume(at time.Time) {
	i.yieldedAt, i.thread, i.threadTime = at, background.ThreadID(), background.ThreadTime()
}

// lost is how long the guest's thread had no processor since it was resumed. Where that was on
// another thread, or in an earlier call, only what is beyond longestGap is known to be lost.
func (i *Instance) lost(now time.Time) time.Duration {
	took := now.Sub(i.yieldedAt)
	if took < likelyGap {
		return 0
	}
	lost := max(took-longestGap, 0)
	if i.thread == background.ThreadID() {
		lost = max(lost, took-(background.ThreadTime()-i.threadTime))
	}
	return lost
}

// hasWaited says that the guest did not compute for a while. That shortens the time of set-up calls
// only, which counts waits, and of Close.
func (i *Instance) hasWaited(d time.Duration) {
	i.waited += d
	if i.patient() {
		i.deadline = i.deadline.Add(d)
	}
}

// patient says that the call's time is what it computes. The work of such a call is bounded by its
// fuel, and its request may end it at any moment.
func (i *Instance) patient() bool { return !i.running.setup() && i.running != Close }

// requestOver is closed when nobody waits for the call any more. penstock_close is called after
// that, so nothing interrupts it.
func (i *Instance) requestOver() <-chan struct{} {
	if i.running == Close {
		return nil
	}
	return i.session.Done
}

// hasSpentPlanTime reports whether the call is a plan that has computed for as long as it may.
func (i *Instance) hasSpentPlanTime(now time.Time) bool {
	return i.running == Plan && now.Sub(i.started)-i.waited-i.rested > i.module.Env.Limits.PlanTime
}

// tooLate is the violation of a call past its deadline. If most of its time was waits that count,
// the plugin is not blamed.
func (i *Instance) tooLate(now time.Time) *Violation {
	took := now.Sub(i.started)
	worked := took - i.waited
	if !i.patient() && worked < took/3 && !i.hasSpentPlanTime(now) {
		return Violationf(plugin.CauseBusy, "it computed for %v of %v; try again in a moment", worked.Round(time.Millisecond), took.Round(time.Millisecond))
	}
	if i.patient() {
		took = worked
	}
	return Violationf(plugin.CauseTime, "it is not done after %v%s", took.Round(time.Millisecond), i.slowRemedy())
}

// slowRemedy says what to do about an Open that takes too long.
func (i *Instance) slowRemedy() string {
	const large = 1 << 20
	switch size := len(i.session.config); {
	case i.running != Open:
		return ""
	case size > large:
		return fmt.Sprintf("; the configuration has %s", mebibytes(uint64(size)))
	}
	return "; build what all requests share in penstock_warm (the SDKs' Warm), which runs once for each model"
}

// pauseBefore lets others run before work of a host function whose time its fuel does not reflect.
func (i *Instance) pauseBefore() {
	if err := i.pause(); err != nil {
		panic(err)
	}
}

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
		return i.tooLate(time.Now())
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
