// SPDX-License-Identifier: MIT

package pausing

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
		var turns Gate
		var c calls
		turns.Begin(&c)
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
		turns.End()
		if c.paused != c.resumed {
			t.Errorf("%+v", c)
		}
	})
}

// The end of a pass ends the wait for its share; a pass that begins during a tick waits, and one
// after it does not.
func TestTurns_BeginAndEnd_DuringATick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns Gate
		var c calls
		turns.Pause()
		time.Sleep(time.Minute)
		turns.Begin(&c)
		if c.paused != 1 {
			t.Error("a pass that began during a tick was not paused")
		}
		turns.Resume()
		go func() {
			time.Sleep(time.Millisecond)
			turns.End()
		}()
		begun := time.Now()
		turns.Pause()
		if waited := time.Since(begun); waited != time.Millisecond {
			t.Errorf("the tick waited %v for a pass that ended after a millisecond", waited)
		}
		turns.Resume()
		turns.Begin(&c)
		if c.paused != 1 || c.resumed != 1 {
			t.Errorf("%+v, want no more than in the first pass", c)
		}
		turns.End()
	})
}

// Encoders wait for embeddings as for a tick, and go on when the last that they wait for has ended.
func TestPasses_EncodersWaitForEmbeddings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		passes := NewPasses()
		first, second := &passes.Embeddings, &passes.Encoders
		var c, d calls
		second.Begin(&d)
		first.Begin(&c)
		if d.paused != 1 {
			t.Error("the second does not wait for the first")
		}
		passes.Pause() // by the tick
		time.Sleep(30 * time.Millisecond)
		first.End()
		if d.resumed != 0 {
			t.Error("the second goes on beside the tick")
		}
		passes.Resume()
		if d.resumed != 1 || c.resumed != c.paused {
			t.Errorf("%+v, %+v", c, d)
		}
		begun := time.Now()
		first.Begin(&c) // after the share of the second
		if waited := time.Since(begun); waited != 10*time.Millisecond {
			t.Errorf("the second had %v of 30 ms", waited)
		}
		first.End()
		second.End()
		if c.paused != c.resumed || d.paused != d.resumed {
			t.Errorf("%+v, %+v", c, d)
		}
	})
}
