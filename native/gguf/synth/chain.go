// SPDX-License-Identifier: MIT

package synth

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
