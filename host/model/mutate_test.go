// SPDX-License-Identifier: MIT

package model

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/penstock/penstock/native/gguf"
)

// mutate returns a damaged copy of a model file and what was done to it. The same seed does the
// same damage.
func mutate(data []byte, seed uint64) ([]byte, string) {
	m := mutator{rand: rand.New(rand.NewPCG(seed, 77)), data: bytes.Clone(data)}
	h, err := gguf.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return data, err.Error()
	}
	m.header = h
	kinds := []func(){m.truncate, m.flipHeader, m.flipData, m.flipAnywhere, m.overwrite, m.setAbsurd, m.editText, m.dropKey,
		m.addKey, m.editTensor, m.fillData, m.splice}
	kinds[seed%uint64(len(kinds))]()
	return m.data, m.did
}

type mutator struct {
	rand   *rand.Rand
	header *gguf.Header
	data   []byte
	did    string
}

func (m *mutator) note(format string, args ...any) { m.did += fmt.Sprintf(format, args...) + "; " }

// headerEnd is the length of the header; half of what is random aims at it, since most of the file
// is weights.
func (m *mutator) headerEnd() int { return int(m.header.DataOffset) }

func (m *mutator) truncate() {
	n := m.rand.IntN(len(m.data))
	if m.rand.IntN(2) == 0 {
		n = m.rand.IntN(m.headerEnd())
	}
	m.note("truncated to %d bytes", n)
	m.data = m.data[:n]
}

func (m *mutator) flip(from, to, most int) {
	for range 1 + m.rand.IntN(most) {
		at, bit := from+m.rand.IntN(to-from), m.rand.IntN(8)
		m.note("bit %d of byte %d", bit, at)
		m.data[at] ^= 1 << bit
	}
}

func (m *mutator) flipHeader()   { m.flip(0, m.headerEnd(), 3) }
func (m *mutator) flipData()     { m.flip(m.headerEnd(), len(m.data), 64) }
func (m *mutator) flipAnywhere() { m.flip(0, len(m.data), 200) }

// overwrite puts extreme numbers into the part of the header that is not the vocabulary, mostly,
// where they hit counts and sizes.
func (m *mutator) overwrite() {
	at := m.rand.IntN(1200)
	if m.rand.IntN(2) == 0 {
		at = m.headerEnd() - 1 - m.rand.IntN(3500)
	}
	pattern := [][]byte{{0}, {0xff}, {0x7f}, {0x80}}[m.rand.IntN(4)]
	n := []int{1, 2, 4, 8, 16}[m.rand.IntN(5)]
	m.note("%d bytes of %#x at %d", n, pattern, at)
	copy(m.data[at:], bytes.Repeat(pattern, n))
}

// rewrite replaces the header by the edited one; the weights stay.
func (m *mutator) rewrite() {
	body := m.data[m.headerEnd():]
	var b bytes.Buffer
	if err := m.header.Write(&b); err != nil {
		m.note("not written: %v", err)
		return
	}
	m.data = append(b.Bytes(), body...)
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func (m *mutator) absurd() gguf.Value {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	switch m.rand.IntN(5) {
	case 0, 1:
		return gguf.NewUint32(pick(m.rand, []uint32{0, 1, 2, 3, 7, 31, 33, 64, 161, 511, 512, 513, 1535, 1537, 1 << 16, 1 << 20,
			1 << 24, 1<<31 - 1, 1 << 31, 1<<32 - 1}))
	case 2, 3:
		return gguf.NewFloat32(pick(m.rand, []float32{0, -1, nan, inf, -inf, 1e-38, 1e38, 1e-45, 0.5, 1e6}))
	default:
		return gguf.NewString(pick(m.rand, []string{"", "x", "llama", "yarn", "longrope", "bert", "gpt2", "t5", "rwkv", "none", "\xff\xfe"}))
	}
}

// setAbsurd replaces one to three scalar values, keeping the type more often than not.
func (m *mutator) setAbsurd() {
	for range 1 + m.rand.IntN(3) {
		key := pick(m.rand, m.header.Keys)
		old, v := m.header.Values[key], m.absurd()
		for tries := 0; v.Type != old.Type && tries < 20; tries++ {
			v = m.absurd()
		}
		m.note("%s = %v %v", key, v.Type, valueText(v))
		m.header.Set(key, v)
	}
	m.rewrite()
}

func valueText(v gguf.Value) string {
	switch v.Type {
	case gguf.String:
		return fmt.Sprintf("%q", v.Text())
	case gguf.Float32:
		return fmt.Sprint(v.Float(0))
	default:
		return fmt.Sprint(v.Int(0))
	}
}

// editText damages strings of the vocabulary and the merges, in place.
func (m *mutator) editText() {
	for range 1 + m.rand.IntN(8) {
		key := pick(m.rand, []string{"tokenizer.ggml.tokens", "tokenizer.ggml.merges", "tokenizer.chat_template", "tokenizer.ggml.pre"})
		list := m.header.Values[key].Strings()
		i := m.rand.IntN(len(list))
		text := pick(m.rand, []string{"", " ", "a", "\xff\xfe\xfd", "\x00", "Ġ", "a b c", "<|im_end|>", "<0x0A>", list[m.rand.IntN(len(list))], list[i] + "\xf0\x9f"})
		m.note("%s[%d] = %.20q", key, i, text)
		list[i] = text
	}
	m.rewrite()
}

func (m *mutator) dropKey() {
	i := m.rand.IntN(len(m.header.Keys))
	m.note("without %s", m.header.Keys[i])
	m.header.Keys = append(m.header.Keys[:i:i], m.header.Keys[i+1:]...)
	m.rewrite()
}

// addKey sets what the built-in model leaves to defaults.
func (m *mutator) addKey() {
	for range 1 + m.rand.IntN(2) {
		key := pick(m.rand, []string{"llama.expert_count", "llama.expert_used_count", "llama.expert_group_count", "llama.nextn_predict_layers",
			"llama.attention.key_length", "llama.attention.value_length", "llama.attention.sliding_window", "llama.attention.causal",
			"llama.attention.scale", "llama.attention.clamp_kqv", "llama.attention.max_alibi_bias", "llama.rope.scaling.type",
			"llama.rope.scaling.factor", "llama.rope.scaling.original_context_length", "llama.rope.scaling.attn_factor",
			"llama.rope.scaling.yarn_beta_fast", "llama.pooling_type", "llama.embedding_length_out", "llama.logit_scale",
			"llama.rope.dimension_sections", "llama.vocab_size", "split.count", "split.no", "general.alignment", "general.type",
			"tokenizer.ggml.scores", "tokenizer.ggml.suppress_tokens", "tokenizer.ggml.token_type_count", "tokenizer.ggml.eot_token_id",
			"tokenizer.ggml.add_eos_token", "tokenizer.ggml.add_sep_token", "tokenizer.ggml.mask_token_id", "tokenizer.ggml.fim_pad_token_id",
			"classifier.output_labels", "llama.classifier.output_labels", "llama.rope.dimension_count_swa"})
		v := m.absurd()
		m.note("%s = %v %v", key, v.Type, valueText(v))
		m.header.Set(key, v)
	}
	m.rewrite()
}

// editTensor changes the description of tensors, mostly so that the data still fits.
func (m *mutator) editTensor() {
	tensors := m.header.Tensors
	a, b := m.rand.IntN(len(tensors)), m.rand.IntN(len(tensors))
	switch m.rand.IntN(5) {
	case 0:
		m.note("names of %s and %s swapped", tensors[a].Name, tensors[b].Name)
		tensors[a].Name, tensors[b].Name = tensors[b].Name, tensors[a].Name
	case 1:
		t := pick(m.rand, []gguf.TensorType{0, 1, 2, 3, 8, 9, 14, 20, 24, 26, 28, 30, 39, 40})
		m.note("%s as %v", tensors[a].Name, t)
		tensors[a].Type = t
	case 2:
		m.note("%s transposed", tensors[a].Name)
		if d := tensors[a].Dims; len(d) > 1 {
			d[0], d[1] = d[1], d[0]
		}
	case 3:
		m.note("%s one row shorter", tensors[a].Name)
		tensors[a].Dims[len(tensors[a].Dims)-1]--
	default:
		m.note("%s renamed", tensors[a].Name)
		tensors[a].Name = pick(m.rand, []string{"", "output.weight", "rope_freqs.weight", "blk.0.attn_q.bias", "blk.9.attn_q.weight", "x"})
	}
	m.rewrite()
}

// fillData overwrites weights with one byte; 0xff and 0x7c are what makes scales infinite or not a
// number.
func (m *mutator) fillData() {
	at := m.headerEnd() + m.rand.IntN(len(m.data)-m.headerEnd())
	n := min(1<<m.rand.IntN(20), len(m.data)-at)
	fill := pick(m.rand, []byte{0, 0xff, 0x7c, 0x7f, 0x80, byte(m.rand.Uint32())})
	m.note("%d bytes of %#x at %d", n, fill, at)
	copy(m.data[at:], bytes.Repeat([]byte{fill}, n))
}

// splice copies one piece of the file over another, as a download put together wrongly would.
func (m *mutator) splice() {
	limit := len(m.data)
	if m.rand.IntN(2) == 0 {
		limit = m.headerEnd()
	}
	n := 1 + m.rand.IntN(limit/4)
	from, to := m.rand.IntN(limit-n), m.rand.IntN(limit-n)
	m.note("%d bytes from %d copied to %d", n, from, to)
	copy(m.data[to:], bytes.Clone(m.data[from:from+n]))
}
