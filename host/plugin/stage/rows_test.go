// SPDX-License-Identifier: MIT

package stage

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// slowTopK sorts everything.
func slowTopK(row []float32, k int) []int32 {
	var ids []int32
	for i, x := range row {
		if x > banned {
			ids = append(ids, int32(i))
		}
	}
	slices.SortStableFunc(ids, func(a, b int32) int {
		switch {
		case row[a] > row[b]:
			return -1
		case row[a] < row[b]:
			return 1
		}
		return 0
	})
	return ids[:min(k, len(ids))]
}

func TestSelector_TopK_IsExact(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	rows := map[string]func(i, n int) float32{
		"random":  func(int, int) float32 { return random.Float32()*40 - 20 },
		"few":     func(int, int) float32 { return float32(random.IntN(4)) },
		"rising":  func(i, _ int) float32 { return float32(i) },
		"falling": func(i, n int) float32 { return float32(n - i) },
		"equal":   func(int, int) float32 { return -3 },
		"banned":  func(i, _ int) float32 { return []float32{banned, nan, -1, 0, float32(math.Copysign(0, -1)) - 1}[i%5] },
	}
	var s selector
	for name, make1 := range rows {
		for _, n := range []int{1, 7, 8, 9, 300, 5000} {
			for _, k := range []int{1, 2, 64, 256, 4096} {
				row := make([]float32, n)
				for i := range row {
					row[i] = make1(i, n)
				}
				ids, logits := make([]int32, k), make([]float32, k)
				got := s.topK(row, k, ids, logits)
				if want := slowTopK(row, k); !slices.Equal(ids[:got], want) {
					t.Fatalf("%s, k = %d of %d: got %v, want %v", name, k, n, ids[:got], want)
				}
				for i, id := range ids[:got] {
					if logits[i] != row[id] {
						t.Fatalf("%s: logit %v of token %d, it is %v", name, logits[i], id, row[id])
					}
				}
			}
		}
	}
}

func BenchmarkSelector_TopK(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	row := make([]float32, 128_256)
	for i := range row {
		row[i] = float32(random.NormFloat64())
	}
	for _, k := range []int{64, 256, 1024} {
		b.Run(map[int]string{64: "64", 256: "256", 1024: "1024"}[k], func(b *testing.B) {
			var s selector
			ids, logits := make([]int32, k), make([]float32, k)
			b.ReportAllocs()
			for b.Loop() {
				s.topK(row, k, ids, logits)
			}
		})
	}
}
