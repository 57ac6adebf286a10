// SPDX-License-Identifier: MIT

package synth

import (
	"fmt"
	"io"
	"maps"
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

const eagleHead = 16 // numbers of an attention head

// qwen3 is a plain decoder, with more numbers and tokens around a text.
func qwen3(more map[string]uint32, adds ...string) architecture {
	numbers := map[string]uint32{"attention.head_count": 4, "attention.head_count_kv": 2, "attention.key_length": eagleHead, "attention.value_length": eagleHead,
		"feed_forward_length": smallFFN}
	maps.Copy(numbers, more)
	return architecture{
		name: "qwen3", numbers: numbers, floats: ropeFloats, adds: adds,
		layer: []smallTensor{
			{"attn_norm.weight", one, []uint64{smallDim}}, {"attn_q.weight", nil, []uint64{smallDim, smallDim}},
			{"attn_q_norm.weight", one, []uint64{eagleHead}}, {"attn_k_norm.weight", one, []uint64{eagleHead}},
			{"attn_k.weight", nil, []uint64{smallDim, smallDim / 2}}, {"attn_v.weight", nil, []uint64{smallDim, smallDim / 2}},
			{"attn_output.weight", nil, []uint64{smallDim, smallDim}}, {"ffn_norm.weight", one, []uint64{smallDim}},
			{"ffn_gate.weight", nil, []uint64{smallDim, smallFFN}}, {"ffn_up.weight", nil, []uint64{smallDim, smallFFN}},
			{"ffn_down.weight", nil, []uint64{smallFFN, smallDim}},
		},
	}
}

// eagle3 is a head for qwen3: it reads what three of its layers take in. It has no output layer: it
// takes the model's. One that echoes gives on what the first layer takes in, so that it guesses the
// last token that the model has read.
func eagle3(echoes bool) architecture {
	layers := []uint32{0, 1, smallLayers - 1}
	read := uint64(len(layers)) * smallDim
	var first, adds func(float64) float64
	if echoes {
		first, adds = identity(read), func(float64) float64 { return 0 }
	}
	return architecture{
		name: "eagle3",
		numbers: map[string]uint32{"block_count": 1, "attention.head_count": 4, "attention.head_count_kv": 2, "attention.key_length": eagleHead,
			"attention.value_length": eagleHead, "feed_forward_length": smallFFN, "target_hidden_size": smallDim},
		floats: ropeFloats, lists: map[string][]uint32{"target_layers": layers},
		outer: []smallTensor{{"output_norm.weight", one, []uint64{smallDim}}, {"fc.weight", first, []uint64{read, smallDim}}},
		layer: []smallTensor{
			{"attn_norm.weight", one, []uint64{smallDim}}, {"attn_norm_2.weight", one, []uint64{smallDim}},
			{"attn_q.weight", nil, []uint64{2 * smallDim, smallDim}}, {"attn_k.weight", nil, []uint64{2 * smallDim, smallDim / 2}},
			{"attn_v.weight", nil, []uint64{2 * smallDim, smallDim / 2}}, {"attn_output.weight", adds, []uint64{smallDim, smallDim}},
			{"ffn_norm.weight", one, []uint64{smallDim}}, {"ffn_gate.weight", nil, []uint64{smallDim, smallFFN}},
			{"ffn_up.weight", nil, []uint64{smallDim, smallFFN}}, {"ffn_down.weight", adds, []uint64{smallFFN, smallDim}},
		},
	}
}

// identity gives the numbers, one after the other, of a matrix that gives on the first part of its
// rows.
func identity(columns uint64) func(float64) float64 {
	at := uint64(0)
	return func(float64) float64 {
		defer func() { at++ }()
		if at%columns == at/columns {
			return 1
		}
		return 0
	}
}

const chainHeads = 3

// step35 is a model with a chain of heads in its file, of which each guesses one token further. In
// one that counts, the first guesses the token with the next number, the second that with the
// number after the next, and so on.
func step35(counts bool) architecture {
	attention := qwen3(nil)
	block := uint32(smallLayers + chainHeads)
	windows := make([]uint32, block)
	for i := range windows {
		windows[i] = uint32(i % 2)
	}
	a := architecture{
		name:    "step35",
		numbers: attention.numbers, floats: ropeFloats, lists: map[string][]uint32{"attention.sliding_window_pattern": windows},
		outer: []smallTensor{{"output_norm.weight", one, []uint64{smallDim}}, {"output.weight", nil, []uint64{smallDim, smallVocabulary}}},
		layer: attention.layer, heads: chainHeads,
	}
	a.numbers["block_count"], a.numbers["nextn_predict_layers"], a.numbers["attention.sliding_window"] = block, chainHeads, smallWindow
	a.numbers["expert_feed_forward_length"] = smallFFN
	var embedding []float64
	if counts {
		for i, t := range a.layer {
			if t.name == "attn_output.weight" || t.name == "ffn_down.weight" {
				a.layer[i].fill = zero
			}
		}
		a.embedding = func(random float64) float64 {
			embedding = append(embedding, random)
			return random
		}
	}
	a.head = func(i int) []smallTensor {
		input := smallTensor{"nextn.eh_proj.weight", nil, []uint64{2 * smallDim, smallDim}}
		norms := []smallTensor{{"nextn.enorm.weight", one, []uint64{smallDim}}, {"nextn.hnorm.weight", one, []uint64{smallDim}}}
		if !counts {
			return append(norms, input)
		}
		input.fill = identity(2 * smallDim) // the embedding
		at := 0
		return append(norms, input, smallTensor{"nextn.shared_head_head.weight", func(float64) float64 {
			token := (at/smallDim + smallVocabulary - 1 - i) % smallVocabulary
			defer func() { at++ }()
			return embedding[token*smallDim+at%smallDim]
		}, []uint64{smallDim, smallVocabulary}})
	}
	return a
}
