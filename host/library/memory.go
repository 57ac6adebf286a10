// SPDX-License-Identifier: MIT

package library

import (
	"fmt"
	"strings"

	"github.com/penstock/penstock/native/gguf"
)

// Memory is an estimate of what a model takes while it is served, in bytes. Layers with a sliding window count as if they kept all.
type Memory struct {
	Weights uint64 `json:"weights"`
	KVCache uint64 `json:"kv_cache"`
	State   uint64 `json:"state"`   // of recurrent layers
	Compute uint64 `json:"compute"` // buffers of a forward pass
}

// Total is all of it.
func (m Memory) Total() uint64 { return m.Weights + m.KVCache + m.State + m.Compute }

// Use is how a model is served.
type Use struct {
	Cells  int // of the KV cache, in all
	Slots  int
	UBatch int // tokens computed at once
}

// cost is what a model's memory depends on.
type cost struct {
	weights, cell, slot uint64 // bytes: of the weights, of a cell in all layers, of a slot's recurrent state
	embedding, feedForward, vocabulary,
	heads uint64
}

// half is the size of a number in the KV cache, whole that of one in a buffer or a recurrent state.
const half, whole = 2, 4

// costOf reads from the header what serving the model costs. A layer without heads for keys and values has no cells; a state-space
// layer has a state instead.
func costOf(h *gguf.Header) cost {
	layers := number(h, "block_count")
	embedding, heads := number(h, "embedding_length"), number(h, "attention.head_count")
	length := 0
	if heads > 0 {
		length = embedding / heads
	}
	key, value := number(h, "attention.key_length"), number(h, "attention.value_length")
	if key == 0 {
		key = length
	}
	if value == 0 {
		value = length
	}
	of := numbers(h, "attention.head_count_kv")
	if of == nil {
		of = numbers(h, "attention.head_count")
	}
	c := cost{weights: h.TensorBytes(), embedding: uint64(embedding), feedForward: uint64(number(h, "feed_forward_length")), heads: uint64(heads),
		vocabulary: uint64(len(h.Values["tokenizer.ggml.tokens"].Strings()))}
	recurrent, stateLayers := stateOf(h), stateLayers(h)
	for i := range layers {
		n := int64(0)
		if len(of) > 0 {
			n = of[min(i, len(of)-1)]
		}
		if n > 0 && !stateLayers[i] {
			c.cell += uint64(n) * uint64(key+value) * half
		} else {
			c.slot += recurrent
		}
	}
	return c
}

// stateOf is the size of a recurrent layer's state, 0 for models without.
func stateOf(h *gguf.Header) uint64 {
	inner, state, kernel := number(h, "ssm.inner_size"), number(h, "ssm.state_size"), number(h, "ssm.conv_kernel")
	if inner == 0 {
		return 0
	}
	groups := number(h, "ssm.group_count")
	return whole * uint64(max(kernel-1, 0)*(inner+2*groups*state)+state*inner)
}

// stateLayers are the state-space layers, which their weights tell.
func stateLayers(h *gguf.Header) map[int]bool {
	layers := map[int]bool{}
	for _, t := range h.Tensors {
		var n int
		if _, err := fmt.Sscanf(t.Name, "blk.%d.ssm_out.weight", &n); err == nil && strings.HasSuffix(t.Name, ".ssm_out.weight") {
			layers[n] = true
		}
	}
	return layers
}

// memory estimates what serving takes. The buffers are those of the widest step of a pass: some copies of the embedding, the two wide
// halves of a feed-forward layer, the attention's rows and the logits.
func (c cost) memory(u Use) Memory {
	return Memory{
		Weights: c.weights, KVCache: c.cell * uint64(u.Cells), State: c.slot * uint64(u.Slots),
		Compute: whole * (uint64(u.UBatch)*(6*c.embedding+2*c.feedForward+c.heads*64) + uint64(u.Slots)*c.vocabulary),
	}
}
