// SPDX-License-Identifier: MIT

package synth

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/penstock/penstock/native/gguf"
)

// Edit copies the model file at path to w with its header changed. The tensors stay as they are.
func Edit(w io.Writer, path string, change func(*gguf.Header)) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	h, err := gguf.Read(file, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	data := io.NewSectionReader(file, h.DataOffset, info.Size()-h.DataOffset) // writing the header changes DataOffset
	change(h)
	if err := h.Write(w); err != nil {
		return err
	}
	_, err = io.Copy(w, data)
	return err
}

// WithBytes copies the model file at path to w with a byte-level vocabulary of as many tokens as
// it had, so that a model without a usable vocabulary can be served. Token n stands for byte n,
// tokens from 256 on for texts like <256>. No token ends an answer.
func WithBytes(w io.Writer, path string) error {
	return Edit(w, path, func(h *gguf.Header) { setBytes(h, len(h.Values["tokenizer.ggml.tokens"].Strings())) })
}

// setBytes gives a header a vocabulary of n tokens that needs no merges.
func setBytes(h *gguf.Header, n int) {
	letters := byteLetters()
	tokens := make([]string, n)
	for i := range tokens {
		if i < len(letters) {
			tokens[i] = string(letters[i])
		} else {
			tokens[i] = fmt.Sprintf("<%d>", i)
		}
	}
	for _, k := range []struct {
		key   string
		value gguf.Value
	}{
		{"model", gguf.NewString("gpt2")}, {"pre", gguf.NewString("gpt-2")}, {"tokens", gguf.NewStrings(tokens...)}, {"merges", gguf.NewStrings()},
		{"add_bos_token", gguf.NewBool(false)}, {"bos_token_id", gguf.NewUint32(0)}, {"eos_token_id", gguf.NewUint32(0)},
	} {
		h.Set("tokenizer.ggml."+k.key, k.value)
	}
}

// byteLetters are the letters by which GPT-2's vocabulary writes the 256 bytes: the printable ones
// of Latin-1 stand for themselves, the others are counted from U+0100.
func byteLetters() [256]rune {
	var letters [256]rune
	next := rune(256)
	for b := range letters {
		switch r := rune(b); {
		case r >= '!' && r <= '~', r >= '¡' && r <= '¬', r >= '®':
			letters[b] = r
		default:
			letters[b] = next
			next++
		}
	}
	return letters
}

// Split divides a model's file into those of two parts, of which the first has the metadata and
// each every other tensor.
func Split(data []byte) (parts [2][]byte, err error) {
	whole, err := gguf.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return parts, err
	}
	count := gguf.NewUint32(uint32(len(whole.Tensors)))
	count.Type = gguf.Int32
	for i := range parts {
		h := &gguf.Header{}
		if i == 0 {
			for _, key := range whole.Keys {
				h.Set(key, whole.Values[key])
			}
		}
		h.Set("split.no", gguf.NewUint16(uint16(i)))
		h.Set("split.count", gguf.NewUint16(2))
		h.Set("split.tensors.count", count)
		var body, out bytes.Buffer
		for j, tensor := range whole.Tensors {
			if j%2 == i {
				padded := h.Append(tensor.Name, tensor.Type, tensor.Dims...)
				from := uint64(whole.DataOffset) + tensor.Offset
				body.Write(data[from : from+tensor.Size()])
				body.Write(make([]byte, padded-tensor.Size()))
			}
		}
		if err := h.Write(&out); err != nil {
			return parts, err
		}
		parts[i] = append(out.Bytes(), body.Bytes()...)
	}
	return parts, nil
}

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
