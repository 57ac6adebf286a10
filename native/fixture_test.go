// SPDX-License-Identifier: MIT

package native

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

const builtIn = "../host/model/penstock-tiny.gguf"

// patience is how long something may take that comes of itself, on a machine that is busy with
// other tests.
const patience = 2 * time.Minute

// loadBuiltIn loads the model every test can rely on.
func loadBuiltIn(t testing.TB, o ModelOptions) *Model {
	t.Helper()
	return load(t, builtIn, o)
}

func load(t testing.TB, path string, o ModelOptions) *Model {
	t.Helper()
	if layers := os.Getenv("PENSTOCK_TEST_GPU_LAYERS"); layers != "" && o.GPULayers == 0 && !o.VocabOnly {
		n := must.Get(strconv.Atoi(layers))(t)
		o.GPULayers = n
	}
	m := must.Get(LoadModel(t.Context(), path, o))(t)
	t.Cleanup(func() { closing(t, m) })
	return m
}

func newContext(t testing.TB, m *Model, o ContextOptions) *Context {
	t.Helper()
	c := must.Get(NewContext(m, o))(t)
	t.Cleanup(func() { closing(t, c) })
	return c
}

func newSampler(t testing.TB, m *Model, o SamplerOptions) *Sampler {
	t.Helper()
	s := must.Get(NewSampler(m, o))(t)
	t.Cleanup(func() { closing(t, s) })
	return s
}

func closing(t testing.TB, c interface{ Close() error }) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// llamaSource is llama.cpp's source tree, which the build of the library fetched.
func llamaSource(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("LLAMA_CPP_DIR")
	if dir == "" {
		found, _ := filepath.Glob("../build/llama.cpp/source-*")
		if len(found) == 0 {
			t.Fatal("llama.cpp's source is not there; run native/llama.cpp/build.sh build/llama.cpp")
		}
		dir = found[len(found)-1]
	}
	return dir
}

// encoder writes an encoder model and returns its path.
func encoder(t testing.TB) string {
	t.Helper()
	return small(t, "bert")
}

// small writes a small model of a kind and returns its path.
func small(t testing.TB, kind string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), kind+".gguf")
	must.Do(t, synth.SmallFile(path, kind, 1))
	return path
}

// generate decodes text from a prompt, greedily where o selects so.
func generate(t testing.TB, c *Context, s *Sampler, prompt []int32, n int) []int32 {
	t.Helper()
	var b Batch
	for i, token := range prompt {
		b.Add(token, int32(i), 0, i == len(prompt)-1)
	}
	var out []int32
	for len(out) < n {
		must.Do(t, c.Decode(&b))
		token := must.Get(s.Sample(c.Row(0)))(t)
		must.Do(t, s.Accept(token))
		out = append(out, token)
		if c.Model().EndOfGeneration(token) {
			break
		}
		b.Reset()
		b.Add(token, int32(len(prompt)+len(out)-1), 0, true)
	}
	return out
}

// defaultSamplerOptions is a chain that draws from the model's own distribution: each sampler is
// off.
func defaultSamplerOptions() SamplerOptions {
	return SamplerOptions{
		Select: SelectDist,
		SamplerNumbers: SamplerNumbers{
			Temperature: 1, DynatempExponent: 1, TopP: 1, TypicalP: 1, TopNSigma: -1, XTCThreshold: 0.1, RepeatPenalty: 1,
			DryBase: 1.75, DryAllowedLength: 2, MirostatTau: 5, MirostatEta: 0.1, AdaptiveTarget: -1, AdaptiveDecay: 0.9,
		},
	}
}

func greedy() SamplerOptions {
	o := defaultSamplerOptions()
	o.Select = SelectGreedy
	return o
}

// second is the error of a call that also gives something.
func second[T any](_ T, err error) error { return err }

// useOwnKernels chooses between Penstock's order of kernels, as at the start, and ggml's.
func useOwnKernels(on bool) {
	if on {
		UseKernels(ChoosePenstock.Without())
	} else {
		UseKernels(ChooseGGML.Without())
	}
}

// clearSequences removes all positions of the first n sequences.
func clearSequences(c *Context, n int) error {
	var all error
	for seq := range int32(n) {
		all = errors.Join(all, c.Remove(seq, -1, -1))
	}
	return all
}
