// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"math"
	"unsafe"
)

// MaskRow writes a row's logits to another slice where the mask has a bit, and −Inf elsewhere: bit
// i of word i/32 is token i's. It writes as many logits as to, row and mask have.
func MaskRow(to, row []float32, mask []uint32) {
	n := min(len(to), len(row), 32*len(mask))
	C.ps_mask_row(cFloats(to), cFloats(row), C.size_t(n), (*C.uint32_t)(unsafe.Pointer(unsafe.SliceData(mask))))
}

// FirstInvalid is the index of the first logit of a row that is NaN or +Inf, or −1.
func FirstInvalid(row []float32) int {
	at := C.ps_first_invalid(cFloats(row), C.size_t(len(row)))
	if at > math.MaxInt || int(at) >= len(row) {
		return -1
	}
	return int(at)
}

// Distribution tells what a row of logits says as a whole: the natural logarithm of the sum of
// their exponentials, less which a logit is a log-probability, and the entropy in nats. NaN counts
// as −Inf; of a row with nothing above that logSum is −Inf.
func Distribution(row []float32) (logSum, entropy float32) {
	var l, e C.float
	C.ps_distribution(cFloats(row), C.size_t(len(row)), &l, &e)
	return float32(l), float32(e)
}

// TopLogits writes the highest logits of a row into ids and logits, best first and lower ids first
// among equals, as many as there is room for. It returns how many it wrote: fewer where fewer are
// above −Inf. NaN counts as −Inf.
func TopLogits(row []float32, ids []int32, logits []float32) int {
	k := min(len(ids), len(logits))
	if len(row) == 0 || k == 0 {
		return 0
	}
	return int(C.ps_top_k(cFloats(row), C.size_t(len(row)), C.int32_t(k), cInts(ids), cFloats(logits)))
}
