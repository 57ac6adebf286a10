// SPDX-License-Identifier: MIT

package estimator

import (
	"math"
	"time"
)

// Load is a tick for which a chunk is to be chosen.
type Load struct {
	Decode  Pass // the decode tokens of the tick, one for each generating slot
	Waiting int  // prompt tokens waiting in all slots
	Depth   int  // KV cells that the first of them attends to
	Short   int  // slots that wait for a short prompt; 0 where any waits for a longer one
	Room    int  // prompt tokens that the tick can carry besides the decode tokens

	Target time.Duration // aim for the duration of the tick
	Share  float64       // least part of the tick's time that prompts get

	Estimator *Estimator
}

const (
	shareAmongStreams = 0.6  // of the tick's time for prompts while somebody generates; see the package comment
	shareAlone        = 0.95 // while nobody does: a twentieth below the best rate, for newcomers wait until the tick ends
	firstChunk        = 64   // while nothing is known
	leastAmongStreams = 8    // smallest chunk worth a tick beside decode tokens
	leastAlone        = 32   // and without: below it the weights are read for too few tokens
	mostAlone         = 512  // largest chunk while nobody generates: it bounds how long a newcomer waits
	shortWeight       = 8    // of a short prompt against a generating slot
	shortShare        = 0.85 // most of the tick's time that short prompts get by their number
	exploreEvery      = 16   // choices, after which the sizes next to the best one had a turn each
)

// Chunk is how many prompt tokens the tick computes.
func (l *Load) Chunk(s Strategy) int {
	n := 0
	if l.Decode.Tokens > 0 {
		n = s.Chunk(l)
	} else {
		n = l.Best(math.MaxInt64)
	}
	return min(max(n, 1), l.Room, l.Waiting)
}

// Duration estimates how long the forward passes of the tick take with n prompt tokens.
func (l *Load) Duration(n int) time.Duration {
	e, prompt := l.Estimator, Pass{Tokens: n, Cells: n * (l.Depth + n/2)}
	switch {
	case n == 0:
		return e.decode.predict(l.Decode)
	case e.separate:
		return e.decode.predict(l.Decode) + e.prefill.predict(prompt)
	}
	return e.prefill.predict(Pass{l.Decode.Tokens + prompt.Tokens, l.Decode.Cells + prompt.Cells})
}

// Largest is the largest chunk with which the tick stays within a time; 0 where not even one token does.
func (l *Load) Largest(within time.Duration) int {
	low, high := 0, min(l.Room, l.Waiting)
	for low < high { // the estimate grows with the size, but for noise
		mid := (low + high + 1) / 2
		if l.Duration(mid) <= within {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

// Least is the chunk that prompts get whatever the target: Share of the tick's time, or what short prompts get by their number. When many
// short requests come at once, those that are first shall neither hold up the others nor generate with the machine half used.
func (l *Load) Least() int {
	short := shortWeight * float64(l.Short)
	share := max(l.Share, min(short/(short+float64(l.Decode.Tokens)), shortShare))
	return l.Largest(time.Duration(float64(l.Duration(0)) / (1 - share)))
}

// Best is the chunk within a time that has the largest n^s/t: see the package comment. It compares the sizes at the model's knots, and
// all that waits.
func (l *Load) Best(within time.Duration) int {
	if l.Duration(1) == 0 {
		return firstChunk
	}
	share, least, most := shareAmongStreams, leastAmongStreams, l.Largest(within)
	if l.Decode.Tokens == 0 {
		share, least, most = shareAlone, leastAlone, min(most, mostAlone)
	}
	if most <= least {
		return most
	}
	best, highest := 0, 0.0
	for i := range knotCount + 1 {
		n := most
		if i < knotCount {
			n = l.chunk(sizes[i])
		} else if most < l.Waiting && best > 0 {
			break
		}
		if n < least || n > most {
			continue
		}
		if !l.Estimator.prefill.measured(l.pass(n)) {
			return n
		}
		if value := math.Pow(float64(n), share) / l.Duration(n).Seconds(); value >= highest {
			best, highest = n, value
		}
	}
	return min(max(l.explore(best), least), most)
}

// explore now and then gives the size before or after the best one instead of it. What a size costs may have changed, or its first pass
// may have been disturbed: if it were never chosen, that would never be known.
func (l *Load) explore(best int) int {
	knot := nearestKnot(l.pass(best))
	l.Estimator.choices++
	switch l.Estimator.choices % exploreEvery {
	case 0:
		knot++
	case exploreEvery / 2:
		knot--
	default:
		return best
	}
	return l.chunk(sizes[min(max(knot, 0), knotCount-1)])
}

// pass is how many tokens are in the pass that computes a chunk of n, chunk how large the chunk is in a pass of so many tokens.
func (l *Load) pass(n int) int {
	if l.Estimator.separate {
		return n
	}
	return l.Decode.Tokens + n
}

func (l *Load) chunk(pass int) int {
	if l.Estimator.separate {
		return pass
	}
	return pass - l.Decode.Tokens
}
