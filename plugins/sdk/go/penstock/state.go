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
	into = into[:cap(into)]
	for {
		n := int(abi.State(unsafe.Pointer(unsafe.SliceData(into)), int32(len(into))))
		if n <= len(into) {
			return into[:n]
		}
		into = make([]float32, n)
	}
}
