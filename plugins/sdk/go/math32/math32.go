// SPDX-License-Identifier: MIT

// Package math32 has the exponential function and the logarithm. A plugin computes the same bits
// whatever compiled it: TinyGo, Go for WebAssembly, or Go for the machine that runs the tests.
//
// Both compute in float64 and round once at the end. Every product is converted explicitly, so that
// the compiler does not fuse it with the following addition; processors differ in whether they can.
package math32

import "math"

const (
	log2e = 1.44269504088896338700
	ln2   = 0.693147180559945309417
	ln2hi = 6.93147180369123816490e-01 // the first 33 bits, so that k × ln2hi is exact
	ln2lo = 1.90821492927058770002e-10
)

// Exp is eˣ, off by less than 0.51 units in the last place. Exp(−Inf) is 0, Exp(+Inf) is +Inf, and
// NaN stays NaN.
func Exp(x float32) float32 {
	switch {
	case x != x:
		return x
	case x > 89:
		return float32(math.Inf(1))
	case x < -104: // less than half the smallest number above 0
		return 0
	}
	w := float64(x)
	t := float64(w * log2e)
	k := int32(t + 0.5)
	if t < 0 {
		k = int32(t - 0.5)
	}
	// x = k ln 2 + r with |r| ≤ 0.35, where the series to the eighth power is off by 2e-10 at most.
	f := float64(k)
	r := (w - float64(f*ln2hi)) - float64(f*ln2lo)
	p := 1.0/5040 + float64(r*(1.0/40320))
	p = 1.0/720 + float64(r*p)
	p = 1.0/120 + float64(r*p)
	p = 1.0/24 + float64(r*p)
	p = 1.0/6 + float64(r*p)
	p = 0.5 + float64(r*p)
	p = 1 + float64(r*p)
	p = 1 + float64(r*p)
	return float32(p * math.Float64frombits(uint64(1023+k)<<52))
}

// Log is the natural logarithm, off by less than 0.51 units in the last place. Log(0) is −Inf,
// Log(+Inf) is +Inf, and Log of a negative number or of NaN is NaN.
func Log(x float32) float32 {
	switch {
	case x != x || x < 0:
		return float32(math.NaN())
	case x == 0:
		return float32(math.Inf(-1))
	case x > math.MaxFloat32:
		return x
	}
	bits := math.Float64bits(float64(x)) // normal: float64 reaches further down
	k := int32(bits>>52) - 1023
	m := math.Float64frombits(bits&(1<<52-1) | 1023<<52)
	if m > math.Sqrt2 {
		m /= 2
		k++
	}
	// log m = 2 (s + s³/3 + s⁵/5 + …) with s = (m − 1) / (m + 1), |s| ≤ 0.172.
	s := (m - 1) / (m + 1)
	z := float64(s * s)
	p := 1.0/13 + float64(z*(1.0/15))
	p = 1.0/11 + float64(z*p)
	p = 1.0/9 + float64(z*p)
	p = 1.0/7 + float64(z*p)
	p = 1.0/5 + float64(z*p)
	p = 1.0/3 + float64(z*p)
	p = 1 + float64(z*p)
	return float32(float64(float64(k)*ln2) + float64(2*float64(s*p)))
}
