// SPDX-License-Identifier: MIT

package plugin

import (
	"runtime"
	"time"
)

// This file is what happens between two slices of a guest's fuel. Guest code cannot be preempted: Go's garbage collector
// waits for it, and so does who needs its processor. So a guest comes back every hundred microseconds or so, and this is
// the place to let others run, to look at a real clock, and to see whether anybody still waits for the guest.

// yieldTime is how long a guest keeps a processor from goroutines that wait for one.
const yieldTime = 100 * time.Microsecond

// start begins a call: the clock, and the turn of one that is set-up.
func (i *instance) start() *violation {
	limits := &i.module.runtime.limits
	i.started, i.waited = time.Now(), 0
	i.yielded = i.started
	most := limits.HookTime
	switch {
	case i.session.loading:
		most = limits.LoadTime
	case i.running.setup():
		most = limits.SetupTime
	}
	i.until = i.started.Add(most)
	if all := i.session.setUntil; !all.IsZero() && all.Before(i.until) {
		i.until = all
	}
	if !i.running.setup() {
		return nil
	}
	return i.take()
}

// stop ends a call.
func (i *instance) stop() {
	i.give()
	i.running = hookNone
}

// pause is called in the guest's goroutine. An error, which is a *violation, ends the call.
func (i *instance) pause() error {
	if v := i.rest(); v != nil {
		return v
	}
	return nil
}

func (i *instance) rest() *violation {
	select {
	case <-i.over():
		return wrong(CauseCancelled, "the request is over")
	default:
	}
	now := time.Now()
	if now.After(i.until) {
		return i.late()
	}
	if v := i.alternate(); v != nil {
		return v
	}
	if now.Sub(i.yielded) > yieldTime {
		runtime.Gosched()
		i.yielded = time.Now()
	}
	return nil
}

// over is closed when nobody waits for the call any more. Close is called because of that, and ends by itself.
func (i *instance) over() <-chan struct{} {
	if i.running == hookClose {
		return nil
	}
	return i.session.done
}

// late is a call that takes too long. Where it waited for most of the time, that says nothing against the plugin.
func (i *instance) late() *violation {
	took := time.Since(i.started)
	if worked := took - i.waited; worked < took/3 {
		return wrong(CauseBusy, "it computed for %v of %v; try again in a moment", worked.Round(time.Millisecond), took.Round(time.Millisecond))
	}
	return wrong(CauseTime, "it is not done after %v", took.Round(time.Millisecond))
}
