// SPDX-License-Identifier: MIT

package penstock

import (
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
)

// HiddenState is, in Sample, Accept and Stop, what the model's last layer gave behind the logits
// that the token is drawn from, after the norm and before the vocabulary: a probe's input. It is
// as long as "embedding_size" of Model says with nearly all models. It is put into the memory of
// into where that is large enough, so hand over the last one again:
//
//	p.state = penstock.HiddenState(p.state)
//
// It is empty for tokens that a client injected, that came by a Splice, or that follow the first
// of several that were forced; and on a host that does not tell. A host refuses requests with a
// plugin that calls it where the model has none.
func HiddenState(into []float32) []float32 {
	if !Feature("state") {
		return nil
	}
	into = into[:cap(into)]
	for {
		n := int(abi.State(unsafe.Pointer(unsafe.SliceData(into)), int32(len(into))))
		if n <= len(into) {
			return into[:n]
		}
		into = make([]float32, n)
	}
}

// Logprob is, in Accept, the natural logarithm of the probability that the model gave the accepted
// token, before masks, biases and samplers. It is not known for tokens that a client injected,
// that came by a Splice, or that follow the first of several that were forced; nor on a host that
// does not tell. A plugin that calls it costs a pass over all logits for each token.
func Logprob() (logprob float32, known bool) {
	if !Feature("logprob") {
		return 0, false
	}
	l := abi.Logprob()
	return l, l == l
}
