// SPDX-License-Identifier: MIT

package math32

import (
	"math"
	"math/rand/v2"
	"testing"
)

// ulps is by how many units in its last place got is off from want.
func ulps(got float32, want float64) float64 {
	w := float32(want)
	if got == w || got != got && w != w {
		return 0
	}
	unit := float64(math.Nextafter32(w, float32(math.Inf(1)))) - float64(w)
	return math.Abs(float64(got)-want) / unit
}

// compare runs f against the standard library's on special and random numbers.
func compare(t *testing.T, f func(float32) float32, want func(float64) float64, special []float32, random func(*rand.Rand) float32) {
	t.Helper()
	check := func(x float32) {
		if off := ulps(f(x), want(float64(x))); !(off <= 0.51) {
			t.Fatalf("f(%v [%#x]) = %v, want %v: off by %.2f", x, math.Float32bits(x), f(x), want(float64(x)), off)
		}
	}
	for _, x := range special {
		check(x)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2_000_000 {
		check(random(r))
	}
}

var (
	inf      = float32(math.Inf(1))
	nan      = float32(math.NaN())
	smallest = math.Float32frombits(1)
)

func TestExp_AgainstStandardLibrary(t *testing.T) {
	special := []float32{0, float32(math.Copysign(0, -1)), 1, -1, inf, -inf, nan, 88.72283, 88.72284, 89, -87.33655, -103.2, -103.97208, -104, -105, smallest, -smallest, math.MaxFloat32, -math.MaxFloat32}
	compare(t, Exp, math.Exp, special, func(r *rand.Rand) float32 { return 196*r.Float32() - 105 })
}

func TestLog_AgainstStandardLibrary(t *testing.T) {
	special := []float32{0, 1, -1, inf, nan, smallest, math.MaxFloat32, 0.99999994, 1.0000001, 2, 0.5, 1.4142135, 1.4142137, 0.70710677}
	compare(t, Log, math.Log, special, func(r *rand.Rand) float32 {
		return math.Float32frombits(r.Uint32() & math.MaxInt32 % 0x7f800000)
	})
	compare(t, Log, math.Log, nil, func(r *rand.Rand) float32 { return 0.9 + 0.2*r.Float32() })
}

// TestBits pins results bit for bit. What compiles for another processor must give the same.
func TestBits(t *testing.T) {
	sum := uint64(14695981039346656037)
	for i := range uint32(1 << 20) {
		x := float32(i)/8192 - 104
		for _, y := range [...]float32{Exp(x), Log(x + 105)} {
			sum = (sum ^ uint64(math.Float32bits(y))) * 1099511628211
		}
	}
	if want := uint64(0x2fa43d5e75c2941f); sum != want {
		t.Errorf("the sum over all bits is %#x, it was %#x", sum, want)
	}
}

func BenchmarkExp(b *testing.B) {
	var sum float32
	for i := range b.N {
		sum += Exp(float32(i&63) - 50)
	}
	if sum == 0 {
		b.Fatal("nothing was summed")
	}
}
