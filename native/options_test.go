// SPDX-License-Identifier: MIT

package native

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestLoadModel_OptionsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		options ModelOptions
		says    string
	}{
		"split mode":           {ModelOptions{SplitMode: "rows"}, "layer, none, row, tensor"},
		"load mode":            {ModelOptions{LoadMode: "fast"}, "auto, dio, mlock"},
		"lazy mode":            {ModelOptions{LazyMode: "1"}, "auto, off, on"},
		"no such device":       {ModelOptions{Devices: []string{"CUDA9"}}, "there are: "},
		"the CPU":              {ModelOptions{Devices: []string{"CPU"}}, "there is no device"},
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

// Whatever way the weights come into memory, they are the same.
func TestLoadModel_WaysToLoad(t *testing.T) {
	prompt := []int32{5, 6, 7, 8}
	alone := func(o ModelOptions) []int32 {
		m := loadBuiltIn(t, o)
		return generate(t, newContext(t, m, ContextOptions{Cells: 256, Threads: 1}), newSampler(t, m, greedy()), prompt, 12)
	}
	want := alone(ModelOptions{})
	for name, o := range map[string]ModelOptions{
		"auto": {LoadMode: "auto"}, "none": {LoadMode: "none"}, "mlock": {LoadMode: "mlock"}, "mmap+mlock": {LoadMode: "mmap+mlock"}, "dio": {LoadMode: "dio"},
		"no device": {Devices: []string{"none"}, GPULayers: -1}, "no repack": {NoRepack: true}, "no host": {NoHost: true}, "lazy": {LazyMode: "on"},
		"in the CPU's buffers": {TensorOverrides: []TensorOverride{{`\.ffn_(up|down)\.`, "CPU"}}},
		"a share of no device": {TensorSplit: []float32{3, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := alone(o); !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
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
