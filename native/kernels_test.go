// SPDX-License-Identifier: MIT

package native

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/steadytest"
)

// synthetic loads a random model of a shape, with the built-in model's vocabulary.
func synthetic(t testing.TB, s synth.Shape, weights synth.Quant) *Model {
	t.Helper()
	return load(t, syntheticFile(t, s, weights), ModelOptions{})
}

// syntheticFile writes such a model.
func syntheticFile(t testing.TB, s synth.Shape, weights synth.Quant) string {
	t.Helper()
	var file bytes.Buffer
	if err := synth.Write(&file, s, builtIn, weights, 1); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// needKernels skips a test of Penstock's kernels in a build without them.
func needKernels(t *testing.T) {
	t.Helper()
	if !HasOwnKernels() {
		t.Skip("SKIPPED: this build was made with PENSTOCK_KERNELS=OFF")
	}
}

// logitsOf decodes a random schedule, the same for the same seed: every pass some sequences get
// from one to 80 tokens.
func logitsOf(t *testing.T, m *Model, o ContextOptions) []float32 {
	t.Helper()
	c := newContext(t, m, o)
	random := rand.New(rand.NewPCG(7, 7))
	next := make([]int32, o.Sequences)
	var all []float32
	for range 12 {
		var batch Batch
		for s := range next {
			n := []int{0, 1, 1, 3, 16, 30, 80}[random.IntN(7)]
			for range min(n, 300-int(next[s])) {
				batch.Add(int32(10+random.IntN(500)), next[s], int32(s), true)
				next[s]++
			}
		}
		if len(batch.Tokens) == 0 {
			continue
		}
		if err := c.Decode(&batch); err != nil {
			t.Fatal(err)
		}
		for i := range c.Rows() {
			all = append(all, c.Row(i)...)
		}
	}
	return all
}

// chosenLogitsOf does so with the kernels of Penstock's order, or of ggml's; the model was loaded
// with the same.
func chosenLogitsOf(t *testing.T, m *Model, o ContextOptions, own bool) []float32 {
	t.Helper()
	useOwnKernels(own)
	defer useOwnKernels(true)
	return logitsOf(t, m, o)
}

// relative is the length of a-b by the length of b.
func relative(a, b []float32) float64 {
	var difference, length float64
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		difference += d * d
		length += float64(b[i]) * float64(b[i])
	}
	return math.Sqrt(difference / length)
}

// Penstock's kernels and ggml's are compared with attention in plain steps and 32 bits. The error
// of either is mostly that of the matrices' inputs, which are rounded to 8 bits.
func TestOwnKernels_AsExactAsGGML(t *testing.T) {
	needKernels(t)
	type kind struct {
		synth.Shape
		weights synth.Quant
		name    string
	}
	var kinds []kind
	for _, shape := range []synth.Shape{
		{Name: "three heads a key", Dim: 192, Layers: 3, Heads: 3, KVHeads: 1, FFN: 256, Context: 2048},
		{Name: "wide heads of their own", Dim: 512, Layers: 2, Heads: 4, KVHeads: 4, FFN: 256, Context: 2048},
		{Name: "odd widths", Dim: 288, Layers: 2, Heads: 6, KVHeads: 2, FFN: 416, Context: 2048},
	} {
		kinds = append(kinds, kind{shape, synth.Q80, "Q8_0"}, kind{shape, synth.Q40, "Q4_0"})
	}
	for _, k := range steadytest.Some(t, kinds, 2) {
		models := map[bool]*Model{true: synthetic(t, k.Shape, k.weights)}
		useOwnKernels(false)
		models[false] = synthetic(t, k.Shape, k.weights)
		o := ContextOptions{Cells: 1536, Batch: 512, Sequences: 3, Rows: 512, TypeK: "f32", TypeV: "f32", FlashAttention: "off"}
		exact := chosenLogitsOf(t, models[false], o, false)
		for _, kv := range []string{"f16", "f32", "q8_0"} {
			if kv == "q8_0" && k.Dim/k.Heads%32 != 0 {
				continue // llama.cpp has no such cache
			}
			for threads, unified := range map[int]bool{1: false, 3: true} {
				if threads == 1 && k.Heads != 3 && !steadytest.Long() {
					continue // one shape shows cells of their own, for each type
				}
				t.Run(fmt.Sprintf("%s/%s/%s/unified=%t", k.Name, k.name, kv, unified), func(t *testing.T) {
					o.TypeK, o.TypeV, o.FlashAttention, o.Threads, o.Unified = kv, kv, "on", threads, unified
					ggml, got := chosenLogitsOf(t, models[false], o, false), chosenLogitsOf(t, models[true], o, true)
					if slices.Equal(got, ggml) {
						t.Fatal("every bit is the same: the kernels were not used")
					}
					if ours, theirs := relative(got, exact), relative(ggml, exact); !(ours < 1.2*theirs) || theirs > 0.1 {
						t.Errorf("logits are off by %.2g of their length, those of ggml's kernels by %.2g", ours, theirs)
					}
				})
			}
		}
	}
}

// Whether each sequence has cells of its own, or shares a buffer with others between its cells: a
// token's sums have the same order, and cells that it does not see are not read. Products have to
// be ours, too: others depend on how many rows a pass has.
func TestOwnKernels_Layout_SameBits(t *testing.T) {
	ownProducts(t)
	useOnly(t, PenstockKernels)
	m := synthetic(t, synth.Shape{Name: "two heads a key", Dim: 256, Layers: 2, Heads: 4, KVHeads: 2, FFN: 256, Context: 2048}, synth.Q40)
	o := ContextOptions{Cells: 1536, Batch: 512, Sequences: 4, Rows: 512, FlashAttention: "on", Threads: 2}
	split := logitsOf(t, m, o)
	o.Unified = true
	if !slices.Equal(split, logitsOf(t, m, o)) {
		t.Error("shared cells give other logits")
	}
}

func TestModel_TokensAtOnce(t *testing.T) {
	m := load(t, builtIn, ModelOptions{})
	if n := m.TokensAtOnce(); n != 1 && n != 4 {
		t.Errorf("%d with our kernels", n)
	}
	UseKernels(KernelSet{}) // without AMX, too
	defer useOwnKernels(true)
	if n := load(t, builtIn, ModelOptions{}).TokensAtOnce(); n != 4 {
		t.Errorf("%d with ggml's kernels", n)
	}
}

// Sequences with a common prefix differ by one cell in their first pass, and none may be computed
// as if it were the next token of another. A different rounding seldom shows after inputs of 8
// bits, so there are many rounds.
func TestOwnKernels_CommonBeginning_SameBits(t *testing.T) {
	ownProducts(t)
	useOnly(t, PenstockKernels)
	const sequences, begin = 3, 63
	m := synthetic(t, synth.Shape{Name: "two heads a key", Dim: 256, Layers: 2, Heads: 4, KVHeads: 2, FFN: 256, Context: 2048}, synth.Q80)
	var want [][]float32
	for _, unified := range []bool{false, true} {
		c := newContext(t, m, ContextOptions{Cells: 768, Sequences: sequences, FlashAttention: "on", Threads: 2, Unified: unified})
		decode := func(batch *Batch) {
			if err := c.Decode(batch); err != nil {
				t.Fatal(err)
			}
		}
		var first Batch
		for i := range begin {
			first.Add(int32(10+i), int32(i), 0, i == begin-1)
		}
		decode(&first)
		for s := int32(1); s < sequences; s++ {
			if err := c.Share(0, s, begin); err != nil {
				t.Fatal(err)
			}
		}
		for round := range 300 {
			var batch Batch
			for s := range int32(sequences) {
				batch.Add(100+int32(round)+s, begin, s, true)
			}
			decode(&batch)
			var got []float32
			for s := range sequences {
				got = append(got, c.Row(s)...)
				if err := c.Remove(int32(s), begin, -1); err != nil {
					t.Fatal(err)
				}
			}
			if !unified {
				want = append(want, got)
			} else if !slices.Equal(got, want[round]) {
				t.Fatalf("round %d: shared cells give other logits", round)
			}
		}
	}
}

// A chunk of a prompt after a number of cells, as the scheduler computes prompts together with
// other streams.
func BenchmarkContext_Chunk(b *testing.B) {
	for _, own := range []bool{false, true} {
		useOwnKernels(own)
		m := benchModel(b)
		for _, depth := range []int{0, 768, 1536} {
			for _, n := range []int{4, 8, 16, 32, 64, 128, 512} {
				b.Run(map[bool]string{false: "ggml", true: "own"}[own]+"/"+strconv.Itoa(depth)+"/"+strconv.Itoa(n), func(b *testing.B) {
					useOwnKernels(own)
					defer useOwnKernels(true)
					c := newContext(b, m, ContextOptions{Cells: 2304, Sequences: 1, Threads: benchNumber("THREADS"), Poll: benchNumber("POLL")})
					chunk := func(from, n int) {
						var batch Batch
						for i := range n {
							batch.Add(int32(100+i), int32(from+i), 0, i == n-1)
						}
						if err := c.Decode(&batch); err != nil {
							b.Fatal(err)
						}
					}
					if depth > 0 {
						chunk(0, depth)
					}
					for b.Loop() {
						chunk(depth, n)
						if err := c.Remove(0, depth, -1); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N*n), "ms/token")
				})
			}
		}
	}
}
