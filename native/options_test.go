// SPDX-License-Identifier: MIT

package native

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/native/gguf/synth"
)

func TestLoadModel_OptionsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		options ModelOptions
		says    string
	}{
		"split mode":           {ModelOptions{SplitMode: "rows"}, "layer, none, row, tensor"},
		"load mode":            {ModelOptions{LoadMode: "fast"}, "auto, dio, mlock"},
		"lazy mode":            {ModelOptions{LazyMode: "1"}, "auto, off, on"},
		"no such device":       {ModelOptions{Devices: []string{"CUDA9"}}, "besides the CPU there are: "},
		"the CPU":              {ModelOptions{Devices: []string{"CPU"}}, "does not exist"},
		"zero byte":            {ModelOptions{Devices: []string{"a\x00b"}}, "zero byte"},
		"split mode tensor":    {ModelOptions{SplitMode: "tensor"}, "needs a GPU"},
		"no pattern":           {ModelOptions{TensorOverrides: []TensorOverride{{"", "CPU"}}}, "1 to 1024"},
		"long pattern":         {ModelOptions{TensorOverrides: []TensorOverride{{strings.Repeat("a", 1025), "CPU"}}}, "1 to 1024"},
		"no pattern of theirs": {ModelOptions{TensorOverrides: []TensorOverride{{"blk.(", "CPU"}}}, "no regular expression"},
		"no such buffer":       {ModelOptions{TensorOverrides: []TensorOverride{{"blk", "CUDA9"}}}, "there are: CPU"},
		"many overrides":       {ModelOptions{TensorOverrides: make([]TensorOverride, 4096)}, "4095"},
		"override of no type":  {ModelOptions{KVOverrides: []MetadataOverride{{"a", "i32", "1"}}}, "int, float, bool and str"},
		"override, no number":  {ModelOptions{KVOverrides: []MetadataOverride{{"a", "int", "1.5"}}}, "invalid syntax"},
		"override, no flag":    {ModelOptions{KVOverrides: []MetadataOverride{{"a", "bool", "1"}}}, "neither true nor false"},
		"override, no key":     {ModelOptions{KVOverrides: []MetadataOverride{{"", "int", "1"}}}, "1 to 127"},
		"override, long text":  {ModelOptions{KVOverrides: []MetadataOverride{{"a", "str", strings.Repeat("x", 128)}}}, "127 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := LoadModel(t.Context(), builtIn, c.options)
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want ErrInvalid that says %q", err, c.says)
			}
			if m != nil {
				_ = m.Close()
			}
		})
	}
}

// Whatever way the weights come into memory, from one file or several, they are the same, and
// adapters fit them.
func TestLoadModel_WaysToLoad(t *testing.T) {
	data, err := os.ReadFile(builtIn)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := synth.Split(data)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for i, part := range parts {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("m-%05d-of-00002.gguf", i+1)), part, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text := func(t *testing.T, path string, o ModelOptions) []int32 {
		m := load(t, path, o)
		c := newContext(t, m, ContextOptions{Cells: 256, Threads: 1})
		plain := generate(t, c, newSampler(t, m, greedy()), []int32{5, 6, 7, 8}, 12)
		if err := c.Remove(0, -1, -1); err != nil {
			t.Fatal(err)
		}
		setAdapters(t, c, ScaledAdapter{loadAdapter(t, m, synth.Adapter{Seed: 1}), 1})
		return append(plain, generate(t, c, newSampler(t, m, greedy()), []int32{5, 6, 7, 8}, 12)...)
	}
	want := text(t, builtIn, ModelOptions{})
	for name, o := range map[string]ModelOptions{
		"auto": {LoadMode: "auto"}, "none": {LoadMode: "none"}, "mlock": {LoadMode: "mlock"}, "mmap+mlock": {LoadMode: "mmap+mlock"}, "dio": {LoadMode: "dio"},
		"no device": {Devices: []string{"none"}, GPULayers: -1}, "no repack": {NoRepack: true}, "no host": {NoHost: true}, "lazy": {LazyMode: "on"},
		"in the CPU's buffers": {TensorOverrides: []TensorOverride{{`\.ffn_(up|down)\.`, "CPU"}}},
		"a share of no device": {TensorSplit: []float32{3, 1}},
	} {
		for _, path := range []string{builtIn, filepath.Join(folder, "m-00001-of-00002.gguf")} {
			t.Run(name+"/"+filepath.Base(path), func(t *testing.T) {
				if got := text(t, path, o); !slices.Equal(got, want) {
					t.Errorf("%v, want %v", got, want)
				}
			})
		}
	}
	if err := os.Remove(filepath.Join(folder, "m-00002-of-00002.gguf")); err != nil {
		t.Fatal(err)
	}
	_, err = LoadModel(t.Context(), filepath.Join(folder, "m-00001-of-00002.gguf"), ModelOptions{})
	if !errors.Is(err, ErrBadModel) || !strings.Contains(err.Error(), "m-00002-of-00002.gguf") {
		t.Errorf("without its second part: %v", err)
	}
}

// llama.cpp asserts that a head fits the blocks of a quantised type.
func TestNewContext_HeadsThatDoNotFitBlocks(t *testing.T) {
	m := synthetic(t, synth.Shape{Name: "odd heads", Dim: 96, Layers: 1, Heads: 2, KVHeads: 1, FFN: 96, Context: 256}, synth.Q80)
	for _, o := range []ContextOptions{{TypeK: "q8_0", FlashAttention: "off"}, {TypeK: "q4_0"}, {TypeV: "q8_0", FlashAttention: "on"}} {
		c, err := NewContext(m, o)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "48") {
			t.Errorf("%+v: %v, want ErrInvalid that names the width of a head", o, err)
		}
		if c != nil {
			closing(t, c)
		}
	}
}

func TestNewContext_OptionsRefused(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	for name, c := range map[string]struct {
		options ContextOptions
		says    string
	}{
		"V without flash attention": {ContextOptions{TypeV: "q4_0", FlashAttention: "off"}, "needs flash attention"},
		"type of K":                 {ContextOptions{TypeK: "q6_k"}, "bf16, f16, f32, iq4_nl"},
		"rope scaling":              {ContextOptions{Rope: Rope{Scaling: "ntk"}}, "linear, longrope, model, none, yarn"},
		"tiny rope scale":           {ContextOptions{Rope: Rope{FreqScale: 1e-9}}, "at least 1e-6"},
		"rope base":                 {ContextOptions{Rope: Rope{FreqBase: -1}}, "0 or more"},
		"rope scale":                {ContextOptions{Rope: Rope{FreqScale: float32(math.NaN())}}, "0 or more"},
		"YaRN":                      {ContextOptions{Rope: Rope{YaRN: &YaRN{ExtFactor: float32(math.Inf(1))}}}, "ext factor"},
		"YaRN's context":            {ContextOptions{Rope: Rope{YaRN: &YaRN{OrigCtx: -1}}}, "original context"},
		"threads for batches":       {ContextOptions{ThreadsBatch: 513}, "1 to 512"},
	} {
		t.Run(name, func(t *testing.T) {
			context, err := NewContext(m, c.options)
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want ErrInvalid that says %q", err, c.says)
			}
			if context != nil {
				closing(t, context)
			}
		})
	}
}
