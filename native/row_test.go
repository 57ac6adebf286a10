// SPDX-License-Identifier: MIT

package native

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// sizes have whole words of a mask, parts of them, and both.
var sizes = []int{0, 1, 31, 32, 33, 64, 95, 1000, 4096, 5001}

func TestMaskRow_EqualsOneAtATime(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range sizes {
		for range 30 {
			row, mask := randomRow(rng, n+1, true)[:n], make([]uint32, (n+31)/32)
			for i := range mask {
				mask[i] = []uint32{0, math.MaxUint32, rng.Uint32(), 1 << rng.IntN(32)}[rng.IntN(4)]
			}
			want := make([]float32, n+3)
			for i := range want {
				want[i] = 77 // what stands behind the row stays
			}
			got := slices.Clone(want)
			for i, x := range row {
				if want[i] = x; mask[i/32]>>(i%32)&1 == 0 {
					want[i] = float32(math.Inf(-1))
				}
			}
			MaskRow(got, row, mask)
			for i := range want {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("%d of %d: %v, want %v", i, n, got[i], want[i])
				}
			}
		}
	}
}

func TestFirstInvalid_FindsEveryKind(t *testing.T) {
	for _, n := range sizes {
		row := make([]float32, n)
		for i := range row {
			row[i] = []float32{math.MaxFloat32, -math.MaxFloat32, float32(math.Inf(-1)), 0}[i%4]
		}
		if at := FirstInvalid(row); at != -1 {
			t.Fatalf("%d: found %d in a good row", n, at)
		}
		for at := 0; at < n; at += 1 + n/50 {
			for _, bits := range []uint32{0x7f800000, 0x7f800001, 0x7fffffff, 0xff800001, 0xffc00000, 0xffffffff} {
				bad := slices.Clone(row)
				bad[at], bad[n-1] = math.Float32frombits(bits), math.Float32frombits(bits)
				if got := FirstInvalid(bad); got != at {
					t.Fatalf("%d: %#x at %d: found %d", n, bits, at, got)
				}
			}
		}
	}
}

// BenchmarkRow is what each of these costs a plugin's token.
func BenchmarkRow(b *testing.B) {
	row, to := randomRow(rand.New(rand.NewPCG(1, 0)), 128_256, false), make([]float32, 128_256)
	mask := make([]uint32, len(row)/32)
	for i := range mask {
		mask[i] = 0x55555555
	}
	b.Run("mask", func(b *testing.B) {
		for b.Loop() {
			MaskRow(to, row, mask)
		}
	})
	b.Run("first invalid", func(b *testing.B) {
		for b.Loop() {
			FirstInvalid(row)
		}
	})
}
