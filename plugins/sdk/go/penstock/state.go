// SPDX-License-Identifier: MIT

package penstock

import (
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
)

// HiddenState is, in Sample, Accept and Stop, the output of the model's last layer behind the
// logits from which the token is drawn, after the norm and before the projection to the vocabulary:
// the input of a probe. For nearly all models its length is "embedding_size" of Model. It is
// written to the memory of into if that is large enough, so pass the last result again:
//
//	p.state = penstock.HiddenState(p.state)
//
// It is empty for tokens that a client injected, that came from a Splice, or that follow the first
// of several forced tokens; and on a host without this function. If the model has no hidden states,
// the host refuses requests with a plugin that calls it.
func HiddenState(into []float32) []float32 {
	if !Feature("state") {
		return nil
	}
	return readState(into, func(to unsafe.Pointer, limit int32) int32 { return abi.State(to, limit) })
}

// readState reads a hidden state, into the memory of a slice if it fits.
func readState(into []float32, read func(unsafe.Pointer, int32) int32) []float32 {
	into = into[:cap(into)]
	for {
		n := int(read(unsafe.Pointer(unsafe.SliceData(into)), int32(len(into))))
		if n <= len(into) {
			return into[:n]
		}
		into = make([]float32, n)
	}
}

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

// LogProb is another name of Logprob.
func LogProb() (logprob float32, known bool) { return Logprob() }
