// SPDX-License-Identifier: MIT

package math32

import "math"

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
