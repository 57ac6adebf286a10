// SPDX-License-Identifier: MIT

package synth

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/penstock/penstock/native/gguf"
)

// A head is a layer behind the others that guesses the token after the next (MTP). It reads a
// token's embedding and the hidden state before it, one after the other, through a matrix of its
// own, headInput. A loop's head takes the embedding alone, and its layer adds nothing, so it does
// what the model does: it is always right, but for the tokens whose rows are exchanged in
// headOutput. GLM 4's architecture allows that: dense layers, and a head with one expert.
const (
	headInput  = ".nextn.eh_proj.weight"
	headOutput = ".nextn.shared_head_head.weight"
)

func (s Shape) architecture() string {
	if s.Head {
		return "glm4moe"
	}
	return "llama"
}

// secondNorm is the name of the norm between a layer's attention and its matrices.
func (s Shape) secondNorm() string {
	if s.Head {
		return "post_attention_norm"
	}
	return "ffn_norm"
}

func (s Shape) describeHead(h *gguf.Header) {
	for _, p := range []struct {
		key   string
		value uint32
	}{
		{"block_count", s.Layers + 1}, {"nextn_predict_layers", 1}, {"leading_dense_block_count", s.Layers}, {"expert_count", 1},
		{"expert_used_count", 1}, {"expert_shared_count", 1}, {"expert_feed_forward_length", s.FFN},
	} {
		h.Set(s.architecture()+"."+p.key, gguf.NewUint32(p.value))
	}
}

func (s Shape) addHead(h *gguf.Header, q Quant, tokens uint64) {
	dim, ffn, kind := uint64(s.Dim), uint64(s.FFN), q.layerType()
	layer := slices.Concat(s.attention(q), []tensor{
		{"ffn_gate_inp", gguf.F32, []uint64{dim, 1}}, {"ffn_gate_exps", kind, []uint64{dim, ffn, 1}},
		{"ffn_up_exps", kind, []uint64{dim, ffn, 1}}, {"ffn_down_exps", kind, []uint64{ffn, dim, 1}},
		{"ffn_gate_shexp", kind, []uint64{dim, ffn}}, {"ffn_up_shexp", kind, []uint64{dim, ffn}}, {"ffn_down_shexp", kind, []uint64{ffn, dim}},
		{"nextn.eh_proj", kind, []uint64{2 * dim, dim}}, {"nextn.enorm", gguf.F32, []uint64{dim}}, {"nextn.hnorm", gguf.F32, []uint64{dim}},
	})
	if s.Loop > 0 && s.Right < 100 {
		layer = append(layer, tensor{"nextn.shared_head_head", gguf.Q8_0, []uint64{dim, tokens}})
	}
	for _, t := range layer {
		h.Append(fmt.Sprintf("blk.%d.%s.weight", s.Layers, t.name), t.kind, t.dims...)
	}
	h.Append(fmt.Sprintf("blk.%d.exp_probs_b.bias", s.Layers), gguf.F32, 1)
}

// exchanged is the token whose row a token has in the head's own output layer. Neighbours change
// places, evenly over the group.
func (l *loop) exchanged(token uint64) uint64 {
	pair, pairs := token%l.length/2, l.length/2
	wrong := (100 - l.right) * pairs / 100
	if (pair+1)*wrong/pairs == pair*wrong/pairs {
		return token
	}
	return token ^ 1
}

// writeIdentity writes a matrix that gives on a part of its input, from a number on.
func writeIdentity(w io.Writer, t gguf.Tensor, from uint64) error {
	row := make([]float32, t.Dims[0])
	var out []byte
	for i := range t.Dims[1] {
		row[from+i] = 1
		out = encode(out[:0], t.Type, row)
		row[from+i] = 0
		if _, err := w.Write(out); err != nil {
			return err
		}
	}
	return nil
}

// WithHead copies a small model of Qwen 3.5's architecture to w and adds a head, with random
// weights, or one that guesses the last token again.
func WithHead(w io.Writer, path string, echo bool, seed uint64) error {
	var added []gguf.Tensor
	var align uint64
	err := Edit(w, path, func(h *gguf.Header) {
		added, align = addSmallHead(h), h.Alignment
	})
	if err != nil {
		return err
	}
	for i, t := range added {
		fill := func(x float64) float64 { return archDeviation / smallDeviation * x }
		if len(t.Dims) == 1 {
			fill = one
		}
		if echo {
			switch {
			case strings.HasSuffix(t.Name, headInput):
				if err := writeIdentity(w, t, t.Dims[1]); err != nil {
					return err
				}
				continue
			case strings.HasSuffix(t.Name, ".attn_output.weight"), strings.HasSuffix(t.Name, ".ffn_down.weight"):
				fill = func(float64) float64 { return 0 }
			}
		}
		random := smallTensor{fill: fill}
		if _, err := w.Write(random.data(t.Elements(), align, rand.New(rand.NewPCG(seed, uint64(i))))); err != nil {
			return err
		}
	}
	return nil
}

// addSmallHead adds the tensors of a head to a header, which are those of its last layer and a
// head's own. What the header tells of each layer it tells of one more.
func addSmallHead(h *gguf.Header) []gguf.Tensor {
	prefix := h.Architecture() + "."
	layers := h.Values[prefix+"block_count"].Int(0)
	for key, v := range h.Values {
		if v.Type == gguf.Array && strings.HasPrefix(key, prefix) && int64(v.Len()) == layers {
			h.Set(key, oneMore(v))
		}
	}
	h.Set(prefix+"block_count", gguf.NewUint32(uint32(layers+1)))
	h.Set(prefix+"nextn_predict_layers", gguf.NewUint32(1))
	before := len(h.Tensors)
	last, next := fmt.Sprintf("blk.%d.", layers-1), fmt.Sprintf("blk.%d.", layers)
	for _, t := range slices.Clone(h.Tensors) {
		if name, is := strings.CutPrefix(t.Name, last); is && strings.HasSuffix(name, ".weight") {
			h.Append(next+name, t.Type, t.Dims...)
		}
	}
	dim := uint64(h.Values[prefix+"embedding_length"].Int(0))
	h.Append(strings.TrimSuffix(next, ".")+headInput, gguf.F32, 2*dim, dim)
	h.Append(next+"nextn.enorm.weight", gguf.F32, dim)
	h.Append(next+"nextn.hnorm.weight", gguf.F32, dim)
	return h.Tensors[before:]
}

// oneMore is an array of numbers with its last one a second time.
func oneMore(v gguf.Value) gguf.Value {
	if v.Elem == gguf.Float32 {
		var numbers []float32
		for i := range v.Len() {
			numbers = append(numbers, float32(v.Float(i)))
		}
		return gguf.NewFloat32s(append(numbers, numbers[len(numbers)-1])...)
	}
	var numbers []uint32
	for i := range v.Len() {
		numbers = append(numbers, uint32(v.Int(i)))
	}
	return gguf.NewUint32s(append(numbers, numbers[len(numbers)-1])...)
}
