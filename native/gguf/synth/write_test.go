// SPDX-License-Identifier: MIT

package synth

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/native/gguf"
)

const builtIn = "../../../host/model/penstock-tiny.gguf"

var small = Shape{Name: "small", Dim: 64, Layers: 2, Heads: 4, KVHeads: 2, FFN: 128, Context: 256}

func TestWrite_PassesTheCheck(t *testing.T) {
	for _, quant := range []Quant{Q40, Q80} {
		var b bytes.Buffer
		if err := Write(&b, small, builtIn, quant, 1); err != nil {
			t.Fatal(err)
		}
		h, err := gguf.Check(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
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
		if err := Write(&b, small, builtIn, Q40, seed); err != nil {
			t.Fatal(err)
		}
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
