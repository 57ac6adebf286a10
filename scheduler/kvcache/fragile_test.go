// SPDX-License-Identifier: MIT

package kvcache_test

import (
	"math/rand/v2"
	"time"

	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// fragile is a memory whose calls panic now and then, before or after they have done their work,
// and that may copy on a thread of its own: then a look at the copy finds it done or not.
type fragile struct {
	*schedulertest.Backend
	rng      *rand.Rand
	odds     int // one call of so many panics; 0: none does
	threaded bool
	panicked int
}

// broken is what it panics with.
type broken string

// risk panics, or not.
func (f *fragile) risk(call string) {
	if f.odds > 0 && f.rng.IntN(2*f.odds) == 0 {
		f.panicked++
		panic(broken(call))
	}
}

// riskFor is risk for a call that changes a sequence, of which nobody knows then what it holds.
func (f *fragile) riskFor(seq int32, call string) {
	defer func() {
		if v := recover(); v != nil {
			f.Spoil(seq)
			panic(v)
		}
	}()
	f.risk(call)
}

func (f *fragile) Truncate(seq int32, n int) int {
	f.riskFor(seq, "Truncate")
	n = f.Backend.Truncate(seq, n)
	f.riskFor(seq, "Truncate")
	return n
}

func (f *fragile) Share(src, dst int32, n int) int {
	f.riskFor(dst, "Share")
	n = f.Backend.Share(src, dst, n)
	f.riskFor(dst, "Share")
	return n
}

func (f *fragile) ContinueCopy(limit time.Duration, here bool) (done bool) {
	f.riskFor(-1, "ContinueCopy")
	if f.threaded && limit > 0 && !here && f.rng.IntN(3) > 0 {
		return false
	}
	done = f.Backend.ContinueCopy(limit, here)
	f.riskFor(-1, "ContinueCopy")
	return done
}

func (f *fragile) SaveState(seq int32) (kvcache.State, error) {
	f.risk("SaveState")
	s, err := f.Backend.SaveState(seq)
	return s, f.hand(s, err, "SaveState")
}

func (f *fragile) RestoreState(seq int32, s kvcache.State, n int) error {
	f.riskFor(seq, "RestoreState")
	err := f.Backend.RestoreState(seq, s, n)
	f.riskFor(seq, "RestoreState")
	return err
}

func (f *fragile) Cuttable(seq int32, n int) bool {
	f.risk("Cuttable")
	return f.Backend.Cuttable(seq, n)
}

func (f *fragile) Shareable(seq int32, n int) bool {
	f.risk("Shareable")
	return f.Backend.Shareable(seq, n)
}

func (f *fragile) StateCuttable(s kvcache.State, n int) bool {
	f.risk("StateCuttable")
	return f.Backend.StateCuttable(s, n)
}

func (f *fragile) SaveCheckpoint(seq int32, spent kvcache.State) (kvcache.State, error) {
	s, err := f.Backend.SaveCheckpoint(seq, spent)
	return s, f.hand(s, err, "SaveCheckpoint")
}

func (f *fragile) RestoreCheckpoint(src, dst int32, s kvcache.State, n int) error {
	f.riskFor(dst, "RestoreCheckpoint")
	err := f.Backend.RestoreCheckpoint(src, dst, s, n)
	f.riskFor(dst, "RestoreCheckpoint")
	return err
}

// hand panics, or not, with a state that nobody has yet: it is freed, as the collector of garbage
// does.
func (f *fragile) hand(s kvcache.State, err error, call string) error {
	defer func() {
		if v := recover(); v != nil {
			_ = s.Close()
			panic(v)
		}
	}()
	f.risk(call)
	return err
}

// fragilePlacer chooses sequences, too.
type fragilePlacer struct{ *fragile }

func (f fragilePlacer) Place(prefill int, running []kvcache.RunningSequence, idle []kvcache.IdleSequence) int32 {
	f.risk("Place")
	return schedulertest.Nearest{Backend: f.Backend}.Place(prefill, running, idle)
}
