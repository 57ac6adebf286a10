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
	"github.com/penstock/penstock/tools/must"
)

func TestWrite_LoadsAndDecodesAToken(t *testing.T) {
	dense := synth.Shape{Name: "small", Dim: 64, Layers: 2, Heads: 4, KVHeads: 2, FFN: 128, Context: 256}
	experts := dense
	experts.Experts, experts.Active = 8, 2
	for _, c := range []struct {
		shape synth.Shape
		quant synth.Quant
	}{{dense, synth.Q40}, {dense, synth.Q80}, {experts, synth.Q80}} {
		row := decode(t, written(t, c.shape, c.quant), 1, 0)
		if len(row) != 1536 {
			t.Fatalf("%d logits", len(row))
		}
		for _, x := range row {
			if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
				t.Fatal("a logit is not a number")
			}
		}
		if slices.Min(row) == slices.Max(row) {
			t.Error("all logits are equal: the weights did not arrive")
		}
	}
}

// Drafts of a looping model's text are right, whatever a kernel rounds: it goes round in its group
// of tokens.
func TestWrite_Loop_GreedyTextRepeatsItself(t *testing.T) {
	const length = 8
	shape := synth.Shape{Name: "loop", Dim: 64, Layers: 2, Heads: 4, KVHeads: 2, FFN: 128, Context: 256, Loop: length}
	for _, quant := range []synth.Quant{synth.Q40, synth.Q80} {
		c := written(t, shape, quant)
		token := int32(805)
		for pos := range int32(3 * length) {
			row := decode(t, c, token, pos)
			best := int32(slices.Index(row, slices.Max(row)))
			if want := token/length*length + (token+1)%length; best != want {
				t.Fatalf("%v, position %d: token %d follows %d, want %d", quant, pos, best, token, want)
			}
			token = best
		}
	}
}

// written is a context of a model that was written to a file and loaded from it.
func written(t *testing.T, shape synth.Shape, quant synth.Quant) *native.Context {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.gguf")
	file := must.Get(os.Create(path))(t)
	must.Do(t, errors.Join(synth.Write(file, shape, "../../../host/model/penstock-tiny.gguf", quant, 1), file.Close()))
	m := must.Get(native.LoadModel(t.Context(), path, native.ModelOptions{CheckTensors: true}))(t)
	t.Cleanup(func() { m.Close() })
	c := must.Get(native.NewContext(m, native.ContextOptions{Cells: 64, Batch: 8, UBatch: 8, Threads: 1}))(t)
	t.Cleanup(func() { c.Close() })
	return c
}

// decode decodes one token and returns its logits.
func decode(t *testing.T, c *native.Context, token, pos int32) []float32 {
	t.Helper()
	var b native.Batch
	b.Add(token, pos, 0, true)
	must.Do(t, c.Decode(&b))
	return c.Row(0)
}
