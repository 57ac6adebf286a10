// SPDX-License-Identifier: MIT

package scheduler

import "sync/atomic"

// Turns lets several schedulers share one machine: their ticks compute one at a time, in the order
// in which they are ready. Two passes at once would have more threads than there are cores, and at
// each step of its graph each would wait for threads that do not run. While a slot of any
// scheduler generates, the ticks of all aim at their targets.
type Turns struct {
	turn       chan struct{} // full while a tick computes; those that wait to send are served in order
	generating atomic.Int32  // schedulers of which a slot generates
}

// NewTurns makes turns for schedulers whose Config names them.
func NewTurns() *Turns { return &Turns{turn: make(chan struct{}, 1)} }

// share is a scheduler's part in the turns; the zero value is that of one that has the machine for
// itself.
type share struct {
	turns      *Turns
	generating bool
}

// take waits until it is this scheduler's turn.
func (s *share) take() {
	if s.turns != nil {
		s.turns.turn <- struct{}{}
	}
}

// give ends this scheduler's turn.
func (s *share) give() {
	if s.turns != nil {
		<-s.turns.turn
	}
}

// note tells the others whether a slot of this scheduler generates.
func (s *share) note(generating bool) {
	if s.turns == nil || s.generating == generating {
		return
	}
	s.generating = generating
	if generating {
		s.turns.generating.Add(1)
	} else {
		s.turns.generating.Add(-1)
	}
}

// othersGenerate reports whether a slot of another scheduler generates.
func (s *share) othersGenerate() bool {
	if s.turns == nil {
		return false
	}
	n := s.turns.generating.Load()
	if s.generating {
		n--
	}
	return n > 0
}
