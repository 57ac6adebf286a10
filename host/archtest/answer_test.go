// SPDX-License-Identifier: MIT

package archtest

import (
	"fmt"
	"math"
)

// answer is a greedy answer, token by token.
type answer []step

// step is one token, with the log-probabilities of the likeliest ones; nil where they were not asked for.
type step struct {
	token int32
	top   map[int32]float64
}

// likeliest is how many log-probabilities a step has: the token's own, the next best's, and that of the end of an answer, which may not
// be drawn.
const likeliest = 3

// nearTie is how far apart two tokens' log-probabilities may be for other sums to decide otherwise between them, and by how much a
// log-probability may move. Shared cells are summed in the order in which they lie, and a matrix of other rows is multiplied in other
// steps. Where Penstock has no attention kernel for a model, ggml's sums values with 11 bits.
const nearTie = 0.05

// tally counts answers that were compared.
type tally struct {
	same, ties int     // the same to the last token, and up to a near tie
	moved      float64 // the most by which a log-probability differed
	tolerance  float64 // the most by which one may differ
}

func (c tally) String() string {
	text := fmt.Sprintf("%d of %d", c.same, c.same+c.ties)
	if c.ties > 0 {
		text += fmt.Sprintf(", %d to a near tie", c.ties)
	}
	return text
}

func (c *tally) add(o tally) {
	c.same, c.ties, c.moved = c.same+o.same, c.ties+o.ties, max(c.moved, o.moved)
}

// compare counts an answer, or says what is wrong with it. Where it differs from the wanted one, the two tokens must be a near tie, as
// each side that has log-probabilities sees it; the rest is not compared.
func (c *tally) compare(got, want answer) error {
	at, moved := difference(got, want)
	switch {
	case moved > c.tolerance:
		return fmt.Errorf("log-probabilities differ by %.2g up to token %d of %d, which may be %.2g: %v, want %v", moved, at, len(want), c.tolerance,
			got[min(at, len(got)-1)], want[min(at, len(want)-1)])
	case at == len(got) && at == len(want):
		c.same++
	case at < min(len(got), len(want)):
		c.ties++
	default:
		return fmt.Errorf("%d tokens, want %d", len(got), len(want))
	}
	c.moved = max(c.moved, moved)
	return nil
}

// difference is how many tokens two answers have in common, and the most by which their log-probabilities differ so far. Those of the
// first different token count as the gap between the two, as either answer sees it.
func difference(a, b answer) (common int, moved float64) {
	for common < min(len(a), len(b)) {
		x, y := a[common], b[common]
		if x.token != y.token {
			return common, max(moved, x.gap(y), y.gap(x))
		}
		if x.top != nil && y.top != nil {
			moved = max(moved, math.Abs(x.top[x.token]-y.top[x.token]))
		}
		common++
	}
	return common, moved
}

// gap is by how much a step likes its own token better than another's; as much as can be if that is none of the likeliest.
func (s step) gap(other step) float64 {
	if s.top == nil && other.top != nil {
		return 0 // the other knows
	}
	liked, known := s.top[other.token]
	if !known {
		return math.Inf(1)
	}
	return math.Abs(s.top[s.token] - liked)
}
