// SPDX-License-Identifier: MIT

package native

import (
	"fmt"
	"testing"
)

// Cells go on the same wherever they went: into a state and back, or to another sequence, all or
// the first of them. So it is with each type of K and V, and with V the other way round, as
// without flash attention.
func TestContext_Cells_OfAllTypes(t *testing.T) {
	for name, o := range map[string]ContextOptions{
		"q8_0":           {TypeK: "q8_0", TypeV: "q8_0", FlashAttention: "on"},
		"K and V differ": {TypeK: "q4_0", TypeV: "q5_1", FlashAttention: "on"},
		"V turned":       {TypeK: "q8_0", TypeV: "bf16", FlashAttention: "off"},
		"f32 turned":     {TypeK: "f16", TypeV: "f32", FlashAttention: "off"},
	} {
		for _, o.Unified = range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/unified=%t", name, o.Unified), func(t *testing.T) { moveCells(t, builtIn, o, 90, 40) })
		}
	}
}

// With all cells of its window layers, a model can go back to any position. A state has those in
// the window alone, so it is restored as a whole.
func TestContext_Cells_FullWindow(t *testing.T) {
	for _, o := range []ContextOptions{{}, {TypeK: "bf16", TypeV: "f32", FlashAttention: "off"}} {
		for _, o.Unified = range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/unified=%t", o.TypeK, o.Unified), func(t *testing.T) {
				const n, part = 90, 40
				o.FullWindowCache = true
				c := moveCells(t, small(t, "cohere2"), o, n, n)
				if err := clearSequences(c, 3); err != nil {
					t.Fatal(err)
				}
				fill(t, c, 0, part)
				fill(t, c, 1, n)
				if err := c.Remove(1, part, -1); err != nil {
					t.Fatal(err)
				}
				if first, last, err := c.Range(1); first != 0 || last != part-1 {
					t.Errorf("the sequence that was cut has the positions %d to %d (%v)", first, last, err)
				}
				if e := relative(next(t, c, 1, part), next(t, c, 0, part)); e > 1e-2 {
					t.Errorf("a sequence that was cut goes on differently, by %.2g", e)
				}
			})
		}
	}
}

// fill computes n tokens of a sequence.
func fill(t *testing.T, c *Context, seq, n int32) {
	t.Helper()
	vocabulary := int32(c.Model().Info().Vocabulary)
	var b Batch
	for i := range n {
		b.Add(3+i*11%(vocabulary-3), i, seq, false)
	}
	decode(t, c, &b)
}

// moveCells shares, saves and restores a sequence of n positions, and then the first of them.
func moveCells(t *testing.T, path string, o ContextOptions, n, part int32) *Context {
	t.Helper()
	o.Cells, o.Sequences, o.Threads = 3*256, 3, 1
	c := newContext(t, load(t, path, ModelOptions{}), o)
	fill(t, c, 0, n)
	state, err := c.SaveState(0)
	if err != nil {
		t.Fatal(err)
	}
	c.FinishCopy()
	t.Cleanup(func() { closing(t, state) })
	for _, at := range []int32{n, part} {
		if err := c.Share(0, 1, int(at)); err != nil {
			t.Fatalf("sharing %d: %v", at, err)
		}
		c.FinishCopy()
		if err := c.RestoreState(2, state, int(at)); err != nil {
			t.Fatalf("restoring %d: %v", at, err)
		}
		c.FinishCopy()
		if err := c.Remove(0, int(at), -1); err != nil {
			t.Fatal(err)
		}
		want := next(t, c, 0, at)
		for seq := int32(1); seq < 3; seq++ {
			if _, last, err := c.Range(seq); err != nil || last != int(at)-1 {
				t.Errorf("sequence %d ends at %d, want %d (%v)", seq, last, at-1, err)
			}
			// Other cells may mean another order of sums, in a shared buffer and where attention
			// is computed in plain steps.
			if e := relative(next(t, c, seq, at), want); e > 1e-5 || e > 0 && !o.Unified && o.FlashAttention != "off" {
				t.Errorf("sequence %d goes on differently from %d on, by %.2g", seq, at, e)
			}
			if err := c.Remove(seq, -1, -1); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}

// next are the logits of one more token in a sequence of n, which is then taken away again.
func next(t *testing.T, c *Context, seq, n int32) []float32 {
	t.Helper()
	row := logits(t, c, seq, n)
	if err := c.Remove(seq, int(n), -1); err != nil {
		t.Fatal(err)
	}
	return row
}
