// SPDX-License-Identifier: MIT

package guest

import (
	"runtime"
	"time"

	"github.com/penstock/penstock/host/plugin"
)

// turns are for guests that are set up, and for calls that take long: only so many compute at a time, and they take turns. Half of
// the processors are always free of them for the tick, which may need one at any moment.
type turns chan struct{}

func newTurns() turns { return make(turns, max(1, runtime.GOMAXPROCS(0)/2)) }

// A guest computes turnTime and then lets the others have their turns. Where a request's set-up took more than freeTime by then, it
// also leaves the processor alone three times as long: a quarter of one is a request's share. What other calls take is counted when they are over.
const (
	turnTime = 5 * time.Millisecond
	freeTime = 100 * time.Millisecond
)

// takeTurn waits for a turn. A violation tells that the time or the request is over before.
func (i *Instance) takeTurn() *Violation {
	turns := i.module.Host.turns
	select {
	case turns <- struct{}{}:
		i.turnSince = time.Now()
		return nil
	default:
	}
	began := time.Now()
	late := time.NewTimer(time.Until(i.deadline))
	defer late.Stop()
	select {
	case turns <- struct{}{}:
		i.turnSince = time.Now()
		i.waited += i.turnSince.Sub(began)
		return nil
	case <-late.C:
		i.waited += time.Since(began)
		return i.tooLate()
	case <-i.requestOver():
		return Violationf(plugin.CauseCancelled, "while it waited for its turn")
	}
}

// giveTurn ends a turn.
func (i *Instance) giveTurn() {
	if !i.turnSince.IsZero() {
		<-i.module.Host.turns
		i.turnSince = time.Time{}
	}
}

// shareTurn lets others have their turns where this one was long. A call that began without a turn needs one then.
func (i *Instance) shareTurn() *Violation {
	if i.turnSince.IsZero() {
		if time.Since(i.started) < turnTime {
			return nil
		}
		return i.takeTurn()
	}
	had := time.Since(i.turnSince)
	if had < turnTime {
		return nil
	}
	i.giveTurn()
	if worked := time.Since(i.started) - i.waited; worked > freeTime && i.running.setup() && i.session.request != nil {
		rest := time.NewTimer(3 * had)
		defer rest.Stop()
		select {
		case <-rest.C:
		case <-i.requestOver():
			return Violationf(plugin.CauseCancelled, "while it rested")
		}
	}
	return i.takeTurn()
}
