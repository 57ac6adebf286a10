// SPDX-License-Identifier: MIT

package native

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/must"
)

// States come with the logits of some tokens of a pass and are those of the output Embeddings,
// which has them of every token. The passes of the first context have pieces, and sequences of
// different lengths, whose rows llama.cpp computes in another order.
func TestContext_HiddenState_AsEmbeddings(t *testing.T) {
	models := map[string]*Model{"built in": loadBuiltIn(t, ModelOptions{})}
	for _, kind := range []string{"mamba", "falcon-h1", "cohere2"} {
		models[kind] = load(t, small(t, kind), ModelOptions{})
	}
	for name, m := range models {
		for _, unified := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s unified %v", name, unified), func(t *testing.T) {
				o := ContextOptions{Cells: 256, Batch: 16, UBatch: 4, Rows: 12, Sequences: 4, Unified: unified, Threads: 1}
				c := newContext(t, m, o)
				all := o
				all.Output, all.UBatch = Embeddings, 16
				want := embeddings(t, newContext(t, m, all), 16, embeddedTexts...)
				if c.Limits().HiddenState != m.Info().EmbeddingOut {
					t.Fatalf("states are %d wide, embeddings %d", c.Limits().HiddenState, m.Info().EmbeddingOut)
				}
				for s, text := range hiddenStates(t, c, 3, embeddedTexts, 0)[0] {
					for i, got := range text {
						if got == nil {
							continue
						}
						if d := apart([][]float32{got}, [][]float32{want[s][i]}); d > 1e-2 {
							t.Errorf("the state after token %d of text %d differs by %g from its embedding", i, s, d)
						}
					}
				}
			})
		}
	}
}

// hiddenStates computes texts in one pass and returns, for each of the layers, the states of the
// last of their tokens, and nil for the tokens before.
func hiddenStates(t *testing.T, c *Context, last int, texts [][]int32, layers ...int32) [][][][]float32 {
	t.Helper()
	b := Batch{HiddenStates: layers}
	for s, text := range texts {
		for i, token := range text {
			b.Add(token, int32(i), int32(s), len(text)-i <= last)
		}
	}
	must.Do(t, c.Decode(&b))
	out := make([][][][]float32, len(layers))
	for l, layer := range layers {
		out[l] = make([][][]float32, len(texts))
		for s, text := range texts {
			out[l][s] = make([][]float32, len(text))
		}
		for i, row := 0, 0; i < len(b.Tokens); i++ {
			if b.Outputs[i] {
				out[l][b.Sequences[i]][b.Positions[i]] = slices.Clone(c.HiddenState(layer, row))
				row++
			}
		}
	}
	if c.HiddenState(layers[0], -1) != nil || c.HiddenState(layers[0], c.Rows()) != nil || c.HiddenState(99, 0) != nil {
		t.Error("there are states of rows or layers that there are not")
	}
	return out
}

// The states of a layer are what a model that ends there has before the norm, whatever the passes
// look like, and with the norm the last one's are those of layer 0.
func TestContext_HiddenState_OfLayers(t *testing.T) {
	models := map[string]*Model{"built in": loadBuiltIn(t, ModelOptions{})}
	for _, kind := range []string{"mamba", "falcon-h1", "cohere2"} {
		models[kind] = load(t, small(t, kind), ModelOptions{})
	}
	for name, m := range models {
		t.Run(name, func(t *testing.T) { statesOfLayers(t, m, name == "cohere2") })
	}
}

// statesOfLayers compares the states of some layers in several passes. The norm of a model is of
// the mean square, or of the variance.
func statesOfLayers(t *testing.T, m *Model, variance bool) {
	n := int32(m.Info().Layers)
	layers := slices.Compact([]int32{n, 1, 0, max(1, n/2)})
	o := ContextOptions{Cells: 256, Batch: 16, UBatch: 16, Rows: 16, Sequences: 4, Unified: true, Threads: 1}
	c := newContext(t, m, o)
	if c.Limits().StateLayers != int(n) {
		t.Fatalf("states of %d layers, the model has %d", c.Limits().StateLayers, n)
	}
	all := hiddenStates(t, c, 16, embeddedTexts, layers...)
	for _, unified := range []bool{true, false} { // in pieces, and rows in another order
		o.Unified, o.UBatch = unified, 4
		for l, states := range hiddenStates(t, newContext(t, m, o), 3, embeddedTexts, layers...) {
			for s, text := range states {
				for i, got := range text {
					if got == nil {
						continue
					}
					if d := apart([][]float32{got}, [][]float32{all[l][s][i]}); d > 1e-2 {
						t.Errorf("unified %v: the state of layer %d after token %d of text %d differs by %g from that of a whole pass", unified, layers[l], i, s, d)
					}
				}
			}
		}
	}
	for l := range layers[1:] {
		if slices.Equal(all[0][0][2], all[l+1][0][2]) {
			t.Errorf("layers %d and %d have the same state", layers[0], layers[l+1])
		}
	}
	last, normed := all[0], all[slices.Index(layers, 0)]
	for s, text := range last { // the norm multiplies with weights that are the same for all
		for i := range text {
			here, there := normalized(last[s][i], variance), normalized(last[0][0], variance)
			for k := range here {
				if a, b := here[k]*float64(normed[0][0][k]), there[k]*float64(normed[s][i][k]); math.Abs(a-b) > 1e-2*math.Max(1, math.Abs(a)) {
					t.Fatalf("number %d after token %d of text %d is not that of layer 0 before the norm: %g, %g", k, i, s, a, b)
				}
			}
		}
	}
}

// normalized is a row divided by the root of its mean square, or of its variance.
func normalized(x []float32, variance bool) []float64 {
	mean, sum, out := 0.0, 0.0, make([]float64, len(x))
	if variance {
		for _, v := range x {
			mean += float64(v) / float64(len(x))
		}
	}
	for i, v := range x {
		out[i] = float64(v) - mean
		sum += out[i] * out[i]
	}
	for i := range out {
		out[i] /= math.Sqrt(sum / float64(len(x)))
	}
	return out
}

// Asking for states changes no logits, and a pass in which nobody asks has none.
func TestContext_HiddenState_OnlyWhereAsked(t *testing.T) {
	c := newContext(t, loadBuiltIn(t, ModelOptions{}), ContextOptions{Cells: 256, Sequences: 1, Unified: true, Threads: 1})
	var rows [][]float32
	for _, ask := range [][]int32{nil, {0}, {1, 0}, nil} {
		b := Batch{HiddenStates: ask}
		for i, token := range embeddedTexts[0] {
			b.Add(token, int32(i), 0, i == 4)
		}
		must.Do(t, c.Decode(&b))
		if got := c.HiddenState(0, 0) != nil; got != (ask != nil) {
			t.Errorf("asked: %v; there is a state: %v", ask, got)
		}
		rows = append(rows, slices.Clone(c.Row(0)))
		must.Do(t, clearSequences(c, 1))
	}
	if !slices.Equal(rows[0], rows[1]) || !slices.Equal(rows[0], rows[2]) || !slices.Equal(rows[0], rows[3]) {
		t.Error("asking for states changes logits")
	}
}

// A model that continues no texts has none beside logits.
func TestContext_HiddenState_NoneOfAnEncoder(t *testing.T) {
	c := newContext(t, load(t, encoder(t), ModelOptions{}), ContextOptions{Cells: 64, Batch: 32, UBatch: 32, Threads: 1, Output: Embeddings})
	if w := c.Limits().HiddenState; w != 0 {
		t.Errorf("an encoder has states of %d numbers beside logits", w)
	}
}

// BenchmarkContext_HiddenState has passes that give states take turns with passes that do not, and
// compares the medians: on a machine that does other work too, one after the other tells nothing.
func BenchmarkContext_HiddenState(b *testing.B) {
	m := benchModel(b)
	c := newContext(b, m, ContextOptions{Cells: 4096, Sequences: 8, Unified: true, Threads: benchNumber("THREADS"), Poll: benchNumber("POLL")})
	took := map[int][]time.Duration{} // by the number of layers
	var batch Batch
	position := int32(0)
	for b.Loop() {
		if position == 255 {
			must.Do(b, clearSequences(c, 8))
			position = 0
		}
		for i := range int32(3) {
			batch.Reset()
			batch.HiddenStates = [][]int32{nil, {0}, {0, int32(m.Info().Layers / 2)}}[(position/3+i)%3] // none is always first
			for s := range int32(8) {
				batch.Add(100+s, position, s, true)
			}
			position++
			start := time.Now()
			must.Do(b, c.Decode(&batch))
			took[len(batch.HiddenStates)] = append(took[len(batch.HiddenStates)], time.Since(start))
		}
	}
	median := func(all []time.Duration) float64 {
		slices.Sort(all)
		return float64(all[len(all)/2])
	}
	with, without := median(took[1]), median(took[0])
	b.ReportMetric(without, "ns/without")
	b.ReportMetric(with-without, "ns/states")
	b.ReportMetric(median(took[2])-without, "ns/states_and_layer")
}
