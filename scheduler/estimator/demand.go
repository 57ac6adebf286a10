// SPDX-License-Identifier: MIT

package estimator

import (
	"math"
	"time"
)

const (
	shareAmongStreams = 0.5  // of the tick's time for prompts while any slot generates; see the package comment
	shareInOnePass    = 0.45 // the same where prompts share the pass of the decode tokens, whose fixed cost they then have for nothing
	shareAlone        = 0.95 // while none does: a twentieth below the best rate, since new requests wait until the tick ends
	firstChunk        = 64   // while nothing is known
	leastAmongStreams = 8    // smallest chunk worth a tick beside decode tokens
	leastAlone        = 32   // and without: below it the weights are read for too few tokens
	mostAlone         = 512  // largest chunk while no slot generates that takes longer than longestAlone
	shortWeight       = 7    // of a short prompt against a generating slot
	shortShare        = 0.92 // most of the tick's time that short prompts get by their number
	exploreEvery      = 16   // choices, after which the sizes next to the best one had a turn each
)

// longestAlone is how long a tick with more than mostAlone prompt tokens may take while no slot
// generates, since a new request may come and wait. A GPU computes some thousands in that time;
// few of them at once would leave it half used.
const longestAlone = 100 * time.Millisecond

// Demand is what a tick may compute: the decode tokens, which it computes in any case, and the
// prompts, of which a chunk is to be chosen.
type Demand struct {
	Decode  Pass     // the decode tokens, one for each generating slot
	Prompts []Prompt // in the order in which the chunk takes their tokens
	Short   int      // how many prompts there are if all are short, else 0
	Room    int      // prompt tokens that the tick can carry besides the decode tokens

	Apart      bool          // the chunk is computed in a pass of its own even where a tick has one pass for all
	Split      time.Duration // how much longer the decode tokens take because they need several passes
	Target     time.Duration // aim for the duration of the tick
	MinShare   float64       // least part of the tick's time that prompts get
	Neighbours bool          // slots that are not of this tick generate, and wait while it computes

	Estimator *Estimator
}

// Prompt is what is left of a prompt.
type Prompt struct {
	Tokens int // still to be computed
	Depth  int // KV cells that the first of them attends to
}

// Choose gives the chunk of the tick: how many prompt tokens it computes.
func (d *Demand) Choose(s Strategy) int {
	n := 0
	switch {
	case d.Decode.Tokens > 0:
		n = s.Chunk(d)
	case d.Neighbours:
		n = d.Best(max(d.Target, d.Duration(1)*3/2)) // where a pass alone takes as long as the target
	default:
		n = d.Best(math.MaxInt64)
	}
	return min(max(n, 1), d.largestChunk())
}

// Duration estimates how long the forward passes of the tick take with a chunk of n.
func (d *Demand) Duration(n int) time.Duration {
	e, chunk := d.Estimator, d.chunk(n)
	switch {
	case n == 0:
		return d.Split + e.decode.predict(d.Decode)
	case d.separate():
		return d.Split + e.decode.predict(d.Decode) + e.prefill.predict(chunk)
	}
	return d.Split + e.prefill.predict(Pass{d.Decode.Tokens + chunk.Tokens, d.Decode.Cells + chunk.Cells})
}

// separate reports whether decode tokens and the chunk are computed in two passes.
func (d *Demand) separate() bool { return d.Estimator.separate || d.Apart }

// chunk is what a pass over the first n prompt tokens computes.
func (d *Demand) chunk(n int) (p Pass) {
	for _, prompt := range d.Prompts {
		tokens := min(prompt.Tokens, n-p.Tokens)
		p.Cells += tokens * (prompt.Depth + tokens/2)
		if p.Tokens += tokens; p.Tokens == n {
			break
		}
	}
	return p
}

// waiting is how many prompt tokens there are.
func (d *Demand) waiting() (n int) {
	for _, prompt := range d.Prompts {
		n += prompt.Tokens
	}
	return n
}

// largestChunk is the largest chunk there can be.
func (d *Demand) largestChunk() int { return min(d.waiting(), d.Room) }

// Largest is the largest chunk with which the tick stays within a time; 0 where not even one token
// does.
func (d *Demand) Largest(within time.Duration) int {
	low, high := 0, d.largestChunk()
	for low < high { // the estimate grows with the size, but for noise
		mid := (low + high + 1) / 2
		if d.Duration(mid) <= within {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

// Least is the chunk that prompts get whatever the target: MinShare of the tick's time, or what
// short prompts get by their number. When many short requests come at once, those that are first
// shall neither hold up the others nor generate with the machine half used.
func (d *Demand) Least() int {
	short := shortWeight * float64(d.Short)
	share := max(d.MinShare, min(short/(short+float64(d.Decode.Tokens)), shortShare))
	return d.Largest(time.Duration(float64(d.Duration(0)) / (1 - share)))
}

// Best is the chunk within a time that has the largest n^s/t·e: see the package comment. It
// compares the sizes at the model's knots, and all that waits. The efficiency e counts only where
// prompts have a pass of their own beside one that decodes: in one pass the larger chunk always
// seems the more efficient, and while no slot generates the share says all.
func (d *Demand) Best(within time.Duration) int {
	if d.Duration(1) == 0 {
		if d.Neighbours {
			return leastAmongStreams
		}
		return firstChunk
	}
	share, least, most := shareAmongStreams, leastAmongStreams, d.Largest(within)
	switch {
	case d.Decode.Tokens == 0:
		share, least, most = shareAlone, leastAlone, min(most, max(d.Largest(longestAlone), mostAlone))
	case !d.separate():
		share = shareInOnePass
	}
	if most <= least {
		return most
	}
	byEfficiency := d.separate() && d.Decode.Tokens > 0
	decode, cheapest := 0.0, 0.0
	if byEfficiency {
		decode = d.Duration(0).Seconds()
		cheapest = d.cheapest(least, decode)
	}
	best, highest := 0, 0.0
	for i := range knotCount + 1 {
		n := most
		if i < knotCount {
			n = d.chunkInPass(sizes[i])
		} else if most < d.waiting() && best > 0 {
			break
		}
		if n < least || n > most {
			continue
		}
		if !d.Estimator.prefill.measured(d.passWith(n)) {
			return n
		}
		t := d.Duration(n).Seconds()
		value := math.Pow(float64(n), share) / t
		if byEfficiency {
			value *= (decode + float64(n)*cheapest) / t
		}
		if value >= highest {
			best, highest = n, value
		}
	}
	if near := min(max(d.explore(best), least), most); d.Duration(near) <= within { // a smaller chunk, too, can take longer
		return near
	}
	return best
}

// cheapest is how many seconds a prompt token adds to a tick whose decode tokens take decode
// seconds, in the chunk from least on where it adds the fewest.
func (d *Demand) cheapest(least int, decode float64) float64 {
	fewest, most := math.Inf(1), d.largestChunk()
	for _, size := range sizes {
		if n := d.chunkInPass(size); n >= least && n <= most && d.Estimator.prefill.measured(size) {
			fewest = min(fewest, max(d.Duration(n).Seconds()-decode, 0)/float64(n))
		}
	}
	if math.IsInf(fewest, 1) {
		return 0
	}
	return fewest
}

// explore now and then gives the size before or after the best one instead of it. What a size
// costs may have changed, or its first pass may have been disturbed: if it were never chosen, that
// would never be known.
func (d *Demand) explore(best int) int {
	knot := nearestKnot(d.passWith(best))
	d.Estimator.choices++
	switch d.Estimator.choices % exploreEvery {
	case 0:
		knot++
	case exploreEvery / 2:
		knot--
	default:
		return best
	}
	return d.chunkInPass(sizes[min(max(knot, 0), knotCount-1)])
}

// passWith is how many tokens are in the pass that computes a chunk of n.
func (d *Demand) passWith(n int) int {
	if d.separate() {
		return n
	}
	return d.Decode.Tokens + n
}

// chunkInPass is how large the chunk is in a pass with that many tokens.
func (d *Demand) chunkInPass(tokens int) int {
	if d.separate() {
		return tokens
	}
	return tokens - d.Decode.Tokens
}

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
