// SPDX-License-Identifier: MIT

package program

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

// portable masks rows without a backend.
type portable struct{}

func (portable) MaskRow(to, row []float32, allowed []uint32) { chain.MaskRow(to, row, allowed) }

// branchesOf are branches of a program that have these rows.
func branchesOf(t *testing.T, rows ...[]float32) []*Branch {
	t.Helper()
	r := New(&Program{Branches: len(rows) + 1}, Options{Vocabulary: len(rows[0]), Longest: 100, Tokens: 100, Summarizer: Portable{}, Masker: portable{}})
	all := make([]*Branch, len(rows))
	for i, row := range rows {
		var err error
		if all[i], err = r.Open([]Token{1}); err != nil {
			t.Fatal(err)
		}
		all[i].row = Lend(row, nil)
	}
	return all
}

// logits are those of a branch's row.
func logits(t *testing.T, b *Branch) []float32 {
	t.Helper()
	row := make([]float32, b.run.options.Vocabulary)
	must.Get(b.Logits(row))(t)
	return row
}

// A mask changes the row, its sum and that of forks made afterwards; scores stay the model's, and
// another branch with the row has it as it was.
func TestBranch_Mask_ChangesItsOwnRow(t *testing.T) {
	b := branchesOf(t, []float32{0, 1, 2})[0]
	fork := must.Get(b.Fork())(t)
	must.Do(t, b.Mask([]uint32{3}))
	inf := float32(math.Inf(-1))
	if got := logits(t, b); !slices.Equal(got, []float32{0, 1, inf}) {
		t.Errorf("masked: %v", got)
	}
	if got := logits(t, fork); !slices.Equal(got, []float32{0, 1, 2}) {
		t.Errorf("a fork made before: %v", got)
	}
	said, err := b.Best(3)
	if err != nil || !slices.Equal(said.IDs, []Token{1, 0}) || math.Abs(float64(said.LogSum)-1.3133) > 1e-4 {
		t.Errorf("it says %+v: %v", said, err)
	}
	must.Do(t, b.Append([]Token{1}, true))
	if got := b.scores[1]; math.Abs(float64(got)-(1-2.4076)) > 1e-4 {
		t.Errorf("the score is %v, the model's is %v", got, 1-2.4076)
	}
	if err := fork.Mask([]uint32{3, 3}); !errors.Is(err, ErrMisuse) {
		t.Errorf("a mask of too many words: %v", err)
	}
}

// A sum of rows has what is impossible in any of them that counts impossible, and stays finite
// where it overflows.
func TestBranch_Mix_Sums(t *testing.T) {
	inf := float32(math.Inf(-1))
	all := branchesOf(t, []float32{2, 1, inf, 3e38, 0}, []float32{1, -1, 0, -3e38, inf})
	must.Do(t, all[0].Mix([]Weighted{{all[0], 1.5}, {all[1], -0.5}}))
	if got := logits(t, all[0]); !slices.Equal(got, []float32{2.5, 2, inf, math.MaxFloat32, inf}) {
		t.Errorf("the sum is %v", got)
	}
	must.Do(t, all[1].Mix([]Weighted{{all[1], 2}, {all[0], 0}}))
	if got := logits(t, all[1]); !slices.Equal(got, []float32{2, -2, 0, -math.MaxFloat32, inf}) {
		t.Errorf("with a weight of 0: %v", got)
	}
	for _, w := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		if err := all[1].Mix([]Weighted{{all[1], w}}); !errors.Is(err, ErrMisuse) {
			t.Errorf("with the weight %v: %v", w, err)
		}
	}
	c := NewChain(func(uint64, int) ([]chain.Stage, error) { return nil, errors.New("is not asked") })
	must.Do(t, all[1].Mask([]uint32{0}))
	if _, err := all[1].Sample(c); !errors.Is(err, ErrRefused) {
		t.Errorf("of a chain that cannot be made: %v", err)
	}
}
