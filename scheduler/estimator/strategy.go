// SPDX-License-Identifier: MIT

package estimator

import (
	"iter"
	"math"
	"time"
)

// Strategy decides how many prompt tokens a tick carries beside the decode tokens of generating slots. It is asked only
// when there are both. The answer is cut to what waits and fits, and is at least 1.
type Strategy interface {
	Prefill(l *Load) int
}

// DecodeMaximal keeps a tick within the target, but gives prompts their share of its time even if that exceeds it.
// Within the target it takes a chunk that is fair and efficient: see Load.Efficient.
type DecodeMaximal struct{}

// Prefill implements Strategy.
func (DecodeMaximal) Prefill(l *Load) int {
	return max(l.Efficient(l.Target), l.least())
}

// Balanced fills the target, and gives prompts as much of a tick's time as decoding even if that exceeds it.
type Balanced struct{}

// Prefill implements Strategy.
func (Balanced) Prefill(l *Load) int {
	return max(l.Most(l.Target), l.Most(2*l.Tick(0)))
}

// PrefillPriority computes prompts as fast as it can: the shortest time to first token, at the expense of everyone else.
type PrefillPriority struct{}

// Prefill implements Strategy.
func (PrefillPriority) Prefill(l *Load) int { return l.Room }

// Load is what a strategy decides on.
type Load struct {
	Decode  Pass // the decode tokens of this tick, one for each generating slot
	Waiting int  // prompt tokens waiting in all slots
	Depth   int  // cells a waiting prompt token attends to, on average
	Short   int  // slots that wait for a short prompt; 0 where any waits for a longer one
	Room    int  // prompt tokens that the tick can carry besides the decode tokens

	Target time.Duration // the scheduler's Config.ITLTarget
	Share  float64       // the scheduler's Config.PrefillShare

	Estimator *Estimator
}

// Tick estimates how long the forward passes of a tick with n prompt tokens take.
func (l *Load) Tick(n int) time.Duration {
	prefill := Pass{Tokens: n, Cells: n * (l.Depth + n/2)}
	switch {
	case n == 0:
		return l.Estimator.decode.predict(l.Decode)
	case l.Estimator.separate:
		return l.Estimator.decode.predict(l.Decode) + l.Estimator.prefill.predict(prefill)
	}
	return l.Estimator.prefill.predict(Pass{l.Decode.Tokens + prefill.Tokens, l.Decode.Cells + prefill.Cells})
}

// least is the chunk that prompts are owed whatever the target: its part of the tick's time is Share, or what short
// prompts are owed by their number. When many short requests come at once, those that happen to be first neither hold up
// the others for long nor generate with the machine half used.
func (l *Load) least() int {
	short := shortWeight * float64(l.Short)
	share := max(l.Share, min(short/(short+float64(l.Decode.Tokens)), 0.9))
	return l.Most(time.Duration(float64(l.Tick(0)) / (1 - share)))
}

// Most is the largest chunk that goes along with the decode tokens within a time; 0 where not even one token does.
func (l *Load) Most(within time.Duration) int {
	low, high := 0, min(l.Room, l.Waiting)
	for low < high { // the estimate grows with the size, but for noise
		mid := (low + high + 1) / 2
		if l.Tick(mid) <= within {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

// Efficient is the chunk within a time that is fair to prompts and streams and uses the machine well: the one with the largest
// product of the two rates, n/t and decode/t, times the square of the use. Where a token costs the same in every chunk, the use
// is 1 and prompts and streams have half the time each. Where it does not, larger is not always better: a token may cost more in
// a pass of 64 than in one of 16 or of 512. A size that was never tried is tried once: so the costs are learned.
func (l *Load) Efficient(within time.Duration) int {
	if l.Tick(1) == 0 {
		return firstChunk // nothing is known yet
	}
	alone, cheapest := l.Tick(0).Seconds(), l.cheapest()
	most := l.Most(within)
	if most == 0 {
		return 0
	}
	best, highest := most, 0.0
	for n := range l.candidates(most) {
		if !l.Estimator.prefill.seen(l.pass(n)) {
			return n
		}
		t := l.Tick(n).Seconds()
		use := (alone + float64(n)*cheapest) / t // the time that both would take in the passes that suit them best, by this one's
		if value := float64(n) / (t * t) * use * use; value >= highest {
			best, highest = n, value
		}
	}
	return l.probe(best, most)
}

// probe takes now and then the size before or after the best one instead. What it costs may have changed, or its first pass may
// have been disturbed: a size that is never chosen would never be known better.
func (l *Load) probe(best, most int) int {
	l.Estimator.choices++
	class, _ := place(l.pass(best))
	switch l.Estimator.choices % probeEvery {
	case 0:
		class++
	case probeEvery / 2:
		class--
	default:
		return best
	}
	n := l.chunk(sizes[max(min(class, classes-1), 0)])
	return max(min(n, most), min(leastMixed, most))
}

// candidates are the chunks worth weighing against each other, from the smallest up to most: one for each class of costs, and most.
func (l *Load) candidates(most int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, size := range sizes {
			if n := l.chunk(size); n >= min(leastMixed, most) && n < most && !yield(n) {
				return
			}
		}
		yield(most)
	}
}

// cheapest is what a prompt token adds to the tick, in seconds, where that is least.
func (l *Load) cheapest() float64 {
	alone, least := l.Tick(0).Seconds(), math.Inf(1)
	for n := range l.candidates(l.Room) {
		if l.Estimator.prefill.seen(l.pass(n)) {
			least = min(least, max(l.Tick(n).Seconds()-alone, 0)/float64(n))
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// Fast is the smallest chunk that computes prompts within a twentieth as fast as any: larger ones would only make
// newcomers wait longer for the end of the tick.
func (l *Load) Fast() int {
	limit := min(l.Room, l.Waiting, mostAlone)
	if l.Tick(1) == 0 {
		return min(firstChunk, limit)
	}
	rate := func(n int) float64 { return float64(n) / l.Tick(n).Seconds() }
	best := rate(limit)
	for _, n := range sizes {
		if n < leastAlone || n > limit {
			continue
		}
		if !l.Estimator.prefill.seen(n) {
			return n
		}
		best = max(best, rate(n))
	}
	for _, n := range sizes {
		if n >= leastAlone && n < limit && rate(n) > 0.95*best {
			return n
		}
	}
	return limit
}

const (
	firstChunk  = 64  // while nothing is known
	leastMixed  = 8   // smallest chunk worth trying beside decode tokens
	leastAlone  = 32  // smallest chunk worth a pass of its own: below it the weights are read for too few tokens
	shortWeight = 4   // of a short prompt against a generating slot
	probeEvery  = 16  // choices of a chunk after which those next to it had a turn each
	mostAlone   = 512 // largest one while nobody generates: it bounds how long a newcomer waits
)

// pass is how many tokens the pass with a chunk of n has, chunk how many a chunk may have in a pass of size.
func (l *Load) pass(n int) int {
	if l.Estimator.separate {
		return n
	}
	return l.Decode.Tokens + n
}

func (l *Load) chunk(size int) int {
	if l.Estimator.separate {
		return size
	}
	return size - l.Decode.Tokens
}
