// SPDX-License-Identifier: MIT

package openai

import (
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/serving"
)

// chatProbs is logprobs of a chat choice.
type chatProbs struct {
	Content []wire.TokenProb `json:"content"`
	Refusal *struct{}        `json:"refusal"` // null: see chatMessage
}

// textProbs is logprobs of a text completion, OpenAI's older shape.
type textProbs struct {
	Tokens  []string             `json:"tokens"`
	Values  []*float32           `json:"token_logprobs"`
	Top     []map[string]float32 `json:"top_logprobs"`
	Offsets []int                `json:"text_offset"`
}

// textProbsOf describes the tokens of an answer, which begin in its text where at says.
func textProbsOf(engine serving.Engine, probs []wire.TokenProb, at *offsets) *textProbs {
	if len(probs) == 0 {
		return nil
	}
	t := &textProbs{}
	for _, p := range probs {
		t.add(p, at.next(engine.Shown(p.ID)))
	}
	return t
}

// add appends a token that begins at a character of the text. Its alternatives contain it; of
// those with the same text the most likely counts.
func (t *textProbs) add(p wire.TokenProb, offset int) {
	top := make(map[string]float32, len(p.Top)+1)
	for _, alternative := range append(p.Top[:len(p.Top):len(p.Top)], p) {
		if l, there := top[alternative.Token]; !there || l < alternative.Logprob {
			top[alternative.Token] = alternative.Logprob
		}
	}
	t.Tokens = append(t.Tokens, p.Token)
	t.Values = append(t.Values, &p.Logprob)
	t.Top = append(t.Top, top)
	t.Offsets = append(t.Offsets, offset)
}

// join appends what another describes.
func (t *textProbs) join(other *textProbs) {
	t.Tokens, t.Values = append(t.Tokens, other.Tokens...), append(t.Values, other.Values...)
	t.Top, t.Offsets = append(t.Top, other.Top...), append(t.Offsets, other.Offsets...)
}
