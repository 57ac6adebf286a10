// SPDX-License-Identifier: MIT

package engine

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/tools/must"
)

// hypothesis is one of a beam search: the tokens after the prompt, and their log-probabilities'
// sum.
type hypothesis struct {
	tokens []int32
	sum    float64
	branch *program.Branch
}

// move is a token that a hypothesis may go on with.
type move struct {
	from  int
	token int32
	sum   float64
}

// bestMoves are those of a beam search's next step, from the log-probabilities of each
// hypothesis's next tokens.
func bestMoves(width int, moves []move) []move {
	slices.SortStableFunc(moves, func(a, b move) int { return cmp.Compare(b.sum, a.sum) })
	return moves[:width]
}

// beams is a beam search as a program. Without end tokens and length penalty: what is compared is
// the branches.
func beams(width, steps int, found *[]hypothesis) func(*program.Run) error {
	return func(r *program.Run) error {
		root, err := r.Open(r.Prompt())
		if err != nil {
			return err
		}
		live := []hypothesis{{branch: root}}
		for range steps {
			all := make([]*program.Branch, len(live))
			for i, h := range live {
				all[i] = h.branch
			}
			if _, err := r.Wait(width, false, all...); err != nil {
				return err
			}
			var moves []move
			for i, h := range live {
				said, err := h.branch.Best(width)
				if err != nil {
					return err
				}
				for k, t := range said.IDs {
					moves = append(moves, move{i, t, h.sum + float64(said.Logits[k]) - float64(said.LogSum)})
				}
			}
			if live, err = grown(live, bestMoves(width, moves)); err != nil {
				return err
			}
		}
		*found = live
		_, err = r.Show(0, live[0].tokens, nil)
		return err
	}
}

// grown closes the branches that no move goes on from, and forks the others as often as there are
// more moves than one.
func grown(live []hypothesis, moves []move) (next []hypothesis, err error) {
	left := make([]int, len(live))
	for _, m := range moves {
		left[m.from]++
	}
	for i, h := range live {
		if left[i] == 0 {
			h.branch.Close()
		}
	}
	for _, m := range moves {
		h := live[m.from]
		b := h.branch
		if left[m.from]--; left[m.from] > 0 {
			if b, err = b.Fork(); err != nil {
				return nil, err
			}
		}
		next = append(next, hypothesis{append(slices.Clone(h.tokens), m.token), m.sum, b})
	}
	for _, h := range next { // when all are forked
		if err := h.branch.Append(h.tokens[len(h.tokens)-1:], false); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// A beam search by a program finds what one finds that computes each hypothesis from the
// beginning, with full log-probabilities: its forks are what their tokens say. The tokens in the
// branches are the prompt once and one for each hypothesis and step.
func TestProgram_BeamSearch_EqualsAReference(t *testing.T) {
	const width, steps = 3, 6
	for name, kind := range map[string]string{"attention": "", "recurrent": "mamba", "sliding window": "cohere2"} {
		t.Run(name, func(t *testing.T) {
			o := Options{Slots: 4, CacheSequences: 5, ContextSize: 5 * 1024, KVLayout: "split"}
			e, prompt := openedSmall(t, kind, o), letters(60, 1)
			if kind == "" {
				prompt = tokens(t, e, "Once upon a time there was a little frog who lived by a pond with his mother and his father. One day the frog wanted to see what was behind the big hill, so he")
			}
			want := referenceBeams(t, e, prompt, width, steps)
			s, stop := scheduled(t, e, 4)
			defer stop()
			r := greedy(t, e, "x", 0)
			for _, stage := range r.Chain {
				_ = stage.Close()
			}
			var found []hypothesis
			r.Chain, r.Prompt[0].Tokens = nil, prompt
			r.Program = &program.Program{Main: beams(width, steps, &found), Branches: width}
			_, ends := said(t, s, r)
			if ends[0].Err != nil {
				t.Fatal(ends[0].Err)
			}
			for i, h := range found {
				if d := math.Abs(h.sum - want[i].sum); !slices.Equal(h.tokens, want[i].tokens) || d > 1e-3 {
					t.Errorf("hypothesis %d is %v with %v, the reference has %v with %v", i, h.tokens, h.sum, want[i].tokens, want[i].sum)
				}
			}
			prefill, decode := computed(t, s)
			if n, most := prefill+decode, len(prompt)+width*steps; kind == "" && n > most {
				t.Errorf("%d tokens were computed, and %d are in branches", n, most)
			}
		})
	}
}

// computed counts the tokens of prompts and of answers that passes have computed.
func computed(t testing.TB, s *scheduler.Scheduler) (prefill, decode int) {
	t.Helper()
	snap := must.Get(s.Inspect(t.Context(), 4096))(t)
	for _, r := range snap.Ticks {
		prefill, decode = prefill+r.Prefill, decode+r.Decode
	}
	return prefill, decode
}

// referenceBeams is the same search without branches.
func referenceBeams(t *testing.T, e *Engine, prompt []int32, width, steps int) []hypothesis {
	b := e.Backend()
	defer b.Truncate(0, 0)
	live := []hypothesis{{}}
	for range steps {
		var moves []move
		for i, h := range live {
			b.Truncate(0, 0)
			row := feed(t, b, 0, 0, append(slices.Clone(prompt), h.tokens...)...)
			highest, sum := float64(slices.Max(row)), 0.0
			for _, l := range row {
				sum += math.Exp(float64(l) - highest)
			}
			for token, l := range row {
				moves = append(moves, move{i, int32(token), h.sum + float64(l) - highest - math.Log(sum)})
			}
		}
		var next []hypothesis
		for _, m := range bestMoves(width, moves) {
			next = append(next, hypothesis{tokens: append(slices.Clone(live[m.from].tokens), m.token), sum: m.sum})
		}
		live = next
	}
	return live
}
