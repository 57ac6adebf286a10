// SPDX-License-Identifier: MIT

package synth

import "maps"

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
