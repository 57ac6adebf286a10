// SPDX-License-Identifier: MIT

package synth

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/penstock/penstock/native/gguf"
)

// Sizes of small models.
const (
	smallVocabulary = 256
	smallDim        = 64
	smallLayers     = 4
	smallFFN        = 128
	smallState      = 16 // of a recurrent layer, for each of inner numbers
	smallInner      = 2 * smallDim
	smallRank       = 8
	smallWindow     = 16 // positions
)

// architecture is what tells one kind of small model from another.
type architecture struct {
	numbers map[string]uint32
	floats  map[string]float32
	outer   []smallTensor // besides the embedding; nil: a norm at the end
	layer   []smallTensor
	encoder bool // each token sees all
}

const smallContext = 512

const smallDeviation = 0.2 // of random numbers; large enough for texts that differ

// smallTensor is a tensor of a layer, filled with random numbers unless it says with what.
type smallTensor struct {
	name string
	fill func(random float64) float64
	dims []uint64
}

func one(float64) float64 { return 1 }

// biased is a tensor with its bias, dims are those of the weights.
func biased(name string, fill func(float64) float64, dims ...uint64) []smallTensor {
	return []smallTensor{{name + ".weight", fill, dims}, {name + ".bias", nil, dims[len(dims)-1:]}}
}

// decaying is the exponent of a state: above 0 it would grow.
func decaying(random float64) float64 { return -0.1 - math.Abs(random) }

var architectures = map[string]architecture{
	"mamba": {
		numbers: map[string]uint32{"ssm.conv_kernel": 4, "ssm.inner_size": smallInner, "ssm.state_size": smallState, "ssm.time_step_rank": smallRank},
		floats:  map[string]float32{"attention.layer_norm_rms_epsilon": 1e-5},
		layer: []smallTensor{
			{"attn_norm.weight", one, []uint64{smallDim}}, {"ssm_in.weight", nil, []uint64{smallDim, 2 * smallInner}},
			{"ssm_conv1d.weight", nil, []uint64{4, smallInner}}, {"ssm_conv1d.bias", nil, []uint64{smallInner}},
			{"ssm_x.weight", nil, []uint64{smallInner, smallRank + 2*smallState}}, {"ssm_dt.weight", nil, []uint64{smallRank, smallInner}},
			{"ssm_dt.bias", nil, []uint64{smallInner}}, {"ssm_a", decaying, []uint64{smallState, smallInner}},
			{"ssm_d", one, []uint64{smallInner}}, {"ssm_out.weight", nil, []uint64{smallInner, smallDim}},
		},
	},
	"cohere2": {
		numbers: map[string]uint32{"attention.head_count": 4, "attention.head_count_kv": 2, "attention.sliding_window": smallWindow, "feed_forward_length": smallFFN},
		floats:  map[string]float32{"attention.layer_norm_epsilon": 1e-5, "logit_scale": 1, "rope.freq_base": 10000},
		layer: []smallTensor{
			{"attn_norm.weight", one, []uint64{smallDim}}, {"attn_q.weight", nil, []uint64{smallDim, smallDim}},
			{"attn_k.weight", nil, []uint64{smallDim, smallDim / 2}}, {"attn_v.weight", nil, []uint64{smallDim, smallDim / 2}},
			{"attn_output.weight", nil, []uint64{smallDim, smallDim}}, {"ffn_gate.weight", nil, []uint64{smallDim, smallFFN}},
			{"ffn_up.weight", nil, []uint64{smallDim, smallFFN}}, {"ffn_down.weight", nil, []uint64{smallFFN, smallDim}},
		},
	},
	"bert": {
		numbers: map[string]uint32{"attention.head_count": 4, "feed_forward_length": smallFFN, "pooling_type": 1}, // mean
		floats:  map[string]float32{"attention.layer_norm_epsilon": 1e-5},
		outer: slices.Concat([]smallTensor{{"position_embd.weight", nil, []uint64{smallDim, smallContext}}, {"token_types.weight", nil, []uint64{smallDim, 2}}},
			biased("token_embd_norm", one, smallDim)),
		layer: slices.Concat(biased("attn_q", nil, smallDim, smallDim), biased("attn_k", nil, smallDim, smallDim), biased("attn_v", nil, smallDim, smallDim),
			biased("attn_output", nil, smallDim, smallDim), biased("attn_output_norm", one, smallDim), biased("ffn_up", nil, smallDim, smallFFN),
			biased("ffn_down", nil, smallFFN, smallDim), biased("layer_output_norm", one, smallDim)),
		encoder: true,
	},
}

// Small writes a model of some hundred kilobytes of an architecture other than Llama, with random weights and a byte-level
// vocabulary: "mamba" has a state in place of a cache, "cohere2" attends to a sliding window, "bert" is
// an encoder. The same arguments give the same bytes.
func Small(w io.Writer, name string, seed uint64) error {
	a, ok := architectures[name]
	if !ok {
		return fmt.Errorf("%w: no small model is a %q, there are %s", ErrShape, name, strings.Join(slices.Sorted(maps.Keys(architectures)), ", "))
	}
	h := &gguf.Header{}
	h.Set("general.architecture", gguf.NewString(name))
	numbers := map[string]uint32{"context_length": smallContext, "embedding_length": smallDim, "block_count": smallLayers}
	maps.Copy(numbers, a.numbers)
	for _, key := range slices.Sorted(maps.Keys(numbers)) {
		h.Set(name+"."+key, gguf.NewUint32(numbers[key]))
	}
	for _, key := range slices.Sorted(maps.Keys(a.floats)) {
		h.Set(name+"."+key, gguf.NewFloat32(a.floats[key]))
	}
	setBytes(h, smallVocabulary)
	if a.encoder {
		h.Set(name+".attention.causal", gguf.NewBool(false))
		h.Set("tokenizer.ggml.token_type_count", gguf.NewUint32(2))
	}
	if a.outer == nil {
		a.outer = []smallTensor{{"output_norm.weight", one, []uint64{smallDim}}}
	}
	tensors := slices.Concat([]smallTensor{{"token_embd.weight", nil, []uint64{smallDim, smallVocabulary}}}, a.outer)
	for i := range smallLayers {
		for _, t := range a.layer {
			t.name = fmt.Sprintf("blk.%d.%s", i, t.name)
			tensors = append(tensors, t)
		}
	}
	for _, t := range tensors {
		h.Append(t.name, gguf.F32, t.dims...)
	}
	if err := h.Write(w); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(seed, 0))
	for i, t := range tensors {
		if _, err := w.Write(t.data(h.Tensors[i].Elements(), random)); err != nil {
			return err
		}
	}
	return nil
}

// data is a tensor's numbers. All sizes are multiples of the alignment.
func (t smallTensor) data(n uint64, random *rand.Rand) []byte {
	out := make([]byte, 0, 4*n)
	for range n {
		x := smallDeviation * random.NormFloat64()
		if t.fill != nil {
			x = t.fill(x)
		}
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(x)))
	}
	return out
}
