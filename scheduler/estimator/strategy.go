// SPDX-License-Identifier: MIT

package estimator

// Strategy chooses the chunk of a tick in which some slots generate and others have prompts to
// compute. The answer is cut to what waits and fits, and is at least 1.
type Strategy interface {
	Chunk(d *Demand) int
}

// DecodeMaximal keeps the tick within the target, except for the least share of its time that
// prompts get.
type DecodeMaximal struct{}

// Chunk implements Strategy.
func (DecodeMaximal) Chunk(d *Demand) int { return max(d.Best(d.Target), d.Least()) }

// Balanced fills the target, and gives prompts as much of the tick's time as decoding even if that
// exceeds it.
type Balanced struct{}

// Chunk implements Strategy.
func (Balanced) Chunk(d *Demand) int { return max(d.Largest(d.Target), d.Largest(2*d.Duration(0))) }

// PrefillPriority computes prompts as fast as it can: the shortest time to the first token, at the
// expense of everyone else.
type PrefillPriority struct{}

// Chunk implements Strategy.
func (PrefillPriority) Chunk(d *Demand) int { return d.Room }
