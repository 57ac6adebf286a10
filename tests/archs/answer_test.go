// SPDX-License-Identifier: MIT

package archs

import (
	"fmt"
	"math"
	"testing"
)

// answer is a greedy answer, token by token.
type answer []step

// step is one token, with the log-probabilities of the likeliest ones; nil where they were not
// asked for.
type step struct {
	token int32
	top   map[int32]float64
}

// likeliest is how many log-probabilities a step has: the token's own, the next best's, and that
// of the end of an answer, which may not be drawn.
const likeliest = 3

// A near tie are two tokens whose log-probabilities are so near that other sums may decide
// otherwise between them. No log-probability may move by more. Shared cells are summed in the
// order in which they lie, and a matrix of other rows is multiplied in other steps.
const (
	ownTie   = 0.002 // between answers of Penstock
	peerTie  = 0.02  // between Penstock and llama-server, which rounds what it multiplies with keys and values to 11 bits
	roughTie = 0.1   // of architectures that amplify what is rounded
)

// rough are the architectures that amplify what is rounded: deepseek4 chooses blocks of cells,
// hrm_text computes its layers over and over.
var rough = map[string]bool{"deepseek4": true, "hrm_text": true}

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

// compare counts an answer, or says what is wrong with it. Where it differs from the wanted one,
// the two tokens must be a near tie, as each side that has log-probabilities sees it; the rest is
// not compared.
func (c *tally) compare(got, want answer) error {
	at, moved := difference(got, want)
	switch {
	case moved > c.tolerance:
		return fmt.Errorf("log-probabilities differ by %.2g up to token %d of %d, which may be %.2g", moved, at, len(want), c.tolerance)
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

// difference is how many tokens two answers have in common, and the most by which their
// log-probabilities differ so far. Those of the first different token count as the gap between the
// two, as either answer sees it.
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

// gap is by how much a step likes its own token better than another's; as much as can be if that
// is none of the likeliest.
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

// What is compared must be able to fail.
func TestTally_Compare(t *testing.T) {
	one := step{1, map[int32]float64{1: -1, 2: -1.001, 3: -2}}
	two := step{2, map[int32]float64{1: -1.001, 2: -1, 3: -2}}
	three := step{3, map[int32]float64{1: -2, 2: -2.5, 3: -1}}
	moved := step{1, map[int32]float64{1: -1.1, 2: -1.101, 3: -2}}
	for name, tc := range map[string]struct {
		got, want  answer
		same, ties int
	}{
		"the same":              {got: answer{one, two}, want: answer{one, two}, same: 1},
		"without probabilities": {got: answer{{token: 1}, {token: 2}}, want: answer{one, two}, same: 1},
		"a near tie":            {got: answer{two, three}, want: answer{one, two}, ties: 1},
		"a near tie, mute":      {got: answer{{token: 2}}, want: answer{one}, ties: 1},
		"another token":         {got: answer{three, two}, want: answer{one, two}},
		"another token, mute":   {got: answer{{token: 3}}, want: answer{one}},
		"an unlikely token":     {got: answer{{token: 4}}, want: answer{one}},
		"nothing is known":      {got: answer{{token: 1}}, want: answer{{token: 2}}},
		"too short":             {got: answer{one}, want: answer{one, two}},
		"too long":              {got: answer{one, two}, want: answer{one}},
		"empty":                 {got: nil, want: answer{one}},
		"moved":                 {got: answer{moved}, want: answer{one}},
	} {
		c := tally{tolerance: 0.01}
		err := c.compare(tc.got, tc.want)
		if c.same != tc.same || c.ties != tc.ties || (err == nil) != (tc.same+tc.ties == 1) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
}
