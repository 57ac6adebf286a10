// SPDX-License-Identifier: MIT

package native

import (
	"math"
	"slices"
	"testing"

	"github.com/penstock/penstock/tools/steadytest"
)

// No byte is touched beyond what attention reads and writes, and none is read of cells that no row
// sees: NaN there changes no bit. Cells fill no tile, no vector of the mask, or one more than a
// chunk.
func TestAttention_Guarded(t *testing.T) {
	needKernels(t)
	useOwnKernels(true)
	for name, a := range attentionCases(t) {
		t.Run(name, func(t *testing.T) {
			r := steadytest.Rand(t)
			for i, cells := range []int{1, 5, 31, 63, 65, 129, 515} {
				for j, rows := range []int{1, 3, 65} {
					if rows > cells || r.IntN(3) > 0 && !steadytest.Long() {
						continue
					}
					a.Cells, a.Rows, a.Sequences, a.Threads, a.Guard, a.Spoiled = cells, rows, 1, 1+i%3, Unguarded, false
					if rows == 3 {
						a.Cells, a.Sequences = 3*cells, 3
					}
					trial, err := NewAttentionTrial(a)
					if err != nil {
						t.Fatal(err)
					}
					defer trial.Close()
					want := computed(t, trial)
					if off, most := relative(want, plainly(t, trial)), allowedError(t, a); !(off < most) {
						t.Fatalf("%+v: off by %.2g of the length, and may be by %.2g", a, off, most)
					}
					a.Guard, a.Spoiled, a.Threads = []Guard{GuardBehind, GuardBefore}[(i+j)%2], true, 1+j
					if got, _ := attentionOf(t, a, false); !equalBits(got, want) {
						t.Fatalf("%+v: other bits than without NaN around", a)
					}
				}
			}
		})
	}
}

// filled is n of a number.
func filled(n int, x float32) []float32 { return slices.Repeat([]float32{x}, n) }

// Queries, keys and values of one size, at the edges of their type. All scores of a row are the
// same then, so that a result is the value.
func TestAttention_AnyNumbers(t *testing.T) {
	needKernels(t)
	useOwnKernels(true)
	f16, f32 := operation(t, "f16"), operation(t, "f32")
	for _, c := range []struct {
		name              string
		kv                Operation
		query, key, value float32
		want              float32
	}{
		{"zeros", f16, 0, 0, 0, 0},
		{"denormal values", f16, 1, 1, 0x1p-24, 0x1p-24},
		{"denormal values of 32 bits", f32, 1, 1, 1e-39, 1e-39},
		{"largest scores of 16 bits", f16, 65504, 65504, 1, 1},
		{"lowest scores of 16 bits", f16, -65504, 65504, 1, 1},
		{"scores near the end of 32 bits", f32, 1e18, 1e18, 1, 1},
		{"scores as low", f32, 1e18, -1e18, 1, 1},
		{"largest values", f16, 1, 1, 65504, 65504},
		{"values near the end of 32 bits", f32, 1, 1, 1e35, 1e35},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := AttentionCase{HeadDimK: 64, HeadDimV: 64, Heads: 6, KVHeads: 2, Rows: 5, Cells: 130, Sequences: 1, KType: c.kv, VType: c.kv, Threads: 2}
			trial, err := NewAttentionTrial(a)
			if err != nil {
				t.Fatal(err)
			}
			defer trial.Close()
			n := a.Cells * a.KVHeads * a.HeadDimK
			if err := trial.PutCells(filled(n, c.key), filled(n, c.value)); err != nil {
				t.Fatal(err)
			}
			if err := trial.PutQueries(filled(a.Rows*a.Heads*a.HeadDimK, c.query)); err != nil {
				t.Fatal(err)
			}
			for _, got := range computed(t, trial) {
				if !(math.Abs(float64(got)-float64(c.want)) <= 1e-5*math.Abs(float64(c.want))) {
					t.Fatalf("%g, want %g", got, c.want)
				}
			}
		})
	}
}

// A row whose query is no number touches no other.
func TestAttention_OddQueries(t *testing.T) {
	needKernels(t)
	useOwnKernels(true)
	for name, a := range attentionCases(t) {
		t.Run(name, func(t *testing.T) {
			a.Rows, a.Sequences = 5, 1
			trial, err := NewAttentionTrial(a)
			if err != nil {
				t.Fatal(err)
			}
			defer trial.Close()
			row := a.Heads * a.HeadDimK
			queries := filled(a.Rows*row, 1)
			for i := range queries {
				queries[i] = float32(i%13)/4 - 1.5
			}
			put := func() []float32 {
				if err := trial.PutQueries(queries); err != nil {
					t.Fatal(err)
				}
				return computed(t, trial)
			}
			usual := put()
			queries[row] = float32(math.NaN())
			queries[3*row] = float32(math.Inf(1))
			got := put()
			for j, x := range got {
				if i := j / (a.Heads * a.HeadDimV); i%2 == 0 && x != usual[j] {
					t.Fatalf("row %d beside odd ones: %g, alone %g", i, x, usual[j])
				}
			}
			if x := got[a.Heads*a.HeadDimV]; x == x { //nolint:gocritic // NaN
				t.Errorf("of NaN comes %g", x)
			}
		})
	}
}
