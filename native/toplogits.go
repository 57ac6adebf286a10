// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

// TopLogits writes the highest logits of a row into ids and logits, best first and lower ids first among equals, as many as there is
// room for. It returns how many it wrote: fewer where fewer are above −Inf. NaN counts as −Inf.
func TopLogits(row []float32, ids []int32, logits []float32) int {
	k := min(len(ids), len(logits))
	if len(row) == 0 || k == 0 {
		return 0
	}
	return int(C.ps_top_k(cFloats(row), C.size_t(len(row)), C.int32_t(k), cInts(ids), cFloats(logits)))
}
