// SPDX-License-Identifier: MIT

package penstock

import (
	"math"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
)

// Biased is an answer of Sample and SampleRow: what Bias was called with is added to the logits as
// the stages before left them. What was edited does not count, and no token is dropped, not even
// those that the candidates do not show. On a host that does not know the answer, candidates are
// edited instead, and those that are not shown are dropped as ever.
const Biased Choice = abi.SampleBiased

// Bias adds an amount to a token's logit, if Sample answers Biased; −Inf bans the token. It
// returns false where there is no room for another: the manifest's Biases says for how many there
// is.
func (c *Candidates) Bias(t Token, amount float32) bool { return addBias(t, amount) }

// Bias is that of Candidates.
func (r *Row) Bias(t Token, amount float32) bool { return addBias(t, amount) }

// biases is the buffer: how many, then token and amount of each.
var biases []uint32

func addBias(t Token, amount float32) bool {
	at := 1 + 2*int(biases[0])
	if at+2 > len(biases) {
		return false
	}
	biases[at], biases[at+1] = t, math.Float32bits(amount)
	biases[0]++
	return true
}

func bindBias() bool {
	if guest.Prepare == nil && guest.Sample == nil {
		return true
	}
	room := manifest.Biases
	if room == 0 {
		room = defaultRoom
	}
	biases = words(abi.BufferBias, 1+2*room)
	return biases != nil
}

// biasedNow is the answer Biased for this host.
func biasedNow(ids []Token, logits []float32) int32 {
	if Feature("sample_bias") {
		return int32(Biased)
	}
	for i := range int(biases[0]) {
		t, amount := biases[1+2*i], math.Float32frombits(biases[2+2*i])
		for k := range logits {
			if ids == nil && Token(k) == t || ids != nil && ids[k] == t {
				logits[k] += amount
			}
		}
	}
	return int32(Edited)
}
