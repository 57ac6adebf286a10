// SPDX-License-Identifier: MIT

package socket

import (
	"fmt"
	"sync"

	"github.com/penstock/penstock/host/refusal"
)

// maxWaiting bounds the frames that wait for one answer.
const maxWaiting = 32

// lane has the frames for one answer acted on one after another, beside the reader.
type lane struct {
	room chan struct{} // has an element for each frame

	mu      sync.Mutex
	waiting []func()
	busy    bool // a goroutine acts on them
}

// inTurn has act done when the answer is prepared and the frames before were acted on. Of an
// answer that is not begun, more frames than may wait are refused. Otherwise the reader waits for
// room: the client sends them faster than they can be acted on.
func (a *answer) inTurn(act func()) error {
	k := a.connection
	select {
	case a.lane.room <- struct{}{}:
	default:
		if !a.isReady() {
			return &refusal.Error{Kind: refusal.KindBusy, Code: "too_many_frames", Field: "id",
				Message: fmt.Sprintf("%d frames wait until answer %q is begun; send more after its started frame", maxWaiting, a.id)}
		}
		select {
		case a.lane.room <- struct{}{}:
		case <-k.ctx.Done():
			return refusal.ErrGone
		}
	}
	if a.lane.add(act) {
		return nil
	}
	if err := k.enter(); err != nil {
		return err
	}
	k.lanes.Go(func() {
		defer k.leave()
		a.drain()
	})
	return nil
}

// add is false where a goroutine is wanted that acts on what is there.
func (l *lane) add(act func()) (busy bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	busy, l.busy = l.busy, true
	l.waiting = append(l.waiting, act)
	return busy
}

func (l *lane) next() (act func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.busy = false
		return nil, false
	}
	act, l.waiting = l.waiting[0], l.waiting[1:]
	return act, true
}

// goesOn is an error where the answer was not begun.
func (a *answer) goesOn() error {
	switch {
	case !a.isReady():
		return refusal.ErrGone // its connection has ended
	case !a.begun:
		return unknownID(a.id)
	}
	return nil
}

// drain acts on the frames in the lane until there are none.
func (a *answer) drain() {
	select {
	case <-a.ready:
	case <-a.connection.ctx.Done():
	}
	for {
		act, ok := a.lane.next()
		if !ok {
			return
		}
		act()
		<-a.lane.room
	}
}
