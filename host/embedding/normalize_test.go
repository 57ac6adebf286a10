// SPDX-License-Identifier: MIT

package embedding

import (
	"math"
	"testing"
)

func TestNormalize_Ways(t *testing.T) {
	for way, want := range map[int][]float32{
		NormalizeNone: {3, -4, 0}, NormalizeInt16: {24570, -32760, 0}, 1: {3.0 / 7, -4.0 / 7, 0}, NormalizeEuclidean: {0.6, -0.8, 0},
		3: {3 / float32(math.Cbrt(91)), -4 / float32(math.Cbrt(91)), 0},
	} {
		got := []float32{3, -4, 0}
		Normalize(got, way)
		for i := range want {
			if math.Abs(float64(got[i]-want[i])) > 1e-3*math.Abs(float64(want[i])) {
				t.Errorf("way %d: %v, want %v", way, got, want)
			}
		}
		zeros := make([]float32, 3)
		Normalize(zeros, way)
		if zeros[0] != 0 {
			t.Errorf("way %d: zeros become %v", way, zeros)
		}
	}
	for _, way := range []int{-2, maxNorm + 1} {
		if CheckNormalize(way) == nil {
			t.Errorf("way %d was accepted", way)
		}
	}
}
