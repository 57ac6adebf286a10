// SPDX-License-Identifier: MIT

package embedding

import (
	"testing"
	"testing/synctest"
	"time"
)

// calls counts what a backend was told.
type calls struct{ paused, resumed int }

func (c *calls) Pause()  { c.paused++ }
func (c *calls) Resume() { c.resumed++ }

// A pass is paused while a tick computes, and gets a third of the last tick's time before the next.
func TestTurns_Pause_AfterThePassHadItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns Turns
		var c calls
		turns.begin(&c)
		turns.Pause() // no tick before: nothing is owed
		if c.paused != 1 {
			t.Error("the pass was not paused")
		}
		for tick, want := range map[time.Duration]time.Duration{30 * time.Millisecond: 10 * time.Millisecond, time.Second: maxShare, 0: minShare} {
			time.Sleep(tick)
			turns.Resume()
			begun := time.Now()
			turns.Pause()
			if waited := time.Since(begun); waited < want || waited > want+time.Millisecond {
				t.Errorf("after a tick of %v the next waited %v, want %v", tick, waited, want)
			}
			turns.Resume()
			time.Sleep(time.Second)
			begun = time.Now()
			turns.Pause()
			if waited := time.Since(begun); waited != 0 {
				t.Errorf("a pass that had a second got %v more", waited)
			}
		}
		turns.Resume()
		turns.end()
		if c.paused != c.resumed {
			t.Errorf("%+v", c)
		}
	})
}

// The end of a pass ends the wait for its share; a pass that begins during a tick waits, and one after it does not.
func TestTurns_BeginAndEnd_DuringATick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns Turns
		var c calls
		turns.Pause()
		time.Sleep(time.Minute)
		turns.begin(&c)
		if c.paused != 1 {
			t.Error("a pass that began during a tick was not paused")
		}
		turns.Resume()
		go func() {
			time.Sleep(time.Millisecond)
			turns.end()
		}()
		begun := time.Now()
		turns.Pause()
		if waited := time.Since(begun); waited != time.Millisecond {
			t.Errorf("the tick waited %v for a pass that ended after a millisecond", waited)
		}
		turns.Resume()
		turns.begin(&c)
		if c.paused != 1 || c.resumed != 1 {
			t.Errorf("%+v, want no more than in the first pass", c)
		}
		turns.end()
	})
}
