// SPDX-License-Identifier: MIT

package native

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

// A device computes what the CPU computes, but for rounding: after each token of the CPU's greedy
// text, in four sequences at once, it chooses the CPU's next token, or one that is about as likely.
func TestDevice_Decode_AsTheCPU(t *testing.T) {
	if os.Getenv("PENSTOCK_TEST_GPU_LAYERS") == "" {
		t.Skip("scripts/gpu.sh runs this")
	}
	const sequences, tie = 4, 0.25 // of a log-probability
	device := loadBuiltIn(t, ModelOptions{})
	t.Setenv("PENSTOCK_TEST_GPU_LAYERS", "")
	cpu := loadBuiltIn(t, ModelOptions{})
	tokens := must.Get(cpu.Tokenize(t.Context(), greedyPrompt, TokenizeOptions{AddSpecial: true, ParseSpecial: true}))(t)
	tokens = append(tokens, generate(t, newContext(t, cpu, ContextOptions{Threads: 1}), newSampler(t, cpu, greedy()), tokens, 100)...)
	alone := newContext(t, cpu, ContextOptions{Cells: 1024, Threads: 1})
	for name, o := range map[string]ContextOptions{
		"split": {}, "shared": {Unified: true}, "split, plain attention": {FlashAttention: "off"},
	} {
		t.Run(name, func(t *testing.T) {
			o.Cells, o.Sequences, o.Threads = sequences*1024, sequences, 1
			c := newContext(t, device, o)
			must.Do(t, alone.Remove(0, -1, -1))
			near, furthest := 0, 0.0
			for i, token := range tokens {
				var one, all Batch
				one.Add(token, int32(i), 0, true)
				decode(t, alone, &one)
				for seq := range int32(sequences) {
					all.Add(token, int32(i), seq, true)
				}
				decode(t, c, &all)
				want := alone.Row(0)
				best := slices.Max(want)
				for seq := range sequences {
					row := c.Row(seq)
					for j, x := range row {
						furthest = math.Max(furthest, math.Abs(float64(x-want[j])))
					}
					if gap := best - want[greedyOf(row)]; gap > tie {
						t.Fatalf("token %d, sequence %d: the device chooses %d, which the CPU finds %.3f less likely than %d", i, seq, greedyOf(row), gap, greedyOf(want))
					} else if gap > 0 {
						near++
					}
				}
			}
			t.Logf("%d of %d choices are others, near ties; logits differ by %.3f at most", near, sequences*len(tokens), furthest)
		})
	}
}

// gemma12B writes a file with the shape of Gemma 3 12B and without weights, and returns its path.
func gemma12B(t testing.TB) string {
	t.Helper()
	h := must.Get(synth.Gemma12B(filepath.Join(llamaSource(t), "models", "ggml-vocab-gemma-4.gguf")))(t)
	path := filepath.Join(t.TempDir(), "gemma-3-12b.gguf")
	must.Do(t, synth.SparseFile(path, h))
	return path
}

func openDryRun(t testing.TB, path string) *DryRun {
	t.Helper()
	d := must.Get(OpenDryRun(t.Context(), path, ModelOptions{}))(t)
	t.Cleanup(func() { closing(t, d) })
	return d
}

// TestDryRun_Need_Gemma12B_LongContext: 131,072 cells and the weights take less than 32 GB, since
// five of six layers keep a window only.
func TestDryRun_Need_Gemma12B_LongContext(t *testing.T) {
	d := openDryRun(t, gemma12B(t))
	const (
		layer  = 8 * 256 * 2 * 2           // bytes of a cell in one layer: heads, their width, key and value, two bytes each
		global = 131072 * layer * (48 / 6) // of the layers without a window
		window = 1024 * layer * (48 - 48/6)
	)
	for _, unified := range []bool{true, false} {
		need := must.Get(d.Need(ContextOptions{Cells: 131072, Sequences: 8, Unified: unified}))(t)
		if len(need) != 1 || need[0].Kind != "cpu" {
			t.Fatalf("unified %t: main memory alone is needed, not %+v", unified, need)
		}
		if n := need[0]; n.Used() > 32e9 || n.Plain+n.Weights < 7e9 || n.Cells < global+8*window || n.Cells > global+16*window || n.Compute == 0 {
			t.Errorf("unified %t: %.1f GB: %+v", unified, float64(n.Used())/1e9, n)
		}
	}
}

// TestDryRun_Need_IsWhatIsTaken: what a dry run says is what llama.cpp has taken once the model is
// loaded, to the byte. Only the file's pages may be more: mapped are also those of weights that
// were copied out of them.
func TestDryRun_Need_IsWhatIsTaken(t *testing.T) {
	paths := map[string]string{"llama": builtIn}
	for _, kind := range []string{"mamba", "cohere2", "embedder", "bert"} {
		paths[kind] = small(t, kind)
	}
	for name, path := range paths {
		d, m := openDryRun(t, path), load(t, path, ModelOptions{})
		for _, o := range []ContextOptions{
			{Cells: 512, Sequences: 1, Unified: true}, {Cells: 2048, Sequences: 8, Rows: 16, UBatch: 64}, {Cells: 1024, Sequences: 4, Batch: 96, Unified: true},
			{Cells: 512, Output: Embeddings, Batch: 256, UBatch: 256, Unified: true},
		} {
			t.Run(fmt.Sprintf("%s/%d cells", name, o.Cells), func(t *testing.T) {
				need := must.Get(d.Need(o))(t)
				taken := must.Get(newContext(t, m, o).Memory())(t)
				if len(need) != len(taken) {
					t.Fatalf("needed %+v, taken %+v", need, taken)
				}
				for i := range need {
					mapped := taken[i].Plain
					need[i].Free, taken[i].Free, taken[i].Plain = 0, 0, need[i].Plain
					if need[i] != taken[i] || mapped < need[i].Plain {
						t.Errorf("needed %+v, taken %+v with %d mapped", need[i], taken[i], mapped)
					}
				}
			})
		}
	}
}

// TestDryRun_Need_IsResident: a process grows by the cells, and by as much of the buffers as its
// passes have used.
func TestDryRun_Need_IsResident(t *testing.T) {
	if ownBytes(t) == 0 {
		t.Skip("this system does not say how much memory a process has")
	}
	const rows = 32
	o := ContextOptions{Cells: 1 << 18, Sequences: 4, Batch: rows, UBatch: rows, Rows: rows}
	need := must.Get(openDryRun(t, builtIn).Need(o))(t)
	m := load(t, builtIn, ModelOptions{})
	ReturnMemory() // of which the context would take some
	before := ownBytes(t)
	c := newContext(t, m, o)
	var b Batch
	for i := range rows {
		b.Add(1, int32(i), 0, true)
	}
	must.Do(t, c.Decode(&b))
	const other = 20 << 20 // what the context keeps of each cell, and what the test program itself has taken or given back meanwhile
	cells, compute := int(need[0].Cells), int(need[0].Compute)
	if grown := ownBytes(t) - before; grown < cells-other || grown > cells+compute+other {
		t.Errorf("the process grew by %d MB, llama.cpp said %d and %d", grown/1e6, cells/1e6, compute/1e6)
	}
}

// TestDryRun_Need_MoreCellsThanADryRunHas: what is reckoned for them is what llama.cpp says of
// them.
func TestDryRun_Need_MoreCellsThanADryRunHas(t *testing.T) {
	for _, path := range []string{builtIn, small(t, "cohere2")} {
		d, o := openDryRun(t, path), ContextOptions{Cells: 2 * mostDryCells, Sequences: 2, Unified: true}
		want := must.Get(d.need(o))(t)
		if got, err := d.Need(o); err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v, want %+v (%v)", got, want, err)
		}
	}
}

// TestOpenDryRun_AllocatesNothing: neither weights nor cells are in memory.
func TestOpenDryRun_AllocatesNothing(t *testing.T) {
	path := gemma12B(t)
	before := ownBytes(t) + fileBytes(t)
	d := openDryRun(t, path)
	must.Get(d.Need(ContextOptions{Cells: 1 << 20, Sequences: 1, Unified: true}))(t)
	if grown := ownBytes(t) + fileBytes(t) - before; grown > 200<<20 {
		t.Errorf("the process grew by %d MiB", grown>>20)
	}
}

func TestOpenDryRun_BadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	data := must.Get(os.ReadFile(builtIn))(t)
	must.Do(t, os.WriteFile(path, data[:len(data)/2], 0o600))
	for path, want := range map[string]error{path: ErrBadModel, filepath.Join(t.TempDir(), "absent.gguf"): ErrNotFound} {
		if _, err := OpenDryRun(t.Context(), path, ModelOptions{}); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", path, err, want)
		}
	}
}

func BenchmarkOpenDryRun(b *testing.B) {
	path := gemma12B(b)
	for b.Loop() {
		d := must.Get(OpenDryRun(b.Context(), path, ModelOptions{}))(b)
		must.Get(d.Need(ContextOptions{Cells: 131072, Sequences: 16, Unified: true}))(b)
		closing(b, d)
	}
}
