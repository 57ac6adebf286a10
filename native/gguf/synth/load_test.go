// SPDX-License-Identifier: MIT

package synth_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf/synth"
)

func TestWrite_LoadsAndDecodesAToken(t *testing.T) {
	dense := synth.Shape{Name: "small", Dim: 64, Layers: 2, Heads: 4, KVHeads: 2, FFN: 128, Context: 256}
	experts := dense
	experts.Experts, experts.Active = 8, 2
	for _, c := range []struct {
		shape synth.Shape
		quant synth.Quant
	}{{dense, synth.Q40}, {dense, synth.Q80}, {experts, synth.Q80}} {
		path := filepath.Join(t.TempDir(), "m.gguf")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := synth.Write(file, c.shape, "../../../host/model/penstock-tiny.gguf", c.quant, 1); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		decode(t, path, 1536)
	}
}

// Drafts of a looping model's text are right, whatever a kernel rounds: it goes round in its group of tokens.
func TestWrite_Loop_GreedyTextRepeatsItself(t *testing.T) {
	const length = 8
	shape := synth.Shape{Name: "loop", Dim: 64, Layers: 2, Heads: 4, KVHeads: 2, FFN: 128, Context: 256, Loop: length}
	for _, quant := range []synth.Quant{synth.Q40, synth.Q80} {
		path := filepath.Join(t.TempDir(), "m.gguf")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(synth.Write(file, shape, "../../../host/model/penstock-tiny.gguf", quant, 1), file.Close()); err != nil {
			t.Fatal(err)
		}
		m, err := native.LoadModel(t.Context(), path, native.ModelOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		c, err := native.NewContext(m, native.ContextOptions{Cells: 64, Batch: 8, UBatch: 8, Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		token := int32(805)
		for pos := range int32(3 * length) {
			var b native.Batch
			b.Add(token, pos, 0, true)
			if err := c.Decode(&b); err != nil {
				t.Fatal(err)
			}
			row := c.Row(0)
			best := int32(slices.Index(row, slices.Max(row)))
			if want := token/length*length + (token+1)%length; best != want {
				t.Fatalf("%v, position %d: token %d follows %d, want %d", quant, pos, best, token, want)
			}
			token = best
		}
	}
}

// decode decodes one token and looks at the logits.
func decode(t *testing.T, path string, vocabulary int) {
	t.Helper()
	m, err := native.LoadModel(t.Context(), path, native.ModelOptions{CheckTensors: true})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	c, err := native.NewContext(m, native.ContextOptions{Cells: 64, Batch: 8, UBatch: 8, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var b native.Batch
	b.Add(1, 0, 0, true)
	if err := c.Decode(&b); err != nil {
		t.Fatal(err)
	}
	row := c.Row(0)
	if len(row) != vocabulary {
		t.Fatalf("%d logits", len(row))
	}
	least, most := row[0], row[0]
	for _, x := range row {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			t.Fatal("a logit is not a number")
		}
		least, most = min(least, x), max(most, x)
	}
	if least == most {
		t.Error("all logits are equal: the weights did not arrive")
	}
}
