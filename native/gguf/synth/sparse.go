// SPDX-License-Identifier: MIT

package synth

import (
	"errors"
	"fmt"
	"os"

	"github.com/penstock/penstock/native/gguf"
)

// SparseFile writes a file with a model's header that is as long as if the weights followed. There
// are none: the rest is a hole, which takes no space on the disk. It is for what reads no weights,
// such as llama.cpp's dry run.
func SparseFile(path string, h *gguf.Header) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	err = h.Write(file)
	if err == nil && len(h.Tensors) > 0 {
		last := h.Tensors[len(h.Tensors)-1]
		err = file.Truncate(h.DataOffset + int64(last.Offset+last.Size()+h.Alignment-1)&^int64(h.Alignment-1))
	}
	return errors.Join(err, file.Close())
}

// Numbers of two types of weights that package gguf has no names for.
const q4K, q6K gguf.TensorType = 12, 14

// Gemma12B is the header of Gemma 3 12B in Q4_K and Q6_K, with the vocabulary of the GGUF file
// vocabPath: five of six layers have a sliding window.
func Gemma12B(vocabPath string) (*gguf.Header, error) {
	const dim, layers, heads, kvHeads, head, ffn = 3840, 48, 16, 8, 256, 15360
	h := &gguf.Header{}
	h.Set("general.architecture", gguf.NewString("gemma3"))
	h.Set("general.name", gguf.NewString("a shape of Gemma 3 12B"))
	for _, p := range []struct {
		key   string
		value uint32
	}{
		{"context_length", 131072}, {"embedding_length", dim}, {"block_count", layers}, {"feed_forward_length", ffn},
		{"attention.head_count", heads}, {"attention.head_count_kv", kvHeads}, {"attention.key_length", head},
		{"attention.value_length", head}, {"attention.sliding_window", 1024},
	} {
		h.Set("gemma3."+p.key, gguf.NewUint32(p.value))
	}
	h.Set("gemma3.attention.layer_norm_rms_epsilon", gguf.NewFloat32(1e-6))
	h.Set("gemma3.rope.freq_base", gguf.NewFloat32(1e6))
	tokens, err := copyVocabulary(h, vocabPath)
	if err != nil {
		return nil, fmt.Errorf("reading the vocabulary %s: %w", vocabPath, err)
	}
	h.Append("token_embd.weight", q6K, dim, uint64(tokens))
	h.Append("output_norm.weight", gguf.F32, dim)
	for i := range layers {
		for _, t := range []struct {
			name string
			kind gguf.TensorType
			dims []uint64
		}{
			{"attn_norm", gguf.F32, []uint64{dim}}, {"attn_q", q4K, []uint64{dim, heads * head}}, {"attn_k", q4K, []uint64{dim, kvHeads * head}},
			{"attn_v", q6K, []uint64{dim, kvHeads * head}}, {"attn_output", q4K, []uint64{heads * head, dim}},
			{"attn_q_norm", gguf.F32, []uint64{head}}, {"attn_k_norm", gguf.F32, []uint64{head}}, {"post_attention_norm", gguf.F32, []uint64{dim}},
			{"ffn_norm", gguf.F32, []uint64{dim}}, {"ffn_gate", q4K, []uint64{dim, ffn}}, {"ffn_up", q4K, []uint64{dim, ffn}},
			{"ffn_down", q6K, []uint64{ffn, dim}}, {"post_ffw_norm", gguf.F32, []uint64{dim}},
		} {
			h.Append(fmt.Sprintf("blk.%d.%s.weight", i, t.name), t.kind, t.dims...)
		}
	}
	return h, nil
}
