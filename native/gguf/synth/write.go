// SPDX-License-Identifier: MIT

// Package synth writes model files with random weights: of real shapes, to measure with, and small
// ones, to test with.
//
// Speed does not depend on what the weights are, so such a file measures it without a download.
package synth

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/penstock/penstock/native/gguf"
)

// Write writes a model of Llama's architecture to w, or of GLM 4's where the shape has a head. The
// vocabulary is that of the GGUF file vocabPath, of which only the header is read; llama.cpp's
// source tree has some under models/. The same arguments give the same bytes.
func Write(w io.Writer, shape Shape, vocabPath string, quant Quant, seed uint64) error {
	if err := shape.validate(); err != nil {
		return err
	}
	h := &gguf.Header{}
	describe(h, shape, quant)
	tokens, err := copyVocabulary(h, vocabPath)
	if err != nil {
		return fmt.Errorf("reading the vocabulary %s: %w", vocabPath, err)
	}
	h.Set(shape.architecture()+".vocab_size", gguf.NewUint32(uint32(tokens)))
	addTensors(h, shape, quant, uint64(tokens))
	if err := h.Write(w); err != nil {
		return fmt.Errorf("writing the model's header: %w", err)
	}
	write := func(w io.Writer, t gguf.Tensor, index int) error {
		return writeTensor(w, t, h.Alignment, seed, uint64(index))
	}
	if shape.Loop > 0 {
		write = (&loop{length: uint64(shape.Loop), right: uint64(shape.Right), write: write}).tensor
	}
	for i, t := range h.Tensors {
		if err := write(w, t, i); err != nil {
			return fmt.Errorf("writing tensor %s: %w", t.Name, err)
		}
	}
	return nil
}

func describe(h *gguf.Header, s Shape, q Quant) {
	prefix := s.architecture() + "."
	h.Set("general.architecture", gguf.NewString(s.architecture()))
	h.Set("general.name", gguf.NewString("random weights "+s.Name))
	h.Set("general.file_type", gguf.NewUint32(q.fileType()))
	for _, p := range []struct {
		key   string
		value uint32
	}{
		{"context_length", s.Context}, {"embedding_length", s.Dim}, {"block_count", s.Layers}, {"feed_forward_length", s.FFN},
		{"attention.head_count", s.Heads}, {"attention.head_count_kv", s.KVHeads}, {"rope.dimension_count", s.headDim()},
	} {
		h.Set(prefix+p.key, gguf.NewUint32(p.value))
	}
	if s.Experts > 0 {
		h.Set(prefix+"expert_count", gguf.NewUint32(s.Experts))
		h.Set(prefix+"expert_used_count", gguf.NewUint32(s.Active))
	}
	if s.Head {
		s.describeHead(h)
	}
	h.Set(prefix+"attention.layer_norm_rms_epsilon", gguf.NewFloat32(1e-5))
	h.Set(prefix+"rope.freq_base", gguf.NewFloat32(10000))
}

// copyVocabulary copies the tokenizer's keys and returns the number of tokens.
func copyVocabulary(h *gguf.Header, path string) (int, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	from, err := gguf.Read(file, info.Size())
	if err != nil {
		return 0, err
	}
	for _, key := range from.Keys {
		if strings.HasPrefix(key, "tokenizer.") {
			h.Set(key, from.Values[key])
		}
	}
	n := len(h.Values["tokenizer.ggml.tokens"].Strings())
	if n == 0 {
		return 0, fmt.Errorf("%w: it has no tokens", gguf.ErrMalformed)
	}
	return n, nil
}

// tensor is a tensor of a layer, without the layer's number.
type tensor struct {
	name string
	kind gguf.TensorType
	dims []uint64
}

// addTensors lists the tensors in the order llama.cpp's own files have. Norms are F32.
func addTensors(h *gguf.Header, s Shape, q Quant, tokens uint64) {
	dim := uint64(s.Dim)
	h.Append(embeddingName, gguf.Q8_0, dim, tokens)
	h.Append("output_norm.weight", gguf.F32, dim)
	if s.Loop > 0 {
		h.Append(outputName, gguf.Q8_0, dim, tokens)
	}
	for i := range s.Layers {
		for _, t := range append(s.attention(q), s.feedForward(q)...) {
			h.Append(fmt.Sprintf("blk.%d.%s.weight", i, t.name), t.kind, t.dims...)
		}
	}
	if s.Head {
		s.addHead(h, q, tokens)
	}
}

func (s Shape) attention(q Quant) []tensor {
	dim, kv, kind := uint64(s.Dim), uint64(s.KVHeads*s.headDim()), q.layerType()
	return []tensor{
		{"attn_norm", gguf.F32, []uint64{dim}}, {"attn_q", kind, []uint64{dim, dim}}, {"attn_k", kind, []uint64{dim, kv}},
		{"attn_v", kind, []uint64{dim, kv}}, {"attn_output", kind, []uint64{dim, dim}}, {s.secondNorm(), gguf.F32, []uint64{dim}},
	}
}

// feedForward lists the matrices of one layer; those of all experts are one tensor. What chooses
// the experts is F32.
func (s Shape) feedForward(q Quant) []tensor {
	dim, ffn, experts, kind := uint64(s.Dim), uint64(s.FFN), uint64(s.Experts), q.layerType()
	if experts == 0 {
		return []tensor{{"ffn_gate", kind, []uint64{dim, ffn}}, {"ffn_up", kind, []uint64{dim, ffn}}, {"ffn_down", kind, []uint64{ffn, dim}}}
	}
	return []tensor{
		{"ffn_gate_inp", gguf.F32, []uint64{dim, experts}}, {"ffn_gate_exps", kind, []uint64{dim, ffn, experts}},
		{"ffn_up_exps", kind, []uint64{dim, ffn, experts}}, {"ffn_down_exps", kind, []uint64{ffn, dim, experts}},
	}
}
