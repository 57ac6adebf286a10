// SPDX-License-Identifier: MIT

package scheduler

import (
	"math"
	"time"
)

// Strategy decides how many prompt tokens a tick carries beside the decode tokens of generating slots. It is asked only
// when there are both. The answer is cut to what waits and fits, and is at least 1.
type Strategy interface {
	Prefill(l *Load) int
}

// DecodeMaximal keeps a tick within the target, but gives prompts their share of its time even if that exceeds it.
// Within the target it takes the chunk that is fairest to both: see Load.Fair.
type DecodeMaximal struct{}

// Prefill implements Strategy.
func (DecodeMaximal) Prefill(l *Load) int {
	return max(l.Fair(l.Target), l.least())
}

// Balanced fills the target, and gives prompts as much of a tick's time as decoding even if that exceeds it.
type Balanced struct{}

// Prefill implements Strategy.
func (Balanced) Prefill(l *Load) int {
	return max(l.Most(l.Target), l.Most(2*l.Predict(l.Decode)))
}

// PrefillPriority computes prompts as fast as it can: the shortest time to first token, at the expense of everyone else.
type PrefillPriority struct{}

// Prefill implements Strategy.
func (PrefillPriority) Prefill(l *Load) int { return l.Room }

// Load is what a strategy decides on.
type Load struct {
	Decode  int // decode tokens in this tick, one for each generating slot
	Waiting int // prompt tokens waiting in all slots
	Room    int // tokens the pass can carry besides the decode tokens

	Target time.Duration // Config.ITLTarget
	Share  float64       // Config.PrefillShare

	costs *costs
}

// Predict estimates how long a pass of n tokens takes.
func (l *Load) Predict(n int) time.Duration { return l.costs.predict(n) }

// least is the chunk that prompts are owed whatever the target: its part of the tick's time is Share.
func (l *Load) least() int {
	return l.Most(time.Duration(float64(l.Predict(l.Decode)) / (1 - l.Share)))
}

func (l *Load) limit() int { return min(l.Room, l.Waiting) }

// Most is the largest chunk that goes along with the decode tokens within a time; 0 where not even one token does.
func (l *Load) Most(within time.Duration) int {
	low, high := 0, l.limit()
	for low < high { // the estimate grows with the size, but for noise
		mid := (low + high + 1) / 2
		if l.Predict(l.Decode+mid) <= within {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

// Fair is the chunk within a time that is fairest to prompts and streams: the one with the largest product of the two
// rates, n/t and decode/t. Where a token costs the same in every chunk, prompts and streams then have half the time each.
// Where it does not, larger is not always better: a token may cost more in a pass of 64 than in one of 16 or of 512.
func (l *Load) Fair(within time.Duration) int {
	return l.best(leastMixed, within, func(n int, t float64) float64 { return float64(n) / (t * t) })
}

// Fast is the chunk within a time that computes prompts fastest.
func (l *Load) Fast(within time.Duration) int {
	return l.best(leastAlone, within, func(n int, t float64) float64 { return float64(n) / t })
}

const (
	firstChunk = 64 // while nothing is known
	leastMixed = 8  // smallest chunk worth trying beside decode tokens
	leastAlone = 32 // smallest chunk worth a pass of its own: below it the weights are read for too few tokens
)

// best is the chunk of the highest value, a function of its tokens and the seconds its pass takes, within a time. A size
// that was never tried is tried once: so the costs are learned. Chunks below least are for when nothing larger fits.
func (l *Load) best(least int, within time.Duration, value func(n int, t float64) float64) int {
	if l.Predict(1) == 0 {
		return firstChunk // nothing is known yet
	}
	most := l.Most(within)
	best, highest := most, 0.0
	for class := classes; class >= 0; class-- { // from the largest: among equals it wins
		n := most
		if class < classes {
			n = sizes[class] - l.Decode
		}
		if n < min(least, most) || n > most {
			continue
		}
		if !l.costs.seen(l.Decode + n) {
			best, highest = n, math.Inf(1) // the smallest of those wins
		} else if v := value(n, l.Predict(l.Decode+n).Seconds()); v > highest {
			best, highest = n, v
		}
	}
	return best
}
