// SPDX-License-Identifier: MIT

package estimator

// Strategy chooses the chunk of a tick in which some slots generate and others have prompts to compute. The answer is cut to what waits
// and fits, and is at least 1.
type Strategy interface {
	Chunk(l *Load) int
}

// DecodeMaximal keeps the tick within the target, except for the least share of its time that prompts get.
type DecodeMaximal struct{}

// Chunk implements Strategy.
func (DecodeMaximal) Chunk(l *Load) int { return max(l.Best(l.Target), l.Least()) }

// Balanced fills the target, and gives prompts as much of the tick's time as decoding even if that exceeds it.
type Balanced struct{}

// Chunk implements Strategy.
func (Balanced) Chunk(l *Load) int { return max(l.Largest(l.Target), l.Largest(2*l.Duration(0))) }

// PrefillPriority computes prompts as fast as it can: the shortest time to the first token, at the expense of everyone else.
type PrefillPriority struct{}

// Chunk implements Strategy.
func (PrefillPriority) Chunk(l *Load) int { return l.Room }
