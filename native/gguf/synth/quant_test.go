// SPDX-License-Identifier: MIT

package synth

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/penstock/penstock/native/gguf"
)

// unhalf turns a half-precision number into its value.
func unhalf(h uint16) float64 {
	sign := 1.0
	if h&0x8000 != 0 {
		sign = -1
	}
	exponent, fraction := int(h>>10&31), float64(h&1023)
	if exponent == 0 {
		return sign * math.Ldexp(fraction, -24)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

func TestHalf_KnownNumbers(t *testing.T) {
	for f, want := range map[float32]uint16{
		0: 0, 1: 0x3c00, -2: 0xc000, 0.5: 0x3800, 65504: 0x7bff, 0.333333343: 0x3555, 6.10351562e-05: 0x0400, 5.96046448e-08: 1,
		1.00048828125: 0x3c00, 1.00146484375: 0x3c02, // ties go to even
	} {
		if got := half(f); got != want {
			t.Errorf("half(%g) is %#04x, want %#04x", f, got, want)
		}
	}
}

func TestEncode_DecodesToNearlyTheSame(t *testing.T) {
	weights := normal(blockLen, 1, 1)
	var peak float64
	for _, w := range weights {
		peak = max(peak, math.Abs(float64(w)))
	}
	for _, c := range []struct {
		kind   gguf.TensorType
		size   int
		number func(block []byte, i int) float64
		steps  float64 // of the peak
	}{
		{gguf.Q8_0, 34, func(b []byte, i int) float64 { return float64(int8(b[2+i])) }, 127},
		{gguf.Q4_0, 18, func(b []byte, i int) float64 { return float64(b[2+i%16]>>(i/16*4)&15) - 8 }, 8},
	} {
		block := encode(nil, c.kind, weights)
		if len(block) != c.size {
			t.Fatalf("%v: a block of %d bytes, want %d", c.kind, len(block), c.size)
		}
		scale := unhalf(binary.LittleEndian.Uint16(block))
		for i, w := range weights {
			// Q4_0 reaches from -8 to only 7, so its last step counts whole.
			if got := scale * c.number(block, i); math.Abs(got-float64(w)) > 1.01*peak/c.steps {
				t.Errorf("%v: number %d is %g, want %g", c.kind, i, got, w)
			}
		}
	}
}

func TestEncode_Zeros(t *testing.T) {
	for _, kind := range []gguf.TensorType{gguf.Q4_0, gguf.Q8_0} {
		block := encode(nil, kind, make([]float32, blockLen))
		if scale := binary.LittleEndian.Uint16(block) &^ 0x8000; scale != 0 {
			t.Errorf("%v: zeros have the scale %#x", kind, scale)
		}
	}
}
