// SPDX-License-Identifier: MIT

package native

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/native/gguf/synth"
)

var tiedShape = synth.Shape{Name: "tied", Dim: 256, Layers: 4, Heads: 4, KVHeads: 2, FFN: 704, Context: 2048}

// untied copies a model whose embedding is its output layer, with an output layer of its own, of
// the same numbers.
func untied(t *testing.T, path string) string {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h, err := gguf.Read(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	weights := file[h.DataOffset:]
	embedding := h.Tensors[slices.IndexFunc(h.Tensors, func(t gguf.Tensor) bool { return t.Name == "token_embd.weight" })]
	h.Append("output.weight", embedding.Type, embedding.Dims...)
	output := h.Tensors[len(h.Tensors)-1]
	weights = append(weights[:len(weights):len(weights)], make([]byte, output.Offset+output.Size()-uint64(len(weights)))...)
	copy(weights[output.Offset:], weights[embedding.Offset:][:embedding.Size()])
	var out bytes.Buffer
	if err := h.Write(&out); err != nil {
		t.Fatal(err)
	}
	out.Write(weights)
	to := filepath.Join(t.TempDir(), "untied.gguf")
	if err := os.WriteFile(to, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

// An embedding that is the output layer, too, is laid out for products, and tokens are looked up
// there: to the bit as in the file.
func TestLoad_TiedEmbedding_LookedUpAsInFile(t *testing.T) {
	useOnly(t, PenstockKernels)
	for _, quant := range []synth.Quant{synth.Q40, synth.Q80} {
		path := syntheticFile(t, tiedShape, quant)
		for _, threads := range []int{1, 3} {
			o := ContextOptions{Cells: 1024, Sequences: 3, Rows: 256, Threads: threads}
			tied, apart := logitsOf(t, load(t, path, ModelOptions{}), o), logitsOf(t, load(t, untied(t, path), ModelOptions{}), o)
			if len(tied) == 0 || !slices.Equal(tied, apart) {
				t.Errorf("%v, %d threads: %d logits are not those of the same model with an output layer apart (%d)", quant, threads, len(tied), len(apart))
			}
		}
	}
}
