// SPDX-License-Identifier: MIT

package synth

import "slices"

const (
	gemmaHead = 16 // numbers of an attention head
	gemmaDim  = 32 // of the assistant, whose model has smallDim
)

// gemmaLists say which layers have a sliding window: each second one.
var gemmaLists = map[string][]uint32{"attention.sliding_window_pattern": {1, 0, 1, 0}}

// gemmaNumbers are those of both of Gemma 4's architectures, whose heads are alike: the assistant's
// attend to the model's cells.
func gemmaNumbers() map[string]uint32 {
	return map[string]uint32{"attention.head_count": 4, "attention.head_count_kv": 2, "attention.sliding_window": smallWindow, "feed_forward_length": smallFFN,
		"attention.key_length": gemmaHead, "attention.value_length": gemmaHead, "attention.key_length_swa": gemmaHead, "attention.value_length_swa": gemmaHead,
		"embedding_length_per_layer_input": 0}
}

// gemmaLayer are the tensors of a layer of both.
func gemmaLayer(dim uint64) []smallTensor {
	return []smallTensor{
		{"attn_norm.weight", one, []uint64{dim}}, {"attn_q.weight", nil, []uint64{dim, 4 * gemmaHead}}, {"attn_output.weight", nil, []uint64{4 * gemmaHead, dim}},
		{"attn_q_norm.weight", one, []uint64{gemmaHead}}, {"post_attention_norm.weight", one, []uint64{dim}}, {"layer_output_scale.weight", one, []uint64{1}},
		{"ffn_norm.weight", one, []uint64{dim}}, {"ffn_gate.weight", nil, []uint64{dim, smallFFN}}, {"ffn_up.weight", nil, []uint64{dim, smallFFN}},
		{"ffn_down.weight", nil, []uint64{smallFFN, dim}}, {"post_ffw_norm.weight", one, []uint64{dim}},
	}
}

func gemmaOuter(dim uint64) []smallTensor {
	return []smallTensor{{"output_norm.weight", one, []uint64{dim}}, {"rope_freqs.weight", one, []uint64{gemmaHead / 2}}}
}

var ropeFloats = map[string]float32{"attention.layer_norm_rms_epsilon": 1e-5, "rope.freq_base": 10000}

func gemma4() architecture {
	return architecture{
		numbers: gemmaNumbers(), floats: ropeFloats, lists: gemmaLists, outer: gemmaOuter(smallDim),
		layer: slices.Concat(gemmaLayer(smallDim), []smallTensor{{"attn_k.weight", nil, []uint64{smallDim, 2 * gemmaHead}},
			{"attn_v.weight", nil, []uint64{smallDim, 2 * gemmaHead}}, {"attn_k_norm.weight", one, []uint64{gemmaHead}}}),
	}
}

// gemma4Assistant is a head for gemma4: all of its layers guess.
func gemma4Assistant() architecture {
	a := architecture{
		numbers: gemmaNumbers(), floats: ropeFloats, lists: gemmaLists, layer: gemmaLayer(gemmaDim),
		outer: slices.Concat(gemmaOuter(gemmaDim), []smallTensor{{"nextn.pre_projection.weight", nil, []uint64{2 * smallDim, gemmaDim}},
			{"nextn.post_projection.weight", nil, []uint64{gemmaDim, smallDim}}}),
	}
	a.numbers["embedding_length"], a.numbers["embedding_length_out"], a.numbers["nextn_predict_layers"] = gemmaDim, smallDim, smallLayers
	return a
}
