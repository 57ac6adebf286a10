// SPDX-License-Identifier: MIT

package penstock

import (
	"math"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
)

// Biased is an answer of Sample and SampleRow: the amounts of Bias are added to the logits as the
// earlier stages left them. Edits of the view are ignored, and no token is dropped, not even those
// outside the candidates. On a host without this answer, the candidates are edited instead, and
// tokens outside them are dropped as usual.
const Biased Choice = abi.SampleBiased

// Bias adds an amount to a token's logit, if Sample answers Biased; −Inf bans the token. It returns
// false if there is no room for another entry: the manifest's Biases sets how many there are.
func (c *Candidates) Bias(t Token, amount float32) bool { return addBias(t, amount) }

// Bias is like Candidates.Bias.
func (r *Row) Bias(t Token, amount float32) bool { return addBias(t, amount) }

// biases is the buffer: the number of entries, then the token and the amount of each.
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
