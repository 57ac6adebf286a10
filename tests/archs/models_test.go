// SPDX-License-Identifier: MIT

package archs

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

// writer is llama.cpp's program that writes small models of random weights, with contexts of 256
// tokens and windows of 32; `make llama-archs` builds it.
const writer = "../../build/llama.cpp/tools/test-llama-archs"

var unsupported = regexp.MustCompile(`save_models: (\S+) model \(\w+\) is unsupported`)

// synthesize writes models of which we have the headers, with weights of our own, and returns their
// paths.
func synthesize(t *testing.T, names ...string) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, name+".gguf")
		must.Do(t, synth.SmallFile(path, name, 1))
		paths = append(paths, path)
	}
	return paths
}

// unnamed are architectures that llama.cpp's program leaves out without a word.
var unnamed = []string{"gemma4", "gemma4-assistant", "eagle3", "dflash"}

// writeModels writes a model of each architecture whose name matches a pattern. It returns their
// paths, and the architectures of which it could write none.
//
// The weights deviate by 0.3: with llama.cpp's own 0.1 most models answer the same whatever stands
// before.
func writeModels(t *testing.T, pattern string) (paths, unwritten []string) {
	t.Helper()
	if _, err := os.Stat(writer); err != nil {
		t.Fatalf("test-llama-archs is not built; `make llama-archs` does that: %v", err)
	}
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), writer, "-s", "1", "-d", "0.3", "-a", pattern, "-o", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	if paths, err = filepath.Glob(filepath.Join(dir, "*.gguf")); err != nil {
		t.Fatal(err)
	}
	unwritten = slices.Clone(unnamed)
	for _, m := range unsupported.FindAllStringSubmatch(string(out), -1) {
		unwritten = append(unwritten, m[1])
	}
	return paths, unwritten
}

// alike are architectures of which llama.cpp's program writes none, and those whose models have
// the same tensors.
var alike = map[string]string{"llama-embed": "llama", "gemma-embedding": "gemma3"}

// withOurs adds models that llama.cpp's program does not write to those that it wrote, and takes
// their names from the unwritten ones.
func withOurs(t *testing.T, paths, unwritten []string) ([]string, []string) {
	t.Helper()
	dir := filepath.Dir(paths[0])
	add := func(arch, path string) {
		paths = append(paths, path)
		unwritten = slices.DeleteFunc(unwritten, func(u string) bool { return u == arch })
	}
	for _, arch := range slices.Sorted(maps.Keys(alike)) {
		add(arch, renamed(t, filepath.Join(dir, alike[arch]+"-dense.gguf"), arch))
	}
	for _, arch := range []string{"bert", "t5"} {
		path := filepath.Join(dir, arch+"-dense.gguf")
		must.Do(t, synth.SmallFile(path, arch, 1))
		add(arch, path)
	}
	return paths, unwritten
}

// renamed copies a model to one of another architecture beside it.
func renamed(t *testing.T, path, arch string) string {
	t.Helper()
	out := filepath.Join(filepath.Dir(path), arch+"-dense.gguf")
	file, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	err = synth.Edit(file, path, func(h *gguf.Header) {
		old := h.Architecture() + "."
		for i, k := range h.Keys {
			if rest, ok := strings.CutPrefix(k, old); ok {
				h.Keys[i] = arch + "." + rest
				h.Values[h.Keys[i]] = h.Values[k]
			}
		}
		h.Set("general.architecture", gguf.NewString(arch))
	})
	must.Do(t, errors.Join(err, file.Close()))
	return out
}

// nameOf is a model's architecture, with "-moe" or "-dense" where llama.cpp's program writes both.
func nameOf(path string) string { return strings.TrimSuffix(filepath.Base(path), ".gguf") }

// withBytes gives a model a byte-level vocabulary and removes the one without.
func withBytes(t *testing.T, path string) string {
	t.Helper()
	out := strings.TrimSuffix(path, ".gguf") + "-bytes.gguf"
	file := must.Get(os.Create(out))(t)
	must.Do(t, errors.Join(synth.WithBytes(file, path), file.Close(), os.Remove(path)))
	t.Cleanup(func() {
		if err := os.Remove(out); err != nil {
			t.Error(err)
		}
	})
	return out
}

// header reads a model's.
func header(t *testing.T, path string) *gguf.Header {
	t.Helper()
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	stat := must.Get(file.Stat())(t)
	return must.Get(gguf.Read(file, stat.Size()))(t)
}

// prompts are of different lengths, with tokens that every model here has and that end no answer.
func prompts() [][]int32 {
	var all [][]int32
	for i, n := range []int{5, 30, 100, 170} {
		all = append(all, words(i, n))
	}
	return all
}

// words makes up n tokens; those of another seed have no beginning in common.
func words(seed, n int) []int32 {
	tokens := make([]int32, n)
	x := uint32(seed + 1)
	for i := range tokens {
		x = x*1664525 + 1013904223 // Numerical Recipes' generator
		tokens[i] = 1 + int32(x>>16)%127
	}
	return tokens
}
