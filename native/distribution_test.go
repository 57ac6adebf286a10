// SPDX-License-Identifier: MIT

package native

import (
	"math"
	"math/rand/v2"
	"testing"
)

// distribution is Distribution step by step, in 64 bits.
func distribution(row []float32) (logSum, entropy float64) {
	highest := math.Inf(-1)
	for _, l := range row {
		if !math.IsNaN(float64(l)) {
			highest = max(highest, float64(l))
		}
	}
	sum, weighted := 0.0, 0.0
	for _, l := range row {
		if d := float64(l) - highest; !math.IsNaN(d) && !math.IsInf(d, -1) {
			sum += math.Exp(d)
			weighted += math.Exp(d) * d
		}
	}
	return highest + math.Log(sum), math.Log(sum) - weighted/sum
}

func TestDistribution_EqualsStepByStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	near := func(got float32, want float64) bool {
		return math.Abs(float64(got)-want) <= 2e-6*max(1, math.Abs(want))
	}
	for _, n := range append(sizes, 128_256) {
		for range 20 {
			row := make([]float32, n)
			spread := float32(math.Exp(rng.Float64()*8 - 3))
			for i := range row {
				switch row[i] = float32(rng.NormFloat64()) * spread; rng.IntN(40) {
				case 0:
					row[i] = float32(math.Inf(-1))
				case 1:
					row[i] = float32(math.NaN())
				}
			}
			logSum, entropy := Distribution(row)
			wantSum, wantEntropy := distribution(row)
			if math.IsInf(wantSum, -1) || math.IsNaN(wantSum) {
				if !math.IsInf(float64(logSum), -1) || entropy != 0 {
					t.Fatalf("of no token: %v, %v", logSum, entropy)
				}
				continue
			}
			if !near(logSum, wantSum) || !near(entropy, wantEntropy) {
				t.Fatalf("%d logits: %v and %v, want %v and %v", n, logSum, entropy, wantSum, wantEntropy)
			}
		}
	}
}

// What no sampler could compute with does no harm.
func TestDistribution_OfOddRows(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, row := range [][]float32{{inf, 0}, {math.MaxFloat32, -math.MaxFloat32}, {inf, inf}} {
		logSum, entropy := Distribution(row)
		if math.IsNaN(float64(logSum)) || math.IsInf(float64(logSum), 0) || math.IsNaN(float64(entropy)) {
			t.Errorf("%v: %v, %v", row, logSum, entropy)
		}
	}
}

func BenchmarkDistribution(b *testing.B) {
	row := randomRow(rand.New(rand.NewPCG(1, 2)), 128_256, false)
	b.SetBytes(int64(4 * len(row)))
	for b.Loop() {
		Distribution(row)
	}
}
