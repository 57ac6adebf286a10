// SPDX-License-Identifier: MIT

package penstock

import "github.com/penstock/penstock/plugins/sdk/go/internal/abi"

// Logprob is, in Accept, the natural logarithm of the probability that the model gave the accepted
// token, before masks, biases and samplers. It is not known for tokens that a client injected, that
// came from a Splice, or that follow the first of several forced tokens; nor on a host without this
// function. A plugin that calls it costs a pass over all logits for each token.
func Logprob() (logprob float32, known bool) {
	if !Feature("logprob") {
		return 0, false
	}
	l := abi.Logprob()
	return l, l == l
}
