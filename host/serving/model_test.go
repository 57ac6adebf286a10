// SPDX-License-Identifier: MIT

package serving

import "testing"

func TestKernels_String(t *testing.T) {
	k := Kernels{Attention: "penstock", Weights: []WeightKernels{{"q4_K", "amx", 950}, {"q6_K", "repack", 50}}}
	if got := k.String(); got != "attention: penstock; q4_K: amx 95%, q6_K: repack 5%" {
		t.Error(got)
	}
}
