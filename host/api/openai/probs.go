// SPDX-License-Identifier: MIT

package openai

import "github.com/penstock/penstock/host/api/wire"

// chatProbs is logprobs of a chat choice.
type chatProbs struct {
	Content []wire.TokenProb `json:"content"`
	Refusal *struct{}        `json:"refusal"` // null: see chatMessage
}

// textProbs is logprobs of a text completion, OpenAI's older shape.
type textProbs struct {
	Tokens  []string             `json:"tokens"`
	Values  []float32            `json:"token_logprobs"`
	Top     []map[string]float32 `json:"top_logprobs"`
	Offsets []int                `json:"text_offset"`
}

// textProbsOf converts; offset is where the first token begins in the text.
func textProbsOf(probs []wire.TokenProb, offset int) *textProbs {
	if len(probs) == 0 {
		return nil
	}
	t := &textProbs{}
	for _, p := range probs {
		top := map[string]float32{}
		for _, alternative := range p.Top {
			top[alternative.Token] = alternative.Logprob
		}
		t.Tokens = append(t.Tokens, p.Token)
		t.Values = append(t.Values, p.Logprob)
		t.Top = append(t.Top, top)
		t.Offsets = append(t.Offsets, offset)
		offset += len(p.Bytes)
	}
	return t
}
