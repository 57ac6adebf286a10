// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"math"
	"unsafe"
)

// MaskRow writes a row's logits to another slice where the mask has a bit, and −Inf elsewhere: bit i of word i/32 is token i's. It writes
// as many logits as to, row and mask have.
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
