// SPDX-License-Identifier: MIT

package native

import (
	"fmt"
	"slices"
	"testing"
	"time"
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
				for s, text := range hiddenStates(t, c, 3, embeddedTexts) {
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

// hiddenStates computes texts in one pass and returns the states of the last of their tokens, and
// nil for the tokens before.
func hiddenStates(t *testing.T, c *Context, last int, texts [][]int32) [][][]float32 {
	t.Helper()
	var b Batch
	b.HiddenStates = true
	out := make([][][]float32, len(texts))
	for s, text := range texts {
		out[s] = make([][]float32, len(text))
		for i, token := range text {
			b.Add(token, int32(i), int32(s), len(text)-i <= last)
		}
	}
	if err := c.Decode(&b); err != nil {
		t.Fatal(err)
	}
	for i, row := 0, 0; i < len(b.Tokens); i++ {
		if b.Outputs[i] {
			out[b.Sequences[i]][b.Positions[i]] = slices.Clone(c.HiddenState(row))
			row++
		}
	}
	if c.HiddenState(-1) != nil || c.HiddenState(c.Rows()) != nil {
		t.Error("there are states of rows that there are not")
	}
	return out
}

// Asking for states changes no logits, and a pass in which nobody asks has none.
func TestContext_HiddenState_OnlyWhereAsked(t *testing.T) {
	c := newContext(t, loadBuiltIn(t, ModelOptions{}), ContextOptions{Cells: 256, Sequences: 1, Unified: true, Threads: 1})
	var rows [][]float32
	for _, ask := range []bool{false, true, false} {
		var b Batch
		b.HiddenStates = ask
		for i, token := range embeddedTexts[0] {
			b.Add(token, int32(i), 0, i == 4)
		}
		if err := c.Decode(&b); err != nil {
			t.Fatal(err)
		}
		if got := c.HiddenState(0) != nil; got != ask {
			t.Errorf("asked: %v; there is a state: %v", ask, got)
		}
		rows = append(rows, slices.Clone(c.Row(0)))
		if err := clearSequences(c, 1); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(rows[0], rows[1]) || !slices.Equal(rows[0], rows[2]) {
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
	took := map[bool][]time.Duration{}
	var batch Batch
	position := int32(0)
	for b.Loop() {
		if position == 256 {
			if err := clearSequences(c, 8); err != nil {
				b.Fatal(err)
			}
			position = 0
		}
		for i := range int32(2) {
			batch.Reset()
			batch.HiddenStates = (position/2+i)%2 == 0 // neither is always first
			for s := range int32(8) {
				batch.Add(100+s, position, s, true)
			}
			position++
			start := time.Now()
			if err := c.Decode(&batch); err != nil {
				b.Fatal(err)
			}
			took[batch.HiddenStates] = append(took[batch.HiddenStates], time.Since(start))
		}
	}
	median := func(all []time.Duration) float64 {
		slices.Sort(all)
		return float64(all[len(all)/2])
	}
	with, without := median(took[true]), median(took[false])
	b.ReportMetric(without, "ns/without")
	b.ReportMetric(with-without, "ns/states")
}
