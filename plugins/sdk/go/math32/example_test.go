// SPDX-License-Identifier: MIT

package math32_test

import (
	"fmt"

	"github.com/penstock/penstock/plugins/sdk/go/math32"
)

// The chance of each of some logits, the same bits on every machine and in Wasm.
func ExampleExp() {
	logits := []float32{2, 1, 0}
	var sum float32
	for _, x := range logits {
		sum += math32.Exp(x - logits[0])
	}
	for _, x := range logits {
		fmt.Printf("%.3f ", math32.Exp(x-logits[0])/sum)
	}
	// Output: 0.665 0.245 0.090
}
