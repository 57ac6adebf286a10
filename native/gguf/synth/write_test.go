// SPDX-License-Identifier: MIT

package synth

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/tools/must"
)

const builtIn = "../../../host/model/penstock-tiny.gguf"

var small = Shape{Name: "small", Dim: 64, Layers: 2, Heads: 4, KVHeads: 2, FFN: 128, Context: 256}

func TestWrite_PassesTheCheck(t *testing.T) {
	for _, quant := range []Quant{Q40, Q80} {
		var b bytes.Buffer
		must.Do(t, Write(&b, small, builtIn, quant, 1))
		h := must.Get(gguf.Check(bytes.NewReader(b.Bytes()), int64(b.Len())))(t)
		if want := 2 + 2*9; len(h.Tensors) != want {
			t.Errorf("%d tensors, want %d", len(h.Tensors), want)
		}
		if q := h.Tensors[len(h.Tensors)-1]; q.Type != quant.layerType() || q.Name != "blk.1.ffn_down.weight" {
			t.Errorf("the last tensor is %s in %v", q.Name, q.Type)
		}
		if end := uint64(h.DataOffset) + h.TensorBytes(); uint64(b.Len()) < end {
			t.Errorf("%d bytes written, %d described", b.Len(), end)
		}
	}
}

func TestWrite_SameSeed_SameBytes(t *testing.T) {
	write := func(seed uint64) []byte {
		var b bytes.Buffer
		must.Do(t, Write(&b, small, builtIn, Q40, seed))
		return b.Bytes()
	}
	first := write(1)
	if !bytes.Equal(first, write(1)) {
		t.Error("the same seed gave other bytes")
	}
	if bytes.Equal(first, write(2)) {
		t.Error("another seed gave the same bytes")
	}
}

func TestWrite_BadArguments_AreNamed(t *testing.T) {
	wide := small
	wide.Dim = 65
	if err := Write(&bytes.Buffer{}, wide, builtIn, Q40, 1); !errors.Is(err, ErrShape) {
		t.Errorf("width 65: %v", err)
	}
	undecided := small
	undecided.Experts = 4
	if err := Write(&bytes.Buffer{}, undecided, builtIn, Q40, 1); !errors.Is(err, ErrShape) {
		t.Errorf("4 experts, none active: %v", err)
	}
	if err := Write(&bytes.Buffer{}, small, filepath.Join(t.TempDir(), "absent"), Q40, 1); err == nil {
		t.Error("an absent vocabulary was accepted")
	}
	if _, err := ShapeNamed("7b"); !errors.Is(err, ErrShape) {
		t.Errorf("shape 7b: %v", err)
	}
	if _, err := QuantNamed("Q5_K"); !errors.Is(err, ErrShape) {
		t.Errorf("Q5_K: %v", err)
	}
}

func TestShapes_AreValid(t *testing.T) {
	for _, s := range Shapes {
		if err := s.validate(); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

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
